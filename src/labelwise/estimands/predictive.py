"""What a belief expects of labels to come: the mean of each term, and how far it may be off.

Labels with few values are summed over. Of others, each component of the belief expects a
normal law: terms that are polynomials of degree 2 have exact moments under it, others are
integrated in pieces between the predictions, where losses have their corners.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from labelwise.beliefs.base import AbstractBelief
from labelwise.estimands.forms import around_prediction
from labelwise.estimands.metrics import Metric
from labelwise.estimands.quadrature import Labels, normal_labels, possible_labels
from labelwise.numerics import in_blocks
from labelwise.programs import program

Moments = tuple[Float[Array, "terms n"], Float[Array, "terms terms n"]]


class Asked(NamedTuple):
    """What is asked of each row's label."""

    metric: Metric
    prediction: Any  # of each row, None, or a pair if two models are compared
    threshold: Any = None


@program
def predict_moments(
    belief: AbstractBelief, x: Float[Array, "n dim"], asked: Sequence[Asked]
) -> list[Moments]:
    """For all that is asked, means and covariances of each row's terms, from one pass.

    A block of rows at a time.
    """
    width = x.shape[1]
    models, structure = jax.tree.flatten([one.prediction for one in asked])
    table = jnp.column_stack([x, *models])

    def of_block(rows):
        own = jax.tree.unflatten(structure, list(rows[:, width:].T))
        pairs = zip(asked, own, strict=True)
        here = [one._replace(prediction=prediction) for one, prediction in pairs]
        flat = lambda array: array.reshape(-1, len(rows)).T
        return jax.tree.map(flat, _moments(belief, rows[:, :width], here))

    whole = lambda array, count: array.T.reshape(*count, -1)
    counts = [one.metric.count for one in asked]
    return [
        (whole(mean, (count,)), whole(covariance, (count, count)))
        for (mean, covariance), count in zip(in_blocks(of_block, table), counts, strict=True)
    ]


def _moments(belief: Any, x: Any, asked: Sequence[Asked]) -> list[Moments]:
    if belief.likelihood.support is not None:
        outcome = belief.outcome(x)[0]  # the chance of a 1, or one a class
        chances = outcome if outcome.ndim == 2 else jnp.stack([1.0 - outcome, outcome], axis=1)
        labels = possible_labels(belief.likelihood, chances), chances
        return [_summed(labels, *one) for one in asked]
    weight = belief.weight
    return [
        _mixed(weight, *each) for each in belief.each(lambda one: _of_single(one, x, asked))
    ]


def _mixed(weight, means, covariances) -> Moments:
    """From the moments of each component to those of all."""
    mean = jnp.tensordot(weight, means, axes=1)
    away = means - mean[None]
    within = jnp.tensordot(weight, covariances, axes=1)
    return mean, within + jnp.einsum("c,ctn,csn->tsn", weight, away, away)


def _of_single(belief, x, asked: Sequence[Asked]) -> list[Moments]:
    outcome, uncertainty = belief.outcome(x)
    variance = uncertainty + belief.likelihood.variance(outcome)
    return [_of_normal(outcome, variance, *one) for one in asked]


def _of_normal(outcome, variance, metric: Metric, prediction, threshold) -> Moments:
    if metric.degree is None:
        breaks = metric.breaks_of(jax.tree.leaves(prediction), threshold)
        labels = normal_labels(outcome, jnp.sqrt(variance), breaks)
        return _summed(labels, metric, prediction, threshold)
    terms = around_prediction(metric, outcome, prediction, threshold)
    slope = terms.slope + 2.0 * terms.curvature * (outcome - terms.centre)[None, :]
    product = lambda each: each[:, None] * each[None, :]
    variances = variance[None, None, :]
    covariance = product(slope) * variances + 2.0 * product(terms.curvature) * variances**2
    return terms.mean(outcome, variance), covariance


def _summed(labels: Labels, metric: Metric, prediction, threshold) -> Moments:
    y, chance = labels
    column = jax.tree.map(lambda model: model[:, None], prediction)
    terms = metric.stack(y, column, threshold)
    mean = jnp.sum(terms * chance[None], axis=2)
    away = terms - mean[:, :, None]  # centred first, so that a constant has no spread
    return mean, jnp.sum(away[:, None] * away[None, :] * chance[None, None], axis=3)


def spread_along(
    covariance: Float[Any, "terms terms n"], slope: Float[np.ndarray, " terms"]
) -> Float[np.ndarray, " n"]:
    """Standard deviation of each row's terms along a slope."""
    variance = np.einsum("t,tsn,s->n", slope, np.asarray(covariance), slope)
    return np.sqrt(np.maximum(variance, 0.0))
