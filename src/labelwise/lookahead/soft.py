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

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Scalar

from labelwise.beliefs.base import Reading
from labelwise.estimands.moments import quadratic_variance
from labelwise.lookahead.posterior_view import PosteriorView
from labelwise.lookahead.relaxation import EVEN, Relaxation, imagined_root, relax, unexpected
from labelwise.lookahead.tabulated import GainTable
from labelwise.numerics import add_diagonal, cholesky, largest, solve_lower, symmetrise

LEAST_ROWS = 64  # never condition on fewer of the heaviest rows ...
ROWS_PER_LABEL = 4  # ... nor on fewer than this many for each label of the batch
MORE = 4  # times as many are tried before (nearly) all
ENOUGH_WEIGHT = 0.99  # share of the total weight they must hold; else the update is full
MOST_ROWS = 2048  # a full update conditions on no more rows than this


class Heaviest(NamedTuple):
    """The rows that a soft batch is conditioned on, with their weights."""

    rows: Int[Array, " some"]
    weight: Float[Array, " some"]


def with_heaviest(
    function: Callable[[Heaviest], Scalar],
    weight: Float[Array, " pool"],
    k: int,
    sparse: bool = True,
) -> Scalar:
    """Call `function` on few rows if they hold enough of the weight, else on more, or on all.

    Do not vmap: all branches would then run. Use `jax.lax.map` over roll-outs.
    """
    size = weight.shape[0]
    few = min(size, max(LEAST_ROWS, ROWS_PER_LABEL * k))
    most = min(size, MOST_ROWS)
    on = lambda count: lambda weight: function(_heaviest(weight, count))
    if not sparse:
        return on(most)(weight)
    total = jax.lax.stop_gradient(weight).sum()
    held = lambda count: jax.lax.stop_gradient(_heaviest(weight, count).weight).sum()
    call = on(most)
    for count in (MORE * few, few):  # few if they do, else more, else nearly all
        if count < most:
            call = _either(held(count) >= ENOUGH_WEIGHT * total, on(count), call)
    return call(weight)


def _either(condition, first, second):
    """`lax.cond` as a function of the weight, differentiated inside the branch that is taken.

    Outside, reverse mode would allocate what the branch not taken would have kept.
    """

    @jax.custom_vjp
    def call(weight):
        return jax.lax.cond(condition, first, second, weight)

    def forward(weight):
        return jax.lax.cond(
            condition, jax.value_and_grad(first), jax.value_and_grad(second), weight
        )

    call.defvjp(forward, lambda gradient, change: (change * gradient,))
    return call


def _heaviest(weight, count: int) -> Heaviest:
    rows = largest(jax.lax.stop_gradient(weight), count)
    return Heaviest(rows, weight[rows])


class Update(NamedTuple):
    """A soft batch's effect on the target: V_a = V - Bᵀ P B, mean moved by Bᵀ P surprise."""

    rows: Int[Array, " some"]
    reading: Reading  # B = gain ⊙ C
    covariance: Float[Array, "some some"]  # of the function at the rows, before the update
    factor: Float[Array, "some some"]  # L with P = (L Lᵀ)⁻¹
    expected: Float[Array, " some"]  # mean of the surprises under imagined labels
    imagined: Float[Array, "some some"]  # R, where R Rᵀ is the surprises' covariance


def soft_update(view: PosteriorView, heaviest: Heaviest, relaxation: Relaxation) -> Update:
    """Condition on weighted labels of a few rows."""
    rows = view.pool.take(heaviest.rows)
    noise = view.noise[heaviest.rows]
    covariance = view.belief.covariance_at(rows, rows)
    reading = relax(view.belief, rows, heaviest.weight, noise, relaxation)
    spread = reading.gain[:, None] * covariance * reading.gain[None, :]
    factor = cholesky(symmetrise(add_diagonal(spread, reading.noise)))
    return Update(
        rows=heaviest.rows,
        reading=reading,
        covariance=covariance,
        factor=factor,
        expected=unexpected(view.belief, rows, reading, relaxation),
        imagined=imagined_root(reading, covariance, noise, factor, relaxation),
    )


def soft_gain(
    table: GainTable, heaviest: Heaviest, relaxation: Relaxation
) -> Float[Array, " parts"]:
    """Fall of each part's variance by a soft batch whose readings are imagined as they are."""
    view = table.view
    rows, noise = view.pool.take(heaviest.rows), view.noise[heaviest.rows]
    reading = relax(view.belief, rows, heaviest.weight, noise, relaxation)
    return table.gain(heaviest.rows, reading.gain, reading.noise)


def soft_variance(
    view: PosteriorView,
    heaviest: Heaviest,
    covariance: Float[Array, "target target"],
    relaxation: Relaxation = EVEN,
) -> Float[Array, " parts"]:
    """Expected variance of each part of the estimand after a soft batch, exactly.

    `covariance` is the target's, before the batch. The imagined labels are integrated out.
    Products through the target do not depend on the weights: only some × some matrices are
    differentiated.
    """
    update = soft_update(view, heaviest, relaxation)
    parts = view.parts
    of_part = lambda slope, curvature: _soft_variance(
        view, heaviest, update, covariance, slope, curvature
    )
    return jax.vmap(of_part)(parts.slope, parts.spread_out(parts.curvature))


def _soft_variance(view, heaviest, update: Update, covariance, slope, curvature) -> Scalar:
    cross = view.cross[heaviest.rows]
    weighted = cross * curvature[None, :]  # C W
    through = weighted @ covariance  # C W V
    inverse = solve_lower(update.factor, jnp.eye(heaviest.rows.shape[0]))
    whiten = inverse * update.reading.gain[None, :]  # L⁻¹ diag(gain)
    product = whiten @ (weighted @ cross.T) @ whiten.T  # of L⁻¹ B with itself through W
    nested = whiten @ (through @ weighted.T) @ whiten.T  # ... through W V W
    scale = inverse @ update.imagined
    noise = scale @ scale.T
    surprise = inverse @ update.expected
    moved = 2.0 * (product @ surprise) + whiten @ (cross @ slope)
    return (
        quadratic_variance(covariance, slope, curvature)
        + 4.0 * surprise @ (whiten @ (through @ slope))
        + 4.0 * surprise @ nested @ surprise
        - moved @ moved
        + 4.0 * jnp.sum(nested * noise)
        - 4.0 * jnp.trace(nested)
        + 2.0 * jnp.sum(product**2)
        - 4.0 * jnp.sum(product * (product @ noise))
    )
