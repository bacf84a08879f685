"""One roll-out of the paper: imagine labels for a soft batch, update, draw, take the variance.

The sampled twin of `soft_variance`, for estimands that have no closed form, and its plain form
for beliefs that are not Gaussian. A hard batch is a soft one with weights 1.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from labelwise.beliefs.base import AbstractBelief
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.moments import values_of
from labelwise.lookahead.posterior_view import PosteriorView
from labelwise.lookahead.relaxation import EVEN, Relaxation
from labelwise.lookahead.soft import Heaviest, soft_update
from labelwise.numerics import (
    add_diagonal,
    cholesky,
    sample_variance,
    solve_lower,
    symmetrise,
)
from labelwise.types import Pool


class TargetDraws(eqx.Module):
    """Standard draws of the function at the target, kept for a round."""

    root: Float[Array, "target target"]  # root rootᵀ = covariance of the target
    mean: Float[Array, " target"]

    @staticmethod
    def prepare(view: PosteriorView, estimand: AbstractEstimand) -> "TargetDraws":
        target = view.belief.embed(estimand.x)
        covariance = symmetrise(view.belief.covariance_at(target, target))
        # A nugget far below what draws can show; it makes the factor safe to divide by.
        nugget = 1e-10 * view.belief.prior_variance_at(target)
        return TargetDraws(
            cholesky(add_diagonal(covariance, nugget)), view.belief.mean_at(target)
        )


def sampled_variance(
    key: PRNGKeyArray,
    view: PosteriorView,
    heaviest: Heaviest,
    estimand: AbstractEstimand,
    target: TargetDraws,
    draws: int,
    relaxation: Relaxation = EVEN,
) -> Float[Array, " parts"]:
    """Variance of each part of the estimand over draws, after labels imagined for a soft batch.

    One roll-out of the paper: imagine labels, update, draw functions at the target, take the
    unbiased variance of their values. Functions are drawn by Matheron's rule: draw jointly
    from the present belief, then move each draw by the update that its own reading calls for.
    """
    target_key, rows_key, noise_key, label_key = jax.random.split(key, 4)
    update = soft_update(view, heaviest, relaxation)
    some, size = heaviest.rows.shape[0], target.mean.shape[0]
    # f at the rows given f at the target, by the joint factor [[root, 0], [link, own]].
    link = solve_lower(target.root, view.cross[heaviest.rows].T).T
    rows = view.pool.take(heaviest.rows)
    nugget = 1e-9 * view.belief.prior_variance_at(rows)
    own = cholesky(add_diagonal(symmetrise(update.covariance - link @ link.T), nugget))
    normal_target = _normal(target_key, (draws, size))
    normal_rows = _normal(rows_key, (draws, some))
    at_target = normal_target @ target.root.T
    at_rows = normal_target @ link.T + normal_rows @ own.T
    reading_noise = jnp.sqrt(jnp.maximum(update.reading.noise, 1e-300))
    noise = reading_noise[None, :] * _normal(noise_key, (draws, some))
    surprise = update.imagined @ jax.random.normal(label_key, (some,)) + update.expected
    missed = surprise[None, :] - (update.reading.gain[None, :] * at_rows + noise)
    weights = jax.scipy.linalg.cho_solve((update.factor, True), missed.T).T
    functions = (
        target.mean[None, :]
        + at_target
        + weights @ (update.reading.gain[:, None] * view.cross[heaviest.rows])
    )
    return _variances(values_of(estimand, functions, view.belief.likelihood))


def conditioned_variance(
    key: PRNGKeyArray,
    belief: AbstractBelief,
    estimand: AbstractEstimand,
    pool: Pool,
    heaviest: Heaviest,
    draws: int,
) -> Float[Array, " parts"]:
    """The same for any belief: condition it on imagined labels, pending ones included."""
    label_key, draw_key = jax.random.split(key)
    x = jnp.concatenate([pool.x[jnp.maximum(pool.pending, 0)], pool.arms[heaviest.rows]])
    out = (pool.pending >= 0).astype(float)
    weight = jnp.concatenate([out, heaviest.weight])
    labels = jax.lax.stop_gradient(belief.sample_labels(label_key, x, 1)[0])
    after = belief.condition(x, labels, weight)
    functions = after.representatives(draw_key, estimand.x, draws)
    return _variances(values_of(estimand, functions, after.likelihood))


def _variances(values: Float[Array, "draws ..."]) -> Float[Array, " parts"]:
    return jnp.atleast_1d(sample_variance(values))


def _normal(key, shape):
    """Standard normal draws; 32 random bits each are plenty, and half the work."""
    return jax.random.normal(key, shape, jnp.float32).astype(float)
