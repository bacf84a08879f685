"""A campaign's labels as judges of beliefs: what is recommended, and how sure that is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labelwise.diagnostics.contest import LEVEL, Contest
from labelwise.errors import InvalidInput
from labelwise.evaluation.check import Check
from labelwise.evaluation.checked import (
    check_beliefs,
    choice_of,
    complete,
    name_of,
    usual_candidates,
)
from labelwise.evaluation.spec import is_binary
from labelwise.names import CHECKED

if TYPE_CHECKING:
    from labelwise.evaluation.evaluation import Evaluation


@dataclass(frozen=True)
class BeliefCheck:
    """How candidates did, which is recommended, and how the campaign's own belief fared."""

    contest: Contest
    own: str | None  # the campaign's belief by name; None if its numbers were given
    batches: tuple[Check, ...]  # labels against what was predicted of them

    @property
    def recommended(self) -> str:
        return self.contest.best.name

    @property
    def clear(self) -> bool:
        """Whether the margin is more than chance would leave."""
        return self.contest.clear

    @property
    def verdict(self) -> str:
        """One sentence: which, by how much, and whether that is clear."""
        margin, error = self.contest.margin, self.contest.standard_error
        if margin is None or error is None:  # there is no other
            return f"Only {self.recommended} could be judged."
        mine = " It is the campaign's own." if self.own == self.recommended else ""
        second = self.contest.standings[1].name
        if margin <= 0.0:
            apart = f"{-margin:.2f} ± {error:.2f} nats for ten labels"
            return f"Trust {self.recommended}: {second} is not clearly better ({apart}).{mine}"
        by = f"ten labels cost it {margin:.2f} ± {error:.2f} nats less than {second}"
        close = "" if self.clear else ", which may be chance"
        return f"Trust {self.recommended}: {by}{close}.{mine}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be known before a recommendation is followed."""
        told = []
        if not self.contest.calibrated:
            told.append(
                f"no belief is calibrated here: {LEVEL:.0%} intervals for the mean label of a "
                "cluster fail too often; rely on drawn rows, and label where labels are missing"
            )
        told += [
            f"{one.name} could not be judged ({one.error})"
            for one in self.contest.standings
            if one.error is not None
        ]
        return tuple(told)

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.contest.to_dict(),
            "own": self.own,
            "clear": self.clear,
            "verdict": self.verdict,
            "warnings": list(self.warnings),
            "batches": [one.to_dict() for one in self.batches],
        }


def check_campaign(
    evaluation: "Evaluation",
    candidates: Sequence[Any] | None = None,
    advance: Callable[[], None] = lambda: None,
) -> BeliefCheck:
    """Score candidates on the labels of a campaign; without any, the usual and its own."""
    own = _own(evaluation)
    made = candidates_for(evaluation, candidates)
    contest = check_beliefs(evaluation, made, advance)
    if contest.best.error is not None:
        raise InvalidInput(
            f"No belief could be judged by these labels ({contest.best.error})",
            "label more rows first",
            where="labels",
        )
    name = None if own is None else name_of(own)
    return BeliefCheck(contest, name, tuple(evaluation.checks()))


def candidates_for(
    evaluation: "Evaluation", candidates: Sequence[Any] | None = None
) -> list[dict[str, Any]]:
    """Candidates with all their options, none twice."""
    binary, features = is_binary(evaluation.spec.belief), evaluation.arrays.features
    own = _own(evaluation)
    mine = [own] if candidates is None and own is not None else []
    wanted = usual_candidates(binary) if candidates is None else candidates
    made = [*mine, *(complete(one, features, binary) for one in wanted)]
    return list({name_of(one): one for one in reversed(made)}.values())[::-1]


def _own(evaluation: "Evaluation") -> dict[str, Any] | None:
    """The campaign's belief, or of one that is checked the one chosen; None if it is given."""
    belief, choice = evaluation.spec.belief, choice_of(evaluation)
    if choice is not None:
        known: Sequence[Mapping[str, Any]] = belief["candidates"]
        return dict(next(one for one in known if name_of(one) == choice["chosen"]))
    return None if "fixed" in belief or belief["name"] == CHECKED else dict(belief)
