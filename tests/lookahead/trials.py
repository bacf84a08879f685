"""A small experiment: units with two features and a treatment, and sums over treatments."""

from itertools import product

import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.gp import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.estimands.effect import AverageTreatmentEffect
from labelwise.estimands.loss import MeanSquaredError
from labelwise.estimands.moments import exact_moments
from labelwise.types import Assignment, Pool
from tests.lookahead.problems import expected_variance_by_hand

COLUMN = 2


def experiment(seed: int, size: int, chance, target: int = 4):
    """A belief with some labels, the average effect, and a pool treated by chance."""
    rng = np.random.default_rng(seed)
    rows = lambda count: np.column_stack(
        [rng.normal(size=(count, 2)), rng.integers(0, 2, count)]
    )
    prior = GaussianProcess(RBF([0.9, 1.2, 1.0], 1.4), 0.2)
    belief = prior.condition(rows(5), rng.normal(size=5))
    estimand = AverageTreatmentEffect(rows(target), COLUMN)
    pool = Pool(rows(size), assignment=Assignment(COLUMN, chance, size))
    return belief, estimand, pool


def squared_error(estimand: AverageTreatmentEffect) -> MeanSquaredError:
    """An estimand with a curvature on the same rows."""
    return MeanSquaredError(estimand.x, 0.3)


def gain_by_hand(belief, estimand, pool: Pool, units) -> float:
    """The mean, over all assignments by their chances, of the fall of the variance."""
    assert pool.assignment is not None
    chance = np.asarray(pool.assignment.chance)[list(units)]
    now = float(exact_moments(belief, estimand).variance)
    total = 0.0
    for z in product([0.0, 1.0], repeat=len(units)):
        weight = np.prod(np.where(np.array(z) == 1.0, chance, 1.0 - chance))
        if weight > 0.0:
            x = pool.x[jnp.asarray(units)].at[:, COLUMN].set(jnp.asarray(z))
            left = expected_variance_by_hand(belief, estimand, x, range(len(units)))
            total += weight * (now - left)
    return float(total)
