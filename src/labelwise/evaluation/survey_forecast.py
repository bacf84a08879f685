"""How wide the interval from drawn rows will be: by the plan's draws, and by uniform ones.

Both from what the belief foresees now, so labels to come count as drawn but not as learnt from:
where the belief still learns much, intervals will be narrower than this.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from labelwise.evaluation.answer import LEVEL, Answer
from labelwise.evaluation.predicted_terms import Foreseen
from labelwise.evaluation.survey import Survey
from labelwise.policies.sampling import first_probabilities
from labelwise.survey.multipliers import multiplier
from labelwise.survey.variance_floor import predicted_spread
from labelwise.types import Batch

HELPS = 0.95  # draws that leave more than this of uniform draws' width do not help


@dataclass(frozen=True)
class Widths:
    """Expected widths of the usual interval of the first question."""

    labels: tuple[int, ...]  # further labels
    planned: tuple[float, ...]  # drawn as the campaign draws
    uniform: tuple[float, ...]  # as many in all, drawn uniformly and averaged

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"level": LEVEL, "verdict": self.verdict}

    @property
    def verdict(self) -> str:
        """One sentence on whether the draws' scores pay."""
        share = self.planned[-1] / max(self.uniform[-1], 1e-300)
        if share > HELPS:
            return (
                "For the interval from drawn rows planning will not help here: as many rows "
                f"drawn uniformly would give one as narrow ({100 * share:.0f} % of its width)."
            )
        return (
            f"The interval from drawn rows should be {100 * share:.0f} % as wide as that of as "
            "many rows drawn uniformly."
        )


def expect_widths(
    survey: Survey,
    foreseen: Foreseen,
    batch: Batch,
    closed: Sequence[int],
    drawn: Answer | None,
    labels: Sequence[int],
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
    total = _variance_of_all(foreseen, mass)
    size = int((mass > 0).sum())
    further = [count for count in labels if before + count >= 2]
    planned, uniform = [], []
    for count in further:
        draws = before + count
        reach = 2.0 * multiplier(draws, LEVEL)
        planned.append(reach * float(np.sqrt(before * so_far + count * each)) / draws)
        left = max(1.0 / draws - 1.0 / size, 0.0)
        uniform.append(reach * float(np.sqrt(total * left)))
    return Widths(tuple(further), tuple(planned), tuple(uniform)) if further else None


def _variance_of_all(foreseen: Foreseen, mass: np.ndarray) -> float:
    """Variance of a loss over the pool, as the belief foresees it."""
    centre, spread = foreseen.along[0], foreseen.each[0]
    share = mass / mass.sum()
    return float(share @ (spread**2 + centre**2) - (share @ centre) ** 2)
