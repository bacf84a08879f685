"""A small experiment: units with two features and a treatment, and sums over treatments."""

from itertools import product

import numpy as np

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.estimands.effect import AverageTreatmentEffect
from labelwise.estimands.named import MeanSquaredError
from labelwise.types import Assignment, Pool
from tests.lookahead.problems import conditioned, expected_variance_by_hand

COLUMN = 2


def experiment(seed: int, size: int, chance, target: int = 4):
    """A belief with some labels, the average effect, and a pool treated by chance."""
    rng = np.random.default_rng(seed)
    rows = lambda count: np.column_stack(
        [rng.normal(size=(count, 2)), rng.integers(0, 2, count)]
    )
    prior = GaussianProcess(RBF([0.9, 1.2, 1.0], 1.4), 0.2)
    belief = conditioned(prior, rows(5), rng.normal(size=5))
    estimand = AverageTreatmentEffect(rows(target), COLUMN)
    pool = Pool(rows(size), assignment=Assignment(COLUMN, chance, size))
    return belief, estimand, pool


def squared_error(estimand: AverageTreatmentEffect) -> MeanSquaredError:
    """An estimand with a curvature on the same rows."""
    return MeanSquaredError(estimand.x, 0.3)


def both_arms(x) -> np.ndarray:
    """All units untreated, then all of them treated."""
    x = np.array(x)
    untreated, treated = x.copy(), x
    untreated[:, COLUMN], treated[:, COLUMN] = 0.0, 1.0
    return np.concatenate([untreated, treated])


def gain_by_hand(belief, estimand, pool: Pool, units) -> float:
    """The mean, over all assignments by their chances, of the fall of the variance."""
    assert pool.assignment is not None
    chance, units = np.asarray(pool.assignment.chance)[list(units)], np.asarray(units)
    arms, size = both_arms(pool.x), len(pool.x)
    left = lambda rows: expected_variance_by_hand(belief, estimand, arms, rows)
    total = 0.0
    for z in product([0, 1], repeat=len(units)):
        weight = np.prod(np.where(np.array(z) == 1, chance, 1.0 - chance))
        if weight > 0.0:
            total += weight * (left([]) - left(units + size * np.array(z)))
    return float(total)
