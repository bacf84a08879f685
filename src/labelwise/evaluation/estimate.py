"""What is known of the estimand: both answers, which of them leads, and what to beware of."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from labelwise.evaluation.answer import BELIEF, DESIGN, GRID, LEVEL, RESTS_ON, Answer
from labelwise.tables.text import plain

ENOUGH = 10  # draws before their answer is shown first
APART = 2.576  # standard errors that two answers may be apart: chance exceeds it once in 100

OWN = "the interval is the belief's own: it is right if the belief is"
BELIEF_ALONE = f"{OWN}, and no rows were drawn by chance to check it"
OVER_TARGET = "its expected value over the target population"
OVER_POOL = "over the rows of the pool, as they stand for the target"


@dataclass(frozen=True)
class Estimate:
    """What is known of the estimand.

    `value`, `std` and `interval` are those of the answer that leads: the one from drawn rows
    (`design`) where there is one, which holds whatever the belief, or else the belief's own
    (`credible`).
    """

    estimand: str  # its name
    title: str  # its name, in words
    initial: int  # labels from the start
    bought: int  # labels from asked rows
    belief: dict[str, Any]  # the prior and its hyper-parameters
    credible: Answer
    design: Answer | None = None
    headline: str = BELIEF  # or "design"
    why: str = BELIEF_ALONE  # this one is shown first
    quantity: str = OVER_TARGET  # which number exactly
    warnings: tuple[str, ...] = ()
    beats: float | None = None  # probability that the first of two models is the better one
    parts: tuple["Estimate", ...] = ()  # further answers: other estimands, groups, models

    @property
    def lead(self) -> Answer:
        """The answer that is shown first."""
        return self.design if self.headline == DESIGN and self.design else self.credible

    @property
    def value(self) -> float:
        return self.lead.value

    @property
    def std(self) -> float:
        return self.lead.std

    @property
    def quantiles(self) -> tuple[float, ...]:
        return self.lead.quantiles

    def interval(self, level: Any = LEVEL) -> tuple[float, float]:
        """The central interval that holds the estimand with this probability."""
        return self.lead.interval(level)

    @property
    def labels(self) -> int:
        return self.initial + self.bought

    def to_dict(self) -> dict[str, Any]:
        """The same keys always, JSON throughout."""
        return {
            "estimand": self.estimand,
            "title": self.title,
            "quantity": self.quantity,
            "value": self.value,
            "std": self.std,
            "level": LEVEL,
            "interval": list(self.interval()),
            "probabilities": [float(level) for level in GRID],
            "quantiles": list(self.quantiles),
            "labels": {"initial": self.initial, "bought": self.bought, "total": self.labels},
            "headline": self.headline,
            "why": self.why,
            "credible": self.credible.to_dict(),
            "design": None if self.design is None else self.design.to_dict(),
            "belief": self.belief,
            "warnings": list(self.warnings),
            "beats": self.beats,
            "parts": [part.to_dict() for part in self.parts],
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "Estimate":
        """As stored; early ones hold the belief's answer alone, as their own."""
        design = stored.get("design")
        return Estimate(
            estimand=stored["estimand"],
            title=stored["title"],
            initial=stored["labels"]["initial"],
            bought=stored["labels"]["bought"],
            belief=stored["belief"],
            credible=Answer.from_dict(stored.get("credible") or stored, BELIEF),
            design=None if design is None else Answer.from_dict(design, DESIGN),
            headline=stored.get("headline", BELIEF),
            why=stored.get("why", BELIEF_ALONE),
            quantity=stored["quantity"],
            warnings=tuple(stored["warnings"]),
            beats=stored.get("beats"),
            parts=tuple(Estimate.from_dict(part) for part in stored.get("parts", ())),
        )

    def with_draws(self, drawn: Answer | None, reason: str | None, by_chance: bool):
        """The estimate with the draws' answer beside the belief's.

        The rule is fixed: enough draws, and their answer leads. Choosing the narrower of two
        intervals would make both too narrow.
        """
        if drawn is None:
            return replace(self, why=_why_belief(reason, by_chance, 0))
        if drawn.draws < ENOUGH:
            return replace(self, design=drawn, why=_why_belief(None, True, drawn.draws))
        why = (
            f"the interval rests on {drawn.draws} rows drawn by chance, as in a survey: it "
            "holds even where the belief is wrong"
        )
        return replace(self, design=drawn, headline=DESIGN, quantity=OVER_POOL, why=why)

    @property
    def line(self) -> str:
        """The answer in one line."""
        low, high = self.interval()
        line = (
            f"{self.title}: {plain(self.value)} ± {plain(self.std, 2)}, "
            f"{100 * LEVEL:.0f} % interval {plain(low)} to {plain(high)}"
        )
        if self.beats is None:
            return line
        return f"{line}; the first is better with chance {self.beats:.2f}, by the belief"

    @property
    def basis(self) -> tuple[str, str]:
        """What the answer rests on, in two lines."""
        return (
            f"from {self.labels} labels ({self.initial} from the start, {self.bought} bought); "
            f"{self.quantity}",
            self.why,
        )

    @property
    def second(self) -> Answer | None:
        """The answer that does not lead."""
        return self.credible if self.headline == DESIGN else self.design

    @property
    def other(self) -> str | None:
        """The answer that does not lead, in one line."""
        return self.other_at(LEVEL)

    def other_at(self, level: Any) -> str | None:
        """The same, with its interval at some level."""
        if self.second is None:
            return None
        low, high = self.second.interval(level)
        return (
            f"by {RESTS_ON[self.second.rests_on]} alone: {plain(self.second.value)} ± "
            f"{plain(self.second.std, 2)}, {100 * level:g} % interval {plain(low)} to "
            f"{plain(high)}"
        )

    @property
    def anytime(self) -> tuple[float, float] | None:
        """From drawn rows, at the usual level: the interval that is right at every look."""
        return None if self.design is None else self.design.anytime

    def __str__(self) -> str:
        lines = [
            self.line,
            *([] if self.other is None else [self.other]),
            *(part.line for part in self.parts),
            *self.basis,
        ]
        return "\n".join(lines + [f"warning: {warning}" for warning in self.warnings])


