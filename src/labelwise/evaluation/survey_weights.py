"""For whom the drawn rows can answer: what each pool row stands for in the target population.

Where the pool is the target, or cannot be told from it, every row stands for itself. Else rows
are weighed so that the pool looks like the target; where no weights can do that, because the
target reaches where the pool does not, drawn rows have no answer, and the reason is given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labelwise.evaluation.data import Arrays, weighed
from labelwise.evaluation.spec import Spec
from labelwise.pools.first_phase import FirstPhase
from labelwise.tables.shift import nearest, uncovered

ALIKE = 0.55  # area under the curve up to which two tables count as one population
CLOSE = 0.1  # standardised difference of a feature's mean that does not matter
FAR = 0.1  # share of the target that may lie beyond the pool's reach
APART = 0.25  # standardised difference of a feature's mean that weights may leave
FEWEST = 50.0  # rows of equal weight that the weights must be worth
LARGEST = 20.0  # times the mean: a weight beyond is cut
SMOOTHING = 1.0  # inverse penalty of the classifier behind the weights


@dataclass(frozen=True)
class Population:
    """Weights of pool rows, with what must be said of them; or why there are none."""

    weight: np.ndarray | None
    note: str | None = None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        weight = None if self.weight is None else self.weight.tolist()
        return {"weight": weight, "note": self.note, "reason": self.reason}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "Population":
        weight = None if stored["weight"] is None else np.array(stored["weight"], float)
        return Population(weight, stored["note"], stored["reason"])


def population_of(
    arrays: Arrays,
    spec: Spec,
    shift: Mapping[str, Any],
    names: Sequence[str],
    phase: FirstPhase | None = None,
) -> Population:
    """What pool rows stand for; `shift` is the first look at the tables.

    Rows of a sample, drawn as `phase` says, stand for those that are not in it.
    """
    found = _population(arrays, spec, shift, names)
    if phase is None or spec.target == "pool" or found.weight is None:
        return found  # where the pool is the target, its masses say so already
    return replace(found, weight=weighed(found.weight, phase))


def _population(
    arrays: Arrays, spec: Spec, shift: Mapping[str, Any], names: Sequence[str]
) -> Population:
    size = len(arrays.pool)
    if spec.target == "pool":
        return Population(np.ones(size) if arrays.mass is None else np.asarray(arrays.mass))
    arrays = _before_treatment(arrays)
    if arrays.mass is None and _are_alike(arrays, shift.get("pool_auc")):
        return Population(
            np.ones(size),
            "The answer from drawn rows is about the pool, which cannot be told from the "
            "target.",
        )
    return _weighed(arrays, names, spec.seed)


def _before_treatment(arrays: Arrays) -> Arrays:
    """Without the treatment, which the pool's units do not have yet."""
    column = arrays.treatment_column
    if column is None:
        return arrays
    without = lambda table: np.delete(table, column, axis=1)
    return replace(arrays, pool=without(arrays.pool), target=without(arrays.target))


def _are_alike(arrays: Arrays, auc: float | None) -> bool:
    """Whether neither a classifier nor any feature's mean tells the pool from the target.

    The classifier is of no use where the tables share rows: a target that is a part of the
    pool would look like all of it.
    """
    pool, target = arrays.pool, arrays.target
    same = {row.tobytes() for row in pool} & {row.tobytes() for row in target}
    if same or auc is None or auc > ALIKE:
        return False
    chance = 2.0 * np.sqrt(1.0 / len(pool) + 1.0 / len(target))
    return _most_apart(arrays, np.ones(len(pool)))[1] <= max(CLOSE, float(chance))


def _weighed(arrays: Arrays, names: Sequence[str], seed: int) -> Population:
    far = _share_beyond(arrays, seed)
    if far > FAR:
        return _none(f"{100 * far:.0f} % of the target lies where the pool has no rows")
    weight = _density_ratio(arrays)
    worth = weight.sum() ** 2 / np.sum(weight**2)
    if worth < min(FEWEST, len(weight) / 2):
        return _none(f"the pool is worth {worth:.0f} rows of the target")
    index, left = _most_apart(arrays, weight)
    if left > APART:
        return _none(f"{names[index]!r} still differs by {left:.2f} standard deviations")
    return Population(
        weight,
        "Pool rows are weighed to look like the target; the error of these weights is not in "
        "the interval.",
    )


def _none(why: str) -> Population:
    return Population(
        None,
        reason=f"No weights make the pool look like the target ({why}), so drawn rows have no "
        "answer about it.",
    )


def _share_beyond(arrays: Arrays, seed: int) -> float:
    """Share of the target without a pool neighbour, as near as the target's own rows are."""
    rng = np.random.default_rng([seed, 4])
    some = lambda table: table[rng.permutation(len(table))[:2000]]
    pool, target = some(arrays.pool), some(arrays.target)
    half = len(target) // 2
    if half < 2:
        return 0.0
    near = float(np.quantile(nearest(target[:half], target[half:]), 0.95))
    return max(uncovered(pool, target[:half], near) - 0.05, 0.0)


def _density_ratio(arrays: Arrays) -> np.ndarray:
    """Odds of being a target row, by a logistic model of the features."""
    from sklearn.linear_model import LogisticRegression

    x = np.concatenate([arrays.pool, arrays.target])
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9)
    side = np.repeat([0, 1], [len(arrays.pool), len(arrays.target)])
    mass = np.ones(len(arrays.target)) if arrays.mass is None else np.asarray(arrays.mass)
    weigh = np.concatenate([np.ones(len(arrays.pool)), mass * len(mass) / mass.sum()])
    model = LogisticRegression(C=SMOOTHING, max_iter=1000).fit(x, side, sample_weight=weigh)
    odds = np.exp(np.clip(model.decision_function(x[: len(arrays.pool)]), -30.0, 30.0))
    return np.minimum(odds / odds.mean(), LARGEST)


def _most_apart(arrays: Arrays, weight: np.ndarray) -> tuple[int, float]:
    """The feature whose weighted mean in the pool is furthest from the target's."""
    spread = arrays.target.std(axis=0)
    # A feature that is constant in the target is measured by its spread in the pool.
    spread = np.where(spread > 1e-9, spread, np.maximum(arrays.pool.std(axis=0), 1e-9))
    target = np.average(arrays.target, axis=0, weights=arrays.mass)
    apart = np.abs(np.average(arrays.pool, axis=0, weights=weight) - target) / spread
    return int(np.argmax(apart)), float(apart.max())
