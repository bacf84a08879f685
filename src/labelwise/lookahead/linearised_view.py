"""A view for what has no closed form: the estimand's average slope and curvature.

Under a Gaussian function f and a label that reads it, E[g | label] can be expanded in Hermite
polynomials of the label. Its first two orders depend on g only through E[∇g] and E[∇²g]
(Stein's identity), so the closed-form gain with these in place of slope and twice the curvature
is the part of the true gain that they explain: exact for quadratic g, and never too large but
for the curvature's products between rows, which are left out. 0/1 labels are taken to read f
with the noise that has the same expected (Fisher) information.

It screens large pools and looks far ahead, where draws would be too few.

See docs/mathematics.md, "Estimands without a closed form".
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from labelwise.beliefs.base import AbstractEmbedding, AbstractLatentBelief
from labelwise.estimands.base import AbstractEstimand, Expansion, LinearEstimand
from labelwise.estimands.combine import parts_of
from labelwise.estimands.moments import has_closed_form
from labelwise.likelihoods import GaussianLikelihood
from labelwise.lookahead.posterior_view import (
    LEAST_NOISE,
    PosteriorView,
    TargetView,
    build_view,
    exact_target,
    make_parts,
    mean_variance_part,
)

DRAWS = 256  # of the function at the target, to average slopes over


def posterior_view(
    key: PRNGKeyArray,
    belief: AbstractLatentBelief,
    estimand: AbstractEstimand,
    pool_x: Float[Array, "pool dim"],
) -> PosteriorView:
    """The view in closed form if there is one, else the linearised one."""
    return build_view(belief, target_view(key, belief, estimand), pool_x)


def target_view(
    key: PRNGKeyArray, belief: AbstractLatentBelief, estimand: AbstractEstimand
) -> TargetView:
    """The target's part of that view."""
    if has_closed_form(belief, estimand):
        return exact_target(belief, estimand)
    target = belief.embed(estimand.x)
    # Two keys: from one, each sign would be that of the draw it goes with.
    draw_key, sign_key = jax.random.split(key)
    functions = belief.sample(draw_key, estimand.x, DRAWS)
    parts = parts_of(estimand)
    expansions = [_expand(sign_key, part, functions, belief.likelihood) for part in parts]
    straight = isinstance(belief.likelihood, GaussianLikelihood)
    curved = [not (straight and isinstance(part, LinearEstimand)) for part in parts]
    about = make_parts(belief, estimand, target, expansions, curved)
    return TargetView(target, about, _noise(belief, target))


def outcome_view(
    belief: AbstractLatentBelief,
    estimand: AbstractEstimand,
    pool_x: Float[Array, "pool dim"],
) -> PosteriorView:
    """The view for reducing the mean variance of the expected label over the target."""
    target = belief.embed(estimand.x)
    parts = mean_variance_part(estimand.mass * sensitivity(belief, target))
    return build_view(belief, TargetView(target, parts, _noise(belief, target)), pool_x)


def pool_view(
    belief: AbstractLatentBelief,
    estimand: AbstractEstimand,
    pool_x: Float[Array, "pool dim"],
) -> PosteriorView:
    """The view for what labels tell of pool rows themselves: the target sets scales alone."""
    target = belief.embed(estimand.x)
    one, nothing = target.take(jnp.arange(1)), mean_variance_part(jnp.zeros(1))
    parts = replace(nothing, curvature=jnp.zeros((0, 1)), curved=())
    return build_view(belief, TargetView(one, parts, _noise(belief, target)), pool_x)


def sensitivity(belief: AbstractLatentBelief, rows: AbstractEmbedding) -> Float[Array, " n"]:
    """Variance of the expected label for each unit of the function's: its mean square slope."""
    mean, variance = belief.mean_at(rows), belief.variance_at(rows)
    if isinstance(belief.likelihood, GaussianLikelihood):
        return jnp.ones_like(mean)
    return belief.likelihood.outcome_moments(mean, variance)[1] / jnp.maximum(variance, 1e-300)


def _expand(key, estimand, functions, likelihood) -> Expansion:
    """Average value, slope and half the second derivatives over draws of the function."""
    value = lambda f: estimand.value(f, likelihood)
    signs = jax.random.rademacher(key, functions.shape, float)

    def of_draw(f, sign):
        slope, turned = jax.jvp(jax.grad(value), (f,), (sign,))
        return value(f), slope, 0.5 * sign * turned  # Hutchinson: E[sign ⊙ H sign] = diag H

    values, slopes, curvatures = jax.vmap(of_draw)(functions, signs)
    return Expansion(values.mean(), slopes.mean(axis=0), curvatures.mean(axis=0))


def _noise(belief: Any, target: AbstractEmbedding):
    """The noise of a label, as a reading of the function, at each row."""
    least = LEAST_NOISE * belief.prior_variance_at(target).max()

    def at(x: Float[Array, "n dim"]) -> Float[Array, " n"]:
        rows = belief.embed(x)
        mean, variance = belief.mean_at(rows), belief.variance_at(rows)
        return jnp.maximum(belief.likelihood.reading_noise(mean, variance), least)

    return at
