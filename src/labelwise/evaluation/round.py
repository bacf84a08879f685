"""A round: the batch that was asked, what was expected of it, and how chance drew it."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.joined import Joined
from labelwise.evaluation.state import Event, sent_out
from labelwise.tables.html import html_table
from labelwise.tables.text import plain

HELPS = 0.95  # a plan that leaves more than this of random's standard deviation does not help


@dataclass(frozen=True)
class Reason:
    """Why a row is in a batch."""

    gain: float  # share of the batch's fall in variance, given the rows before it
    speaks_for: float  # share of the target of which it tells more than the others do
    mean: float  # its label, as predicted ...
    std: float  # ... and how uncertain that is, noise included


@dataclass(frozen=True)
class Plan:
    """A batch, and what the belief expects of it. Standard deviations are the estimand's."""

    rows: tuple[int, ...]  # of the pool, in order
    probabilities: tuple[float, ...]  # of each draw; 1 if chosen
    policy: str
    std: float  # now
    expected: float  # after the labels that are out, and these
    random: float  # the same with random rows (root of the mean variance over draws)
    uncertainty: float  # the same with the least certain rows
    reasons: tuple[Reason, ...]
    covariance: tuple[tuple[float, ...], ...] | None  # of the labels, for the belief's check
    treated: tuple[float, ...] | None = None  # how each row is to be treated, if at all
    chances: tuple[tuple[float, ...], ...] | None = None  # draws of those of 0/1 labels
    cost: float | None = None  # of the batch
    drawn: tuple[bool, ...] | None = None  # which rows chance chose; None: not recorded

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "Plan":
        parts = {name: _frozen(value) for name, value in stored.items()}
        parts["reasons"] = tuple(Reason(**reason) for reason in stored["reasons"])
        return Plan(**parts)

    @property
    def verdict(self) -> str:
        """One sentence on whether planning pays."""
        return verdict(self.policy, self.expected, self.random, any(self.drawn or ()))

    @property
    def choice(self) -> str:
        """One sentence on who chose the rows."""
        return who_chose(self.drawn or ())

    def plot(self) -> Any:
        """What the labels would leave beside other rows, as a matplotlib figure."""
        from labelwise.evaluation.plots import plot_plan

        return plot_plan(self)

    def _repr_html_(self) -> str:
        rows = [
            ("now", plain(self.std)),
            ("after these rows", plain(self.expected)),
            ("after as many random rows", plain(self.random)),
            ("after as many of the least certain rows", plain(self.uncertainty)),
        ]
        title = f"{len(self.rows)} rows: expected standard deviation"
        return html_table(title, rows, [self.choice, self.verdict])


@dataclass(frozen=True)
class Draws:
    """What must be kept of a batch that chance drew, for its labels to be used later."""

    drawn: tuple[bool, ...]
    closed: tuple[int, ...]  # rows that could not be drawn then
    questions: Mapping[str, Sequence[int]]  # by title: which it is, and where its terms begin
    foreseen: tuple[float, ...]  # of each question: the spread of a draw's estimate
    predictions: np.ndarray = field(repr=False)  # terms × pool, single precision
    together: bool = False  # in one go, each with its probability as if drawn alone

    def to_dict(self) -> dict[str, Any]:
        """All but the predictions, which are many."""
        return {
            "drawn": list(self.drawn),
            "closed": list(self.closed),
            "shape": list(self.predictions.shape),
            "questions": dict(self.questions),
            "foreseen": list(self.foreseen),
            **({"together": True} if self.together else {}),
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any], predictions: bytes) -> "Draws":
        values = np.frombuffer(zlib.decompress(predictions), np.float32)
        return Draws(
            drawn=tuple(stored["drawn"]),
            closed=tuple(stored["closed"]),
            questions=stored["questions"],
            foreseen=tuple(stored["foreseen"]),
            predictions=values.reshape(stored["shape"]),
            together=stored.get("together", False),
        )

    def packed(self) -> bytes:
        """The predictions as they are stored."""
        return zlib.compress(np.ascontiguousarray(self.predictions).tobytes(), 3)


@dataclass(frozen=True)
class Round:
    """A batch that was asked, with all that was known and expected when it was."""

    number: int
    plan: Plan
    estimate: Estimate  # before its labels
    pending: tuple[int, ...] = ()  # rows that were out already
    draws: Draws | None = None  # None: nothing was drawn by chance
    event: int = 0  # the last that it knew of
    at: str = ""  # when it was asked
    joined: Joined | None = None  # rows that came to the pool with it, from a larger one

    @property
    def rows(self) -> tuple[int, ...]:
        return self.plan.rows

    @property
    def probabilities(self) -> tuple[float, ...]:
        return self.plan.probabilities

    @property
    def treated(self) -> tuple[float, ...] | None:
        return self.plan.treated

    def events(self) -> list[Event]:
        """What happens to its rows when it is asked."""
        return sent_out(self.number, self.rows, self.treated, self.probabilities)

    def to_dict(self) -> dict[str, Any]:
        """What is stored of it beside its number, its time and the predictions."""
        return {
            "plan": self.plan.to_dict(),
            "estimate": self.estimate.to_dict(),
            "event": self.event,
            "pending": list(self.pending),
            "design": None if self.draws is None else self.draws.to_dict(),
            **({} if self.joined is None else {"joined": self.joined.to_dict()}),
        }

    @staticmethod
    def from_dict(
        number: int,
        at: str,
        stored: Mapping[str, Any],
        predictions: bytes | None,
        joined: bytes | None = None,
    ) -> "Round":
        """As stored; of early rounds no draws were recorded."""
        draws = stored.get("design")
        kept = draws is not None and predictions is not None
        return Round(
            number=number,
            plan=Plan.from_dict(stored["plan"]),
            estimate=Estimate.from_dict(stored["estimate"]),
            pending=tuple(stored.get("pending", ())),
            draws=Draws.from_dict(draws, predictions) if kept else None,  # type: ignore[arg-type]
            event=stored.get("event", 0),
            at=at,
            joined=None if joined is None else Joined.from_dict(stored["joined"], joined),
        )


def _frozen(value: Any) -> Any:
    """Tuples for the lists that JSON made of them."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def verdict(policy: str, planned: float, random: float, drawn: bool = False) -> str:
    """Whether a plan, or rows that were `drawn`, beat random rows, in words."""
    if policy == "random":
        return "These rows are random: nothing was planned."
    left = 100.0 if random == 0.0 else 100.0 * planned / random
    outcome = f"{left:.0f} % of the standard deviation that random rows would leave"
    if drawn and planned >= HELPS * random:
        return (
            "By the belief's own reckoning, these rows teach about as much as random ones; "
            "`labelwise forecast` tells what the answer gains over their plain average."
        )
    if drawn:
        return f"By the belief's own reckoning, these rows leave {outcome}."
    if planned < HELPS * random:
        return f"By the belief's own reckoning, planning leaves {outcome}."
    return f"Planning does not help here: it leaves {outcome}."


def who_chose(drawn: Sequence[bool]) -> str:
    """Whether the rows of a batch were drawn by chance or chosen, in one sentence."""
    count, total = sum(drawn), len(drawn)
    if count == 0:
        return (
            "These rows were chosen, not drawn by chance: only the belief can answer by them."
        )
    if count == total:
        return "These rows were drawn by chance from all rows left, as in a survey."
    return (
        f"Of these {total} rows, {count} were drawn by chance from all rows left, as in a "
        "survey; the others were chosen."
    )
