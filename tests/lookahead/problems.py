"""Small random planning problems, and plain formulas to hold the code to."""

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.beliefs.means import ConstantMean
from labelwise.estimands.named import MeanOutcome, MeanSquaredError


@eqx.filter_jit
def conditioned(belief, x, y):
    """In one program; eager conditioning has tests of its own."""
    return belief.condition(x, y)


@cache
def random_problem(seed: int, pool: int = 6, target: int = 5, weighting="paper"):
    """A belief with five labels, an estimand (linear at every third seed) and a pool.

    One kernel, since it is all one to the plan: problems differ in their numbers only.
    """
    rng = np.random.default_rng(seed)
    kernel = RBF(rng.uniform(0.6, 1.5, 2), rng.uniform(0.5, 2.0))
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


@dataclass(frozen=True)
class Gains:
    """Of batches of pool rows: what the variance of the estimand is expected to lose.

    It is H() - H(S) with H(S) = 2 tr(W V_S W V_S) + 4 tr(W V_S W (V - V_S)) + bᵀ V_S b, where
    V and V_S are the target's covariance before and after, b and W slope and curvature.
    """

    pool: np.ndarray  # covariance of the function at the pool
    noise: np.ndarray
    cross: np.ndarray  # of pool and target
    target: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray

    @staticmethod
    def of(belief, estimand, pool_x) -> "Gains":
        return Gains(*map(np.asarray, _moments(belief, estimand, jax.device_put(pool_x))))

    def __call__(self, rows) -> np.ndarray:
        """One batch, or one a line, of any size."""
        return self.left([]) - self.left(rows)

    def left(self, rows) -> np.ndarray:
        """H of one batch, or of one a line."""
        rows = np.asarray(rows, int)
        own = self.pool[rows[..., :, None], rows[..., None, :]]
        labels, cross = own + self.noise * np.eye(rows.shape[-1]), self.cross[rows]
        fall = np.swapaxes(cross, -1, -2) @ np.linalg.solve(labels, cross)
        after, w = self.target - fall, np.outer(self.curvature, self.curvature)
        curved = (w * after * (2.0 * after + 4.0 * fall)).sum(axis=(-1, -2))
        return curved + (after @ self.slope) @ self.slope


@eqx.filter_jit
def _moments(belief, estimand, pool_x):
    x = estimand.x
    expansion = estimand.expand(belief.mean(x), belief.likelihood)
    covariances = belief.covariance(pool_x, x), belief.covariance(x)
    return (
        belief.covariance(pool_x),
        belief.noise,
        *covariances,
        expansion.slope,
        expansion.curvature,
    )


def expected_variance_by_hand(belief, estimand, pool_x, rows) -> float:
    """H of these rows."""
    return float(Gains.of(belief, estimand, pool_x).left(rows))