def _why_belief(reason: str | None, by_chance: bool, draws: int) -> str:
    if reason is not None:
        return f"{OWN}. {reason}"
    if not by_chance:
        return BELIEF_ALONE
    return f"{OWN}; {draws} drawn labels are too few to check it, {ENOUGH} are needed"


def draw_caveats(drawn: Answer, credible: Answer, stop: Any, first: bool) -> list[str]:
    """What a reader must know of the answer from drawn rows; `stop` is the rule, if any.

    What is true of all questions alike is said with the `first`.
    """
    caveats = []
    off = math.hypot(drawn.std, credible.std)
    if abs(drawn.value - credible.value) > APART * off > 0.0:
        caveats.append(
            f"The two answers disagree by more than chance allows: {plain(drawn.value)} from "
            f"drawn rows, {plain(credible.value)} from the belief; trust the drawn rows."
        )
    if drawn.heavy:
        caveats.append(
            "The interval rests on a few large losses; where losses have no bound, 90 % "
            "intervals of any kind may hold less often than that."
        )
    if stop is not None and drawn.anytime is not None and first:
        low, high = drawn.anytime
        caveats.append(
            "The campaign ends when a rule says so: if you stop by it, quote the interval that "
            f"is right at every look, {plain(low)} to {plain(high)} (90 %)."
        )
    return caveats + (_losses_of_draws(drawn) if first else [])


def _losses_of_draws(drawn: Answer) -> list[str]:
    """What did not come of rows that were drawn."""
    caveats = []
    if drawn.skipped:
        caveats.append(
            f"{drawn.skipped} rows could not be labelled; the answer from drawn rows is about "
            "those that can."
        )
    if drawn.dropped:
        caveats.append(
            f"{drawn.dropped} drawn labels failed or expired and were left out; if labels fail "
            "for a reason that matters, the answer is off."
        )
    if drawn.waiting:
        caveats.append(
            f"{drawn.waiting} labels that came are not in the answer from drawn rows yet: they "
            "wait for those of rows drawn before them."
        )
    return caveats
