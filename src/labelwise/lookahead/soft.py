"""The lookahead objective for a soft batch: rows that each count in part.

A weighted label is a noisy reading of the function (`Reading`), so a soft batch is an
ordinary update with gains u and noises v. Written with B = u ⊙ C and P the inverse covariance
of the readings, the target's covariance becomes V_a = V - Bᵀ P B, and its mean moves by
Bᵀ P e, where e are the readings' surprises. The expected variance of g is then

    E[(slope + 2 W move)ᵀ V_a (slope + 2 W move)] + 2 tr(W V_a W V_a).

Only the heaviest rows are conditioned on: a soft batch at low temperature has nearly all of
its weight on few rows, and the rest would cost pool × pool work for nothing.

See docs/mathematics.md, "Soft batches".
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Scalar

from labelwise.beliefs.base import Reading
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.moments import quadratic_variance
from labelwise.lookahead.outlook import Outlook
from labelwise.numerics import add_diagonal, cholesky, solve_lower, symmetrise

LEAST_ROWS = 64  # never condition on fewer of the heaviest rows ...
ROWS_PER_LABEL = 4  # ... nor on fewer than this many for each label of the batch
ENOUGH_WEIGHT = 0.99  # share of the total weight they must hold; else the update is full
MOST_ROWS = 2048  # a full update conditions on no more rows than this


class Heaviest(NamedTuple):
    """The rows that a soft batch is conditioned on, with their weights."""

    rows: Int[Array, " some"]
    weight: Float[Array, " some"]


def with_heaviest(function, weight: Float[Array, " pool"], k: int, sparse: bool = True):
    """Call `function(Heaviest)` on few rows if they hold enough of the weight, else on all.

    Do not vmap: both branches would then run. Use `jax.lax.map` over roll-outs.
    """
    size = weight.shape[0]
    few = min(size, max(LEAST_ROWS, ROWS_PER_LABEL * k))
    most = min(size, MOST_ROWS)
    on = lambda count: lambda weight: function(_heaviest(weight, count))
    if not sparse or few >= most:
        return on(most)(weight)
    held = jax.lax.top_k(jax.lax.stop_gradient(weight), few)[0].sum()
    enough = held >= ENOUGH_WEIGHT * jax.lax.stop_gradient(weight).sum()
    return jax.lax.cond(enough, on(few), on(most), weight)


def _heaviest(weight, count: int) -> Heaviest:
    rows = jax.lax.top_k(jax.lax.stop_gradient(weight), count)[1]
    return Heaviest(rows, weight[rows])


class Update(NamedTuple):
    """A soft batch's effect on the target: V_a = V - Bᵀ P B, mean moved by Bᵀ P surprise."""

    cross: Float[Array, "some target"]  # B
    factor: Float[Array, "some some"]  # L with P = (L Lᵀ)⁻¹
    reading: Reading
    covariance: Float[Array, "some some"]  # of the function at the rows, before the update


def soft_update(outlook: Outlook, heaviest: Heaviest) -> Update:
    """Condition on weighted labels of a few rows."""
    rows = outlook.pool.take(heaviest.rows)
    reading = outlook.belief.read(rows, heaviest.weight)
    covariance = outlook.belief.covariance_at(rows, rows)
    spread = reading.gain[:, None] * covariance * reading.gain[None, :]
    factor = cholesky(symmetrise(add_diagonal(spread, reading.noise)))
    cross = reading.gain[:, None] * outlook.cross[heaviest.rows]
    return Update(cross, factor, reading, covariance)


def expected_surprise(outlook: Outlook, heaviest: Heaviest, reading: Reading):
    """Mean of the readings' surprises under imagined labels.

    Zero at weights 0 and 1. Between, Algorithm 3 expects a whole label but predicts it from
    a_i times the shift of the mean, so a label at the posterior mean still surprises.
    """
    shift = outlook.belief.shift_at(outlook.pool.take(heaviest.rows))
    return (reading.label_scale - reading.gain) * shift


