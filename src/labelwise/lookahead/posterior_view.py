"""What a belief foresees of a pool and a target, computed once a round.

Every batch of the round is scored from here. Stored is the covariance of pool and target
(pool × target), and one number or a short row for each pool row; covariances between pool
rows are computed a column at a time, so nothing pool × pool ever exists.

Several estimands share all of it: each adds only its own slope and curvature.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Scalar

from labelwise.beliefs.base import (
    AbstractEmbedding,
    AbstractGaussianBelief,
    AbstractLatentBelief,
)
from labelwise.estimands.base import (
    AbstractEstimand,
    Expansion,
    LinearEstimand,
)
from labelwise.estimands.combine import Scalarisation, Several, parts_of, scalarisation_of
from labelwise.estimands.moments import as_quadratic, quadratic_variance
from labelwise.numerics import in_blocks

# Labels are planned with at least this share of the prior variance as noise, so that rows
# which repeat each other under a noise-free belief do not divide zero by zero.
LEAST_NOISE = 1e-10


class CovarianceColumns(NamedTuple):
    """Some rows' covariances with the whole pool, and their products through the target."""

    covariance: Float[Array, "k pool"]
    product: Float[Array, "curved k pool"]  # C_k W Cᵀ, for each curved part


class Parts(eqx.Module):
    """What is to be known, expanded around the target's mean: one row a part.

    Linear parts have no curvature, and no row among the curvatures.
    """

    slope: Float[Array, "parts target"]
    curvature: Float[Array, "curved target"]
    curved: tuple[int, ...] = eqx.field(static=True)  # which parts have a curvature
    now: Float[Array, " parts"]  # present variances; zero where they do not matter
    aim: Scalarisation

    def spread_out(self, values: Float[Array, "curved ..."]) -> Float[Array, "parts ..."]:
        """Numbers of the curved parts among those of all parts, zero for linear ones."""
        everywhere = jnp.zeros((self.slope.shape[0], *values.shape[1:]))
        return everywhere.at[jnp.asarray(self.curved, int)].add(values)

    def improvement(self, gains: Float[Array, "parts ..."]) -> Float[Array, "..."]:
        """How much of the aim such falls of the variances would take away."""
        now = self.now.reshape(-1, *(1 for _ in gains.shape[1:]))
        return self.aim.total(now) - self.aim.total(now - gains)


class PosteriorView(eqx.Module):
    """Pool and target as the belief sees them; C is pool × target, W = diag(curvature)."""

    belief: AbstractLatentBelief
    pool: AbstractEmbedding
    cross: Float[Array, "pool target"]  # C
    variance: Float[Array, " pool"]  # of the function at each pool row
    spread: Float[Array, "curved pool"]  # diagonal of C W Cᵀ
    tilts: Float[Array, "parts tilts pool"]  # C · slope / 2; then C W · each move of the mean
    parts: Parts
    noise: Float[Array, " pool"]  # of a label, floored

    @property
    def size(self) -> int:
        return self.variance.shape[0]

    def columns(self, rows: Int[Array, " k"]) -> CovarianceColumns:
        """Covariances of a few rows with every pool row, on demand."""
        covariance = self.belief.covariance_at(self.pool.take(rows), self.pool)
        some = self.cross[rows]
        through = lambda curvature: (curvature[None, :] * some) @ self.cross.T
        if not self.parts.curved:
            return CovarianceColumns(covariance, jnp.zeros((0, *covariance.shape)))
        return CovarianceColumns(
            covariance, jnp.stack([through(w) for w in self.parts.curvature])
        )

    def take(self, rows: Int[Array, " some"]) -> "PosteriorView":
        """The same view on some of the pool rows."""
        return PosteriorView(
            belief=self.belief,
            pool=self.pool.take(rows),
            cross=self.cross[rows],
            variance=self.variance[rows],
            spread=self.spread[:, rows],
            tilts=self.tilts[..., rows],
            parts=self.parts,
            noise=self.noise[rows],
        )


class TargetView(NamedTuple):
    """What of a view does not depend on the pool's rows."""

    target: AbstractEmbedding
    parts: Parts
    noise: Callable[[Float[Array, "n dim"]], Float[Array, " n"]]  # of labels of rows


