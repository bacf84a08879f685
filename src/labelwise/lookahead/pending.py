"""Rows that are out: planning now for what is known once their labels are back.

A pending label will do two things. It will lower the variance of the function, by an amount
that does not depend on what it says; and it will move the mean, we do not know where to. The
first is had by conditioning on the present mean in place of the label. The second is Gaussian:
at rows x the mean moves by A ε, where ε are independent standard normals, one for each pending
label, and A Aᵀ is the covariance that these labels remove.

See docs/mathematics.md, "Labels that are out".
"""

from typing import TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from labelwise.beliefs.base import AbstractGaussianBelief, AbstractLatentBelief
from labelwise.estimands.base import AbstractEstimand
from labelwise.lookahead.posterior_view import PosteriorView, exact_view, planned_noise
from labelwise.numerics import add_diagonal, cholesky, solve_lower
from labelwise.types import Pool

Latent = TypeVar("Latent", bound=AbstractLatentBelief)


def expect_pending(belief: Latent, pool: Pool) -> Latent:
    """The belief with the mean of now and the covariance of when pending labels are back.

    Of 0/1 labels the expected one is taken: a 1 in the share of its chance.
    """
    if pool.pending.shape[0] == 0:
        return belief
    x, weight = _places(pool)
    if not isinstance(belief, AbstractGaussianBelief):
        return belief.condition(x, belief.outcome(x)[0], weight)
    noisy = _with_planned_noise(belief, x)
    known = noisy.condition(x, belief.mean(x), weight)
    return eqx.tree_at(lambda known: known.noise, known, belief.noise)


def moves_by_pending(
    belief: AbstractGaussianBelief, pool: Pool, x: Float[Array, "n dim"]
) -> Float[Array, "n pending"]:
    """How far each pending label, by one standard deviation, will move the mean at `x`.

    Each counts after those before it: the moves are independent. Unused places move nothing.
    """
    if pool.pending.shape[0] == 0:
        return jnp.zeros((x.shape[0], 0))
    pending_x, weight = _places(pool)
    noisy = _with_planned_noise(belief, pending_x)
    pending = noisy.embed(pending_x)
    reading = noisy.read(pending, weight)
    both = reading.gain[:, None] * reading.gain[None, :]
    covariance = both * noisy.covariance_at(pending, pending)
    cross = reading.gain[:, None] * noisy.covariance_at(pending, noisy.embed(x))
    return solve_lower(cholesky(add_diagonal(covariance, reading.noise)), cross).T


def view_past_pending(
    belief: AbstractGaussianBelief, estimand: AbstractEstimand, pool: Pool
) -> PosteriorView:
    """The view whose gain of S is exactly H(pending) - H(pending ∪ S).

    Where chance will decide on treatments, on each unit's two arms.
    """
    moves = moves_by_pending(belief, pool, estimand.x)
    return exact_view(expect_pending(belief, pool), estimand, pool.arms, moves)


def _places(pool):
    """Features and weight of each place; an unused one holds some row, with weight 0."""
    used = pool.pending >= 0
    return pool.x[jnp.where(used, pool.pending, 0)], used.astype(float)


def _with_planned_noise(belief, x):
    """As for a batch: pending rows may repeat each other, or rows labelled without noise."""
    noise = planned_noise(belief, belief.embed(x))
    return eqx.tree_at(lambda belief: belief.noise, belief, noise)
