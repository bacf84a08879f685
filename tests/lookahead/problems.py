"""Small random planning problems, and plain formulas to hold the code to."""

from functools import cache
from itertools import combinations

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.gp import GaussianProcess
from labelwise.beliefs.kernels import RBF, Matern52
from labelwise.beliefs.means import ConstantMean
from labelwise.estimands.loss import MeanSquaredError
from labelwise.estimands.outcome import MeanOutcome

KERNELS = (RBF, Matern52)


@eqx.filter_jit
def conditioned(belief, x, y):
    """In one program; eager conditioning has tests of its own."""
    return belief.condition(x, y)


@cache
def random_problem(seed: int, pool: int = 6, target: int = 5, weighting="paper"):
    """A belief with five labels, an estimand (linear at every third seed) and a pool."""
    rng = np.random.default_rng(seed)
    kernel = KERNELS[seed % 2](rng.uniform(0.6, 1.5, 2), rng.uniform(0.5, 2.0))
    prior = GaussianProcess(kernel, rng.uniform(0.05, 0.3), ConstantMean(0.3), weighting)
    belief = conditioned(prior, rng.normal(size=(5, 2)), 1.0 + rng.normal(size=5))
    x, mass = rng.normal(size=(target, 2)), rng.uniform(0.5, 2.0, target)
    if seed % 3 == 2:
        estimand = MeanOutcome(x, mass)
    else:
        estimand = MeanSquaredError(x, rng.normal(size=target), mass)
    return belief, estimand, jnp.asarray(rng.normal(size=(pool, 2)))


def subsets(pool: int, k: int) -> np.ndarray:
    return np.array(list(combinations(range(pool), k)))


@eqx.filter_jit
def moments(belief, estimand, pool_x):
    """Covariances of target and pool, the noise, and the expansion at the present mean."""
    x = estimand.x
    expansion = estimand.expand(belief.mean(x), belief.labels)
    covariances = belief.covariance(x), belief.covariance(pool_x, x), belief.covariance(pool_x)
    return *covariances, belief.noise, expansion.slope, expansion.curvature


def expected_variance_by_hand(belief, estimand, pool_x, rows) -> float:
    """H(S) = 2 tr(W V_S W V_S) + 4 tr(W V_S W (V - V_S)) + bᵀ V_S b, target × target."""
    rows = np.asarray(rows, int)
    found = moments(belief, estimand, jnp.asarray(pool_x))
    before, cross, own, noise, slope, curvature = map(np.asarray, found)
    cross, w = cross[rows], np.diag(curvature)
    labels = own[np.ix_(rows, rows)] + noise * np.eye(len(rows))
    after = before - cross.T @ np.linalg.solve(labels, cross)
    own = 2 * np.trace(w @ after @ w @ after) + slope @ after @ slope
    return float(own + 4 * np.trace(w @ after @ w @ (before - after)))