def soft_variance(
    outlook: Outlook, heaviest: Heaviest, covariance: Float[Array, "target target"]
) -> Scalar:
    """Expected variance of the estimand after a soft batch, exactly.

    `covariance` is the target's, before the batch. The imagined labels are integrated out.
    """
    slope, curvature = outlook.expansion.slope, outlook.expansion.curvature
    update = soft_update(outlook, heaviest)
    half = solve_lower(update.factor, update.cross)  # L⁻¹ B
    scale = update.reading.label_scale
    labels = scale[:, None] * add_diagonal(update.covariance, outlook.noise) * scale[None, :]
    noise = solve_lower(update.factor, solve_lower(update.factor, labels).T)
    surprise = solve_lower(update.factor, expected_surprise(outlook, heaviest, update.reading))
    weighted = half * curvature[None, :]  # L⁻¹ B W
    through = weighted @ covariance  # L⁻¹ B W V
    product = weighted @ half.T
    nested = through @ weighted.T
    moved = 2.0 * (product @ surprise) + half @ slope
    return (
        quadratic_variance(covariance, slope, curvature)
        + 4.0 * surprise @ (through @ slope)
        + 4.0 * surprise @ nested @ surprise
        - moved @ moved
        + 4.0 * jnp.sum(nested * noise)
        - 4.0 * jnp.trace(nested)
        + 2.0 * jnp.sum(product**2)
        - 4.0 * jnp.sum(product * (product @ noise))
    )


class TargetDraws(eqx.Module):
    """Standard draws of the function at the target, kept for a round."""

    root: Float[Array, "target target"]  # root rootᵀ = covariance of the target
    mean: Float[Array, " target"]

    @staticmethod
    def prepare(outlook: Outlook, estimand: AbstractEstimand) -> "TargetDraws":
        target = outlook.belief.embed(estimand.x)
        covariance = symmetrise(outlook.belief.covariance_at(target, target))
        # A nugget far below what draws can show; it makes the factor safe to divide by.
        nugget = 1e-10 * jnp.mean(jnp.diagonal(covariance)) + 1e-300
        return TargetDraws(
            cholesky(add_diagonal(covariance, nugget)), outlook.belief.mean_at(target)
        )


def sampled_variance(
    key: PRNGKeyArray,
    outlook: Outlook,
    heaviest: Heaviest,
    estimand: AbstractEstimand,
    target: TargetDraws,
    draws: int,
) -> Scalar:
    """Variance of the estimand over draws, after labels imagined for a soft batch.

    One roll-out of the paper: imagine labels, update, draw functions at the target, take the
    unbiased variance of their values. Functions are drawn by Matheron's rule: draw jointly
    from the present belief, then move each draw by the update that its own reading calls for.
    """
    target_key, rows_key, noise_key, label_key = jax.random.split(key, 4)
    update = soft_update(outlook, heaviest)
    some, size = heaviest.rows.shape[0], target.mean.shape[0]
    # f at the rows given f at the target, by the joint factor [[root, 0], [link, own]].
    link = solve_lower(target.root, outlook.cross[heaviest.rows].T).T
    own = cholesky(_safe_remainder(update.covariance, link))
    normal_target = jax.random.normal(target_key, (draws, size))
    normal_rows = jax.random.normal(rows_key, (draws, some))
    at_target = normal_target @ target.root.T
    at_rows = normal_target @ link.T + normal_rows @ own.T
    reading_noise = jnp.sqrt(jnp.maximum(update.reading.noise, 1e-300))
    noise = reading_noise[None, :] * jax.random.normal(noise_key, (draws, some))
    surprise = _imagined_surprise(label_key, outlook, heaviest, update)
    missed = surprise[None, :] - (update.reading.gain[None, :] * at_rows + noise)
    weights = jax.scipy.linalg.cho_solve((update.factor, True), missed.T).T
    functions = target.mean[None, :] + at_target + weights @ update.cross
    values = jax.vmap(estimand.value, in_axes=(0, None))(functions, outlook.belief.noise)
    return jnp.var(values, ddof=1)


def _imagined_surprise(key, outlook, heaviest, update: Update):
    """Readings of labels drawn from the belief, minus what the belief expects them to be."""
    labels = cholesky(symmetrise(add_diagonal(update.covariance, outlook.noise)))
    away = labels @ jax.random.normal(key, heaviest.rows.shape)
    expected = expected_surprise(outlook, heaviest, update.reading)
    return update.reading.label_scale * away + expected


def _safe_remainder(covariance, link):
    remainder = symmetrise(covariance - link @ link.T)
    return add_diagonal(remainder, 1e-9 * jnp.mean(jnp.diagonal(covariance)) + 1e-300)
