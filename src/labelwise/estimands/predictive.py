"""What a belief expects of labels to come: the mean of each term, and how far it may be off.

Labels are integrated over: 0/1 labels by their chances, others by a few nodes of the Gaussian
that each component of the belief expects.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from labelwise.beliefs.base import AbstractBelief
from labelwise.estimands.terms import Terms
from labelwise.numerics import in_blocks

# Polynomials up to degree 31 are integrated exactly: a squared error and its square are.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(16)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def label_nodes(
    belief: Any, x: Float[Array, "n dim"]
) -> tuple[Float[Array, "n nodes"], Float[Array, "n nodes"]]:
    """Labels that stand for all that may come at each row, and their chances."""
    if belief.likelihood.support is not None:
        chance = belief.outcome(x)[0]
        y = jnp.broadcast_to(jnp.array([0.0, 1.0]), (x.shape[0], 2))
        return y, jnp.stack([1.0 - chance, chance], axis=1)
    y = jnp.moveaxis(belief.each(lambda component: _nodes_of(component, x)), 0, 1)
    weight = belief.weight[:, None] * jnp.asarray(_WEIGHTS)[None, :]
    flat = y.reshape(x.shape[0], -1)
    return flat, jnp.broadcast_to(weight.ravel(), flat.shape)


def _nodes_of(belief, x):
    mean, variance = belief.outcome(x)
    spread = jnp.sqrt(variance + belief.likelihood.variance(mean))
    return mean[:, None] + spread[:, None] * jnp.asarray(_NODES)[None, :]


@eqx.filter_jit
def predict_moments(
    belief: AbstractBelief,
    x: Float[Array, "n dim"],
    terms: Terms,
    prediction: Any,
    threshold: Any = None,
) -> tuple[Float[Array, "terms n"], Float[Array, "terms terms n"]]:
    """Means and covariances of each row's terms, in one pass."""
    count = terms.count

    def moments(z, chance):
        mean = _mean(z, chance)
        away = z - mean[:, :, None]  # centred first, so that a constant has no spread
        pairs = (away[:, None] * away[None, :]).reshape(count**2, *z.shape[1:])
        return jnp.concatenate([mean, _mean(pairs, chance)])

    found = _integrate(belief, x, terms, prediction, threshold, moments)
    return found[:count], found[count:].reshape(count, count, -1)


def predict_terms(
    belief: AbstractBelief,
    x: Float[Array, "n dim"],
    terms: Terms,
    prediction: Any,
    threshold: Any = None,
) -> Float[Array, "terms n"]:
    """The expected terms of each row."""
    return predict_moments(belief, x, terms, prediction, threshold)[0]


def predict_spread(
    belief: AbstractBelief,
    x: Float[Array, "n dim"],
    terms: Terms,
    prediction: Any,
    threshold: Any,
    slope: Float[Array, " terms"],
) -> Float[Array, " n"]:
    """Standard deviation of each row's part in the estimand: of its terms along a slope."""
    return spread_along(predict_moments(belief, x, terms, prediction, threshold)[1], slope)


def spread_along(
    covariance: Float[Array, "terms terms n"], slope: Float[Array, " terms"]
) -> Float[Array, " n"]:
    """Standard deviation of each row's terms along a slope."""
    variance = jnp.einsum("t,tsn,s->n", slope, covariance, slope)
    return jnp.sqrt(jnp.maximum(variance, 0.0))


def _mean(z: Float[Array, "terms n nodes"], chance: Float[Array, "n nodes"]):
    return jnp.sum(z * chance[None, :, :], axis=2)


def _integrate(belief, x, terms: Terms, prediction, threshold, function):
    """A function of the terms at every label and of its chances, a block of rows at a time."""
    models = prediction if isinstance(prediction, tuple) else (prediction,)
    columns = [jnp.zeros(x.shape[0]) if one is None else jnp.asarray(one) for one in models]
    table = jnp.column_stack([x, *columns])
    width = x.shape[1]

    def of_block(rows):
        y, chance = label_nodes(belief, rows[:, :width])
        given = tuple(rows[:, width + index, None] for index in range(len(columns)))
        one = given if isinstance(prediction, tuple) else given[0]
        return function(terms.stack(y, one, threshold), chance).T

    return in_blocks(of_block, table).T
