"""What a belief says of an estimand: its mean and variance.

With m and V the posterior mean and covariance at the target, b the slope and w the
curvature of g at m, and W = diag(w):

    E g = g(m) + Σ w_i V_ii        Var g = bᵀ V b + 2 tr(W V W V)

Exact for quadratic estimands under Gaussian beliefs, and under mixtures of them, whose mean
is the mean of the components' and whose variance adds that between them; otherwise from draws.
"""

from typing import Any, NamedTuple, TypeGuard

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Scalar

from labelwise.beliefs.base import (
    AbstractBelief,
    AbstractGaussianBelief,
    AbstractLatentBelief,
)
from labelwise.errors import InvalidInput
from labelwise.estimands.base import AbstractEstimand, AbstractQuadraticEstimand
from labelwise.estimands.combine import Several, parts_of
from labelwise.inputs import check_is, check_same_features
from labelwise.numerics import sample_variance
from labelwise.programs import program


class Moments(NamedTuple):
    """Mean and variance of g(f) under a belief; of several estimands, of each."""

    mean: Float[Array, "*parts"]
    variance: Float[Array, "*parts"]


def has_closed_form(
    belief: AbstractBelief, estimand: AbstractEstimand
) -> TypeGuard[AbstractGaussianBelief]:
    """Whether moments and expected variances need no draws."""
    return isinstance(belief, AbstractGaussianBelief) and all(
        isinstance(part, AbstractQuadraticEstimand) for part in parts_of(estimand)
    )


def has_exact_moments(belief: AbstractBelief, estimand: AbstractEstimand) -> bool:
    """Whether the present mean and variance need no draws."""
    quadratic = (isinstance(part, AbstractQuadraticEstimand) for part in parts_of(estimand))
    return belief.is_gaussian and all(quadratic)


@program
def exact_moments(belief: AbstractBelief, estimand: AbstractEstimand) -> Moments:
    """Mean and variance in closed form; of several estimands, of each."""
    if not (isinstance(belief, AbstractBelief) and belief.is_gaussian):
        check_gaussian(belief)  # which says so
    return Moments(*belief.total_moments(lambda component: _of_single(component, estimand)))


def _of_single(belief: Any, estimand: AbstractEstimand) -> Moments:
    parts = [as_quadratic(part) for part in parts_of(estimand)]
    target = belief.embed(estimand.x)
    mean, covariance = belief.mean_at(target), belief.covariance_at(target, target)
    each = [_of_part(part, mean, covariance, belief.likelihood) for part in parts]
    if not isinstance(estimand, Several):
        return each[0]
    return Moments(*(jnp.stack(numbers) for numbers in zip(*each, strict=True)))


def _of_part(part: AbstractQuadraticEstimand, mean, covariance, likelihood) -> Moments:
    expansion = part.expand(mean, likelihood)
    expected = expansion.value + expansion.curvature @ jnp.diagonal(covariance)
    variance = quadratic_variance(covariance, expansion.slope, expansion.curvature)
    return Moments(expected, variance)


def quadratic_variance(
    covariance: Float[Array, "target target"],
    slope: Float[Array, " target"],
    curvature: Float[Array, " target"],
) -> Scalar:
    """Var(slopeᵀd + Σ curvature_i d_i²) for d ~ N(0, covariance)."""
    squares = curvature @ covariance**2 @ curvature
    return slope @ covariance @ slope + 2.0 * squares


@program
def sampled_moments(
    key: PRNGKeyArray,
    belief: AbstractBelief,
    estimand: AbstractEstimand,
    draws: int,
) -> Moments:
    """Mean and unbiased variance over functions that stand for the belief."""
    values = representative_values(key, belief, estimand, draws)
    return Moments(values.mean(axis=0), sample_variance(values))


def moments_of(
    key: PRNGKeyArray,
    belief: AbstractBelief,
    estimand: AbstractEstimand,
    draws: int,
) -> Moments:
    """In closed form if there is one, else from draws."""
    if has_exact_moments(belief, estimand):
        return exact_moments(belief, estimand)  # type: ignore[arg-type]
    return sampled_moments(key, belief, estimand, draws)


@program
def sampled_values(
    key: PRNGKeyArray,
    belief: AbstractBelief,
    estimand: AbstractEstimand,
    draws: int,
) -> Float[Array, " draws *parts"]:
    """The estimand of each of some joint draws of the function."""
    of = lambda component, key, draws: values_of(
        estimand, component.sample(key, estimand.x, draws), component.likelihood
    )
    return belief.draw(key, draws, of)  # values by each component's own law of labels


@program
def representative_values(
    key: PRNGKeyArray, belief: AbstractBelief, estimand: AbstractEstimand, draws: int
) -> Float[Array, " some *parts"]:
    """The estimand of functions that stand for the belief: draws, or all there are."""
    of = lambda component, key, draws: values_of(
        estimand, component.representatives(key, estimand.x, draws), component.likelihood
    )
    return belief.draw(key, draws, of)


def values_of(
    estimand: AbstractEstimand, functions: Float[Array, "draws target ..."], likelihood
) -> Float[Array, " draws *parts"]:
    """The estimand of each function."""
    return jax.vmap(estimand.value, in_axes=(0, None))(functions, likelihood)


def check_gaussian(belief: object) -> None:
    """Refuse a belief whose labels are not jointly Gaussian."""
    if not isinstance(belief, AbstractGaussianBelief):
        raise InvalidInput(
            f"{type(belief).__name__} is not a Gaussian belief, so it has no closed form",
            "use draws, or a Gaussian process",
            where="belief",
        )


def as_latent(belief: AbstractBelief) -> AbstractLatentBelief:
    """The Gaussian belief that stands for this one in plans."""
    latent = belief.latent
    if latent is None:
        raise InvalidInput(
            f"{type(belief).__name__} has no Gaussian belief that stands for it, so it has no "
            "covariances to plan with",
            "use labels that are numbers, or another policy",
            where="belief",
        )
    return latent


def as_quadratic(estimand: AbstractEstimand) -> AbstractQuadraticEstimand:
    """The estimand, if it has a closed form; else an error that says what to use instead."""
    check_is("estimand", estimand, AbstractEstimand)
    if not isinstance(estimand, AbstractQuadraticEstimand):
        raise InvalidInput(
            f"{type(estimand).__name__} is not quadratic in the function, so it has no closed "
            "form",
            "use the sampled objective",
            where="estimand",
        )
    return estimand


def check_features_match(pool_x: Array, estimand: AbstractEstimand) -> None:
    """Pool and target must have the same columns."""
    check_same_features("pool x", pool_x, "target x", estimand.x.shape[1])
