"""What batches gain, by plain formulas in numpy."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True)
class Gains:
    """Of batches of pool rows: what the variance of the estimand is expected to lose.

    It is H() - H(S) with H(S) = 2 tr(W V_S W V_S) + 4 tr(W V_S W (V - V_S)) + bᵀ V_S b, where
    V and V_S are the target's covariance before and after, b and W slope and curvature.
    """

    pool: np.ndarray  # covariance of the pool's labels
    cross: np.ndarray  # of pool and target
    target: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray

    @staticmethod
    def of(belief, estimand, pool_x) -> "Gains":
        return Gains(*map(np.asarray, _moments(belief, estimand, pool_x)))

    def __call__(self, rows) -> np.ndarray:
        """One batch, or one a line, of any size."""
        rows = np.asarray(rows, int)
        labels = self.pool[rows[..., :, None], rows[..., None, :]]
        cross = self.cross[rows]
        fall = np.swapaxes(cross, -1, -2) @ np.linalg.solve(labels, cross)
        return self._left(0.0 * fall) - self._left(fall)

    def _left(self, fall):
        after = self.target - fall
        w = self.curvature[:, None] * self.curvature[None, :]
        curved = (w * after * (2.0 * after + 4.0 * fall)).sum(axis=(-1, -2))
        return curved + (after @ self.slope) @ self.slope


@eqx.filter_jit
def _moments(belief, estimand, pool_x):
    size = pool_x.shape[0]
    covariance = belief.covariance(jnp.concatenate([pool_x, estimand.x]))
    expansion = estimand.expand(belief.mean(estimand.x), belief.labels)
    labels = covariance[:size, :size] + belief.noise * jnp.eye(size)
    cross, target = covariance[:size, size:], covariance[size:, size:]
    return labels, cross, target, expansion.slope, expansion.curvature
