"""Small random planning problems, and plain formulas to hold the code to."""

from itertools import combinations

import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.gp import GaussianProcess
from labelwise.beliefs.kernels import RBF, Matern52
from labelwise.beliefs.means import ConstantMean
from labelwise.estimands.loss import MeanSquaredError
from labelwise.estimands.outcome import MeanOutcome

KERNELS = (RBF, Matern52)


def random_problem(seed: int, pool: int = 6, target: int = 5, weighting="paper"):
    """A belief with five labels, an estimand (linear at every third seed) and a pool."""
    rng = np.random.default_rng(seed)
    kernel = KERNELS[seed % 2](rng.uniform(0.6, 1.5, 2), rng.uniform(0.5, 2.0))
    prior = GaussianProcess(kernel, rng.uniform(0.05, 0.3), ConstantMean(0.3), weighting)
    belief = prior.condition(rng.normal(size=(5, 2)), 1.0 + rng.normal(size=5))
    x, mass = rng.normal(size=(target, 2)), rng.uniform(0.5, 2.0, target)
    if seed % 3 == 2:
        estimand = MeanOutcome(x, mass)
    else:
        estimand = MeanSquaredError(x, rng.normal(size=target), mass)
    return belief, estimand, jnp.asarray(rng.normal(size=(pool, 2)))


def subsets(pool: int, k: int) -> np.ndarray:
    return np.array(list(combinations(range(pool), k)))


def expected_variance_by_hand(belief, estimand, pool_x, rows) -> float:
    """H(S) = 2 tr(W V_S W V_S) + 4 tr(W V_S W (V - V_S)) + bᵀ V_S b, target × target."""
    rows = np.asarray(rows)
    before = np.asarray(belief.covariance(estimand.x))
    cross = np.asarray(belief.covariance(pool_x[rows], estimand.x))
    labels = np.asarray(belief.covariance(pool_x[rows])) + float(belief.noise) * np.eye(
        len(rows)
    )
    after = before - cross.T @ np.linalg.solve(labels, cross)
    expansion = estimand.expand(belief.mean(estimand.x), belief.labels)
    slope, w = np.asarray(expansion.slope), np.diag(np.asarray(expansion.curvature))
    own = 2 * np.trace(w @ after @ w @ after) + slope @ after @ slope
    return float(own + 4 * np.trace(w @ after @ w @ (before - after)))
