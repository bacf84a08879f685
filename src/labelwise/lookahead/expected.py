"""The one-step objective H(S): the variance of the estimand expected after a batch."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Scalar

from labelwise.beliefs.base import AbstractGaussianBelief
from labelwise.estimands.base import AbstractQuadraticEstimand
from labelwise.estimands.moments import (
    as_quadratic,
    check_features_match,
    check_gaussian,
    exact_moments,
)
from labelwise.inputs import as_indices, as_matrix
from labelwise.lookahead.gain import batch_gain
from labelwise.lookahead.posterior_view import exact_view
from labelwise.programs import program


def expected_variance(
    belief: AbstractGaussianBelief,
    estimand: AbstractQuadraticEstimand,
    pool_x: Any,
    indices: Any,
) -> Scalar:
    """Variance of the estimand expected after labelling these pool rows, exactly.

    An expectation over labels imagined from the belief: after the real labels the variance
    is lower or higher, and right on average if the belief is.
    """
    check_gaussian(belief)
    estimand = as_quadratic(estimand)
    pool_x = as_matrix("pool x", pool_x)
    check_features_match(pool_x, estimand)
    indices = as_indices("indices", indices, pool_x.shape[0], "pool x")
    if indices.size == 0:
        return exact_moments(belief, estimand).variance
    return _expected_variance(belief, estimand, pool_x, indices)


@program
def _expected_variance(
    belief: AbstractGaussianBelief,
    estimand: AbstractQuadraticEstimand,
    pool_x: Float[Array, "pool dim"],
    indices: Int[Array, " k"],
) -> Scalar:
    # Only the batch's own rows are looked at.
    view = exact_view(belief, estimand, pool_x[indices])
    now = exact_moments(belief, estimand).variance
    return now - batch_gain(view, jnp.arange(indices.shape[0]))[0]
