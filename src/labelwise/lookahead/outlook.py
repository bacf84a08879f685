"""What a belief foresees of a pool and a target, computed once a round.

Every batch of the round is scored from here. Stored is the covariance of pool and target
(pool × target), and one number or a short row for each pool row; covariances between pool
rows are computed a column at a time, so nothing pool × pool ever exists.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Scalar

from labelwise.beliefs.base import AbstractEmbedding, AbstractGaussianBelief
from labelwise.estimands.base import AbstractEstimand, AbstractQuadraticEstimand, Expansion

# Rows per pass: large enough for fast products, small enough that a pass needs little memory.
BLOCK = 4096
# Labels are planned with at least this share of the prior variance as noise, so that rows
# which repeat each other under a noise-free belief do not divide zero by zero.
LEAST_NOISE = 1e-10


class Columns(NamedTuple):
    """Some rows' covariances with the whole pool, and their products through the target."""

    covariance: Float[Array, "k pool"]
    product: Float[Array, "k pool"]  # C_k W Cᵀ


class Outlook(eqx.Module):
    """Pool and target as the belief sees them; C is pool × target, W = diag(curvature)."""

    belief: AbstractGaussianBelief
    pool: AbstractEmbedding
    cross: Float[Array, "pool target"]  # C
    variance: Float[Array, " pool"]  # of the function at each pool row
    spread: Float[Array, " pool"]  # diagonal of C W Cᵀ
    tilts: Float[Array, "tilts pool"]  # C · slope / 2; then C W · each move of the mean
    expansion: Expansion  # of the estimand around the target's mean
    noise: Scalar  # label noise, floored

    @property
    def size(self) -> int:
        return self.variance.shape[0]

    def columns(self, rows: Int[Array, " k"]) -> Columns:
        """Covariances of a few rows with every pool row, on demand."""
        covariance = self.belief.covariance_at(self.pool.take(rows), self.pool)
        through_target = self.expansion.curvature[None, :] * self.cross[rows]
        return Columns(covariance, through_target @ self.cross.T)

    def take(self, rows: Int[Array, " some"]) -> "Outlook":
        """The same outlook on some of the pool rows."""
        return Outlook(
            belief=self.belief,
            pool=self.pool.take(rows),
            cross=self.cross[rows],
            variance=self.variance[rows],
            spread=self.spread[rows],
            tilts=self.tilts[:, rows],
            expansion=self.expansion,
            noise=self.noise,
        )


def look(
    belief: AbstractGaussianBelief,
    estimand: AbstractQuadraticEstimand,
    pool_x: Float[Array, "pool dim"],
    moves: Float[Array, "target moves"] | None = None,
) -> Outlook:
    """The outlook for reducing the variance of the estimand.

    The target's mean may be about to move, by `moves` times independent standard normals:
    see `labelwise.lookahead.pending`. None means that it stays where it is.
    """
    target = belief.embed(estimand.x)
    expansion = estimand.expand(belief.mean_at(target), belief.noise)
    moves = jnp.zeros((estimand.x.shape[0], 0)) if moves is None else moves
    return _look(belief, target, expansion, pool_x, moves)


def look_at_variance(
    belief: AbstractGaussianBelief,
    estimand: AbstractEstimand,
    pool_x: Float[Array, "pool dim"],
) -> Outlook:
    """The outlook for reducing the mean variance of the function over the target."""
    target = belief.embed(estimand.x)
    no_slope = Expansion(jnp.zeros(()), jnp.zeros_like(estimand.mass), estimand.mass)
    return _look(belief, target, no_slope, pool_x, jnp.zeros((estimand.x.shape[0], 0)))


def planned_noise(belief: AbstractGaussianBelief, rows: AbstractEmbedding) -> Scalar:
    """The noise that labels are planned with."""
    return jnp.maximum(belief.noise, LEAST_NOISE * belief.prior_variance_at(rows).max())


def _look(belief, target, expansion, pool_x, moves) -> Outlook:
    # A move d of the mean turns the slope by 2 W d, whence half of it by W d.
    turns = expansion.curvature[:, None] * moves
    half_slopes = jnp.concatenate([expansion.slope[:, None] / 2.0, turns], axis=1)

    def of_block(x):
        pool = belief.embed(x)
        cross = belief.covariance_at(pool, target)
        spread = cross**2 @ expansion.curvature
        return pool, cross, belief.variance_at(pool), spread, cross @ half_slopes

    pool, cross, variance, spread, tilts = in_blocks(of_block, pool_x)
    return Outlook(
        belief=belief,
        pool=pool,
        cross=cross,
        variance=variance,
        spread=spread,
        tilts=tilts.T,
        expansion=expansion,
        noise=planned_noise(belief, target),
    )


def in_blocks(function, x: Float[Array, "n dim"], block: int = BLOCK):
    """Apply a row-wise function `block` rows at a time, writing results in place.

    The last block starts early enough to be full, so some rows may be computed twice.
    """
    size = x.shape[0]
    if size <= block:
        return function(x)
    shapes = jax.eval_shape(function, jax.ShapeDtypeStruct((block, x.shape[1]), x.dtype))
    empty = jax.tree.map(lambda leaf: jnp.zeros((size, *leaf.shape[1:]), leaf.dtype), shapes)

    def fill(index, filled):
        start = jnp.minimum(index * block, size - block)
        part = function(jax.lax.dynamic_slice_in_dim(x, start, block))
        put = lambda whole, piece: jax.lax.dynamic_update_slice_in_dim(whole, piece, start, 0)
        return jax.tree.map(put, filled, part)

    return jax.lax.fori_loop(0, -(-size // block), fill, empty)