def exact_view(
    belief: AbstractGaussianBelief,
    estimand: AbstractEstimand,
    pool_x: Float[Array, "pool dim"],
    moves: Float[Array, "target moves"] | None = None,
) -> PosteriorView:
    """The view for reducing the variance of the estimand, in closed form.

    The target's mean may be about to move, by `moves` times independent standard normals:
    see `labelwise.lookahead.pending`. None means that it stays where it is.
    """
    return build_view(belief, exact_target(belief, estimand), pool_x, moves)


def exact_target(belief: AbstractGaussianBelief, estimand: AbstractEstimand) -> TargetView:
    """The target's part of the view in closed form."""
    target = belief.embed(estimand.x)
    mean = belief.mean_at(target)
    quadratic = [as_quadratic(part) for part in parts_of(estimand)]
    expansions = [part.expand(mean, belief.likelihood) for part in quadratic]
    curved = [not isinstance(part, LinearEstimand) for part in quadratic]
    parts = make_parts(belief, estimand, target, expansions, curved)
    return TargetView(target, parts, _same_noise(belief, target))


def variance_view(
    belief: AbstractGaussianBelief,
    estimand: AbstractEstimand,
    pool_x: Float[Array, "pool dim"],
) -> PosteriorView:
    """The view for reducing the mean variance of the function over the target."""
    target = belief.embed(estimand.x)
    parts, noise = mean_variance_part(estimand.mass), _same_noise(belief, target)
    return build_view(belief, TargetView(target, parts, noise), pool_x)


def mean_variance_part(curvature: Float[Array, " target"]) -> Parts:
    """One part, without slope, whose curvature weighs the variance of each target row."""
    one = jnp.ones(1)
    flat = jnp.zeros((1, curvature.shape[0]))
    return Parts(flat, curvature[None, :], (0,), jnp.zeros(1), Scalarisation(one, worst=False))


def make_parts(
    belief: AbstractLatentBelief,
    estimand: AbstractEstimand,
    target: AbstractEmbedding,
    expansions: Sequence[Expansion],
    curved: Sequence[bool],
) -> Parts:
    """Stack the expansions; present variances are needed only to weigh parts together."""
    slope = jnp.stack([one.slope for one in expansions])
    which = tuple(index for index, bent in enumerate(curved) if bent)
    curvature = jnp.zeros((0, slope.shape[1]))
    if which:
        curvature = jnp.stack([expansions[index].curvature for index in which])
    now = jnp.zeros(len(expansions))
    if isinstance(estimand, Several):
        covariance = belief.covariance_at(target, target)
        now = jnp.stack(
            [quadratic_variance(covariance, one.slope, one.curvature) for one in expansions]
        )
    return Parts(slope, curvature, which, now, scalarisation_of(estimand, now))


def planned_noise(belief: AbstractGaussianBelief, rows: AbstractEmbedding) -> Scalar:
    """The noise that labels are planned with."""
    return jnp.maximum(belief.noise, LEAST_NOISE * belief.prior_variance_at(rows).max())


def _same_noise(belief: AbstractGaussianBelief, target: AbstractEmbedding):
    return lambda x: jnp.full(x.shape[0], planned_noise(belief, target))


def build_view(
    belief: AbstractLatentBelief,
    about: TargetView,
    pool_x: Float[Array, "pool dim"],
    moves: Float[Array, "target moves"] | None = None,
) -> PosteriorView:
    """The view on a pool, given the target's part of it."""
    target, parts, noise = about
    moves = jnp.zeros((parts.slope.shape[1], 0)) if moves is None else moves
    halves = half_slopes(parts, moves)

    def of_block(x):
        pool = belief.embed(x)
        cross = belief.covariance_at(pool, target)
        spread = cross**2 @ parts.curvature.T
        tilts = jnp.einsum("pt,jtm->pjm", cross, halves)
        return pool, cross, belief.variance_at(pool), spread, tilts, noise(x)

    pool, cross, variance, spread, tilts, label_noise = in_blocks(of_block, pool_x)
    return PosteriorView(
        belief=belief,
        pool=pool,
        cross=cross,
        variance=variance,
        spread=spread.T,
        tilts=jnp.moveaxis(tilts, 0, -1),
        parts=parts,
        noise=label_noise,
    )


def half_slopes(parts: Parts, moves) -> Float[Array, "parts target tilts"]:
    """Half the slope, and by how much each move of the mean turns it: d turns it by 2 W d."""
    own = parts.slope[:, :, None] / 2.0
    turns = parts.curvature[:, :, None] * moves[None, :, :]
    return jnp.concatenate([own, parts.spread_out(turns)], axis=2)
