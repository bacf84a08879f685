"""How wide the interval will be: with rows drawn by the plan, and with uniform ones alone.

Both from what the belief foresees now. Labels to come count as drawn, for the drawn rows' part;
the belief's part shrinks as its plan expects. How far the two parts will be apart is not known,
so widths are averaged over what chance and the belief's possible bias allow.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from labelwise.evaluation.answer import DESIGN, GRID, LEVEL, Answer
from labelwise.evaluation.combined import TAILS, combined_quantiles, scale_of
from labelwise.evaluation.needed import Course, Needed
from labelwise.evaluation.predicted_terms import Foreseen
from labelwise.evaluation.survey import Survey
from labelwise.policies.sampling import first_probabilities
from labelwise.survey.multipliers import multiplier
from labelwise.survey.variance_floor import predicted_spread
from labelwise.types import Batch

ENDS = [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0]
# Points and weights that average a function over a standard normal law.
_POINTS, _SHARES = np.polynomial.hermite_e.hermegauss(7)
NODES, WEIGHTS = _POINTS, _SHARES / _SHARES.sum()
HELPS = 0.95  # draws that leave more than this of uniform draws' width do not help


@dataclass(frozen=True)
class Widths:
    """Expected widths of the usual interval of the first question."""

    labels: tuple[int, ...]  # further labels
    planned: tuple[float, ...]  # drawn as the campaign draws, the belief's part included
    uniform: tuple[float, ...]  # as many in all, drawn uniformly and averaged
    drawn: int = 0  # labels that chance has drawn so far ...
    now: float | None = None  # ... and how wide the interval is with them
    left: int | None = None  # rows that may still be drawn

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"level": LEVEL, "verdict": self.verdict}

    def labels_for(self, width: float) -> Needed:
        """How many further labels an interval of this width should take."""
        totals = [float(self.drawn + count) for count in self.labels]
        ours = Course(totals, self.planned)
        if self.now is not None and self.drawn:
            ours = Course([float(self.drawn), *totals], [self.now, *self.planned])
        left = self.labels[-1] if self.left is None else self.left
        theirs = Course(totals, self.uniform)
        return Needed.of(width, ours, theirs, self.drawn, left, measured=True)

    @property
    def verdict(self) -> str:
        """One sentence on whether the draws' scores pay."""
        share = self.planned[-1] / max(self.uniform[-1], 1e-300)
        if share > HELPS:
            return (
                "All this will not help here: as many rows drawn uniformly, and their plain "
                f"average, would give an interval as narrow ({100 * share:.0f} % of its width)."
            )
        return (
            f"The interval should be {100 * share:.0f} % as wide as that of the plain average "
            "of as many rows drawn uniformly."
        )


class Ahead(NamedTuple):
    """What the belief says now, and how its spread should shrink with further labels."""

    belief: Answer
    labels: Sequence[int]
    stds: Sequence[float]  # of its answer; the first is now's
    numbers: bool  # or classes
    now: float | None = None  # how wide the interval is


def expect_widths(
    survey: Survey,
    foreseen: Foreseen,
    batch: Batch,
    closed: Sequence[int],
    drawn: Answer | None,
    ahead: Ahead,
) -> Widths | None:
    """Widths after some further labels, for the first question that drawn rows can answer.

    None if there will be too few draws for any.
    """
    spread, mass = foreseen.each[0], survey.masses[0]
    is_open = np.ones(len(mass), bool)
    is_open[list(closed)] = False
    chances = first_probabilities(batch.logits, survey.floor)
    each = predicted_spread(spread, chances, mass, is_open) ** 2
    before = 0 if drawn is None else drawn.draws
    so_far = 0.0 if drawn is None else drawn.std**2 * before
    total, size = _variance_of_all(foreseen, mass), int((mass > 0).sum())
    further, planned, uniform = [], [], []
    for count, std in zip(ahead.labels, ahead.stds[1:], strict=True):
        draws = before + count
        if draws < 2:
            continue
        error = float(np.sqrt(before * so_far + count * each)) / draws
        left = max(1.0 / draws - 1.0 / size, 0.0)
        further.append(count)
        planned.append(_width(ahead, std / max(ahead.stds[0], 1e-300), error, draws))
        uniform.append(2.0 * multiplier(draws, LEVEL) * float(np.sqrt(total * left)))
    if not further:
        return None
    rows = int(is_open.sum())
    return Widths(tuple(further), tuple(planned), tuple(uniform), before, ahead.now, rows)


def _width(ahead: Ahead, share: float, error: float, draws: int) -> float:
    """Of the combined interval, on average over how far apart its two parts may be."""
    middle = ahead.belief.value
    quantiles = middle + share * (np.asarray(ahead.belief.quantiles) - middle)
    belief, scale = Answer.of_quantiles(tuple(quantiles)), scale_of(ahead.numbers)
    drawn = Answer(belief.value, error, (), DESIGN, draws=draws)
    bias = scale.at(belief.std, error * np.sqrt(draws)) * np.sqrt(TAILS / (TAILS - 2.0))
    apart = np.sqrt(max(error**2 - belief.std**2, 0.0) + bias**2)
    widths = []
    for node in NODES:
        moved = replace(drawn, value=belief.value + node * float(apart))
        ends = np.interp(ENDS, GRID, combined_quantiles(belief, moved, scale))
        widths.append(float(ends[1] - ends[0]))
    return float(WEIGHTS @ widths)


def uniform_width(evaluation: Any, draws: int) -> float | None:
    """Of the plain average of so many rows drawn uniformly, for the first question.

    None where no rows are drawn, or the first question is not one that they answer.
    """
    survey = evaluation.survey
    if not survey.by_chance or survey.reasons[0] is not None or draws < 2:
        return None
    mass = survey.masses[0]
    total, size = _variance_of_all(evaluation.by_belief.foreseen, mass), int((mass > 0).sum())
    left = max(1.0 / draws - 1.0 / size, 0.0)
    return 2.0 * multiplier(draws, LEVEL) * float(np.sqrt(total * left))


def _variance_of_all(foreseen: Foreseen, mass: np.ndarray) -> float:
    """Variance of a loss over the pool, as the belief foresees it."""
    centre, spread = foreseen.along[0], foreseen.each[0]
    share = mass / mass.sum()
    return float(share @ (spread**2 + centre**2) - (share @ centre) ** 2)
