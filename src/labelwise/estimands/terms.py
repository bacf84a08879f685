"""Estimands as functions of means over rows: the form in which labels answer for themselves.

A row's label and prediction give one number, its loss, or a few, the terms. The estimand is the
mean of the loss, the ratio of two means, or a smooth function of several. No belief enters, so
drawn rows can estimate these means whatever the belief is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

LEAST_CHANCE = 1e-6  # as log-loss counts it

Kind = Literal["mean", "ratio", "smooth"]
# From labels, predictions and the threshold to the terms, one after another.
Of = Callable[[Any, Any, Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Terms:
    """What of each row is averaged, and what is made of the averages."""

    count: int
    of: Of
    combine: Callable[[Any], Any] = lambda means: means[0]
    kind: Kind = "mean"

    def stack(self, y: Any, prediction: Any, threshold: Any) -> Float[Array, "terms ..."]:
        """The terms of labels; predictions are broadcast to them."""
        found = self.of(y, prediction, 0.5 if threshold is None else threshold)
        return jnp.stack([jnp.broadcast_to(one, jnp.shape(y)) for one in found])

    def slope(self, means: Any) -> Float[Array, " terms"]:
        """How the estimand moves with each mean."""
        return jax.grad(lambda at: self.combine(at))(jnp.asarray(means, float))


def ratio(means: Any) -> Any:
    return means[0] / means[1]


def _r_squared(means: Any) -> Any:
    error, mean, square = means
    variance = square - mean**2
    return jnp.where(variance > 0.0, 1.0 - error / variance, jnp.nan)


def _called(prediction, threshold):
    return (prediction >= threshold) * 1.0


def _log_loss(y, score, _):
    score = jnp.clip(score, LEAST_CHANCE, 1.0 - LEAST_CHANCE)
    return (-(y * jnp.log(score) + (1.0 - y) * jnp.log1p(-score)),)


def _at_threshold(of: Callable[[Any, Any], tuple[Any, ...]]) -> Of:
    return lambda y, prediction, threshold: of(y, _called(prediction, threshold))


def _mean(of: Of) -> Terms:
    return Terms(1, of)


def _ratio(of: Callable[[Any, Any], tuple[Any, ...]]) -> Terms:
    return Terms(2, _at_threshold(of), ratio, "ratio")


TERMS: dict[str, Terms] = {
    "mse": _mean(lambda y, p, _: ((y - p) ** 2,)),
    "mae": _mean(lambda y, p, _: (jnp.abs(y - p),)),
    "bias": _mean(lambda y, p, _: (p - y,)),
    "r2": Terms(3, lambda y, p, _: ((y - p) ** 2, y, y**2), _r_squared, "smooth"),
    "mean": _mean(lambda y, p, _: (y,)),
    "positive-rate": _mean(lambda y, p, _: (y,)),
    "accuracy": _mean(_at_threshold(lambda y, c: (c * y + (1.0 - c) * (1.0 - y),))),
    "error-rate": _mean(_at_threshold(lambda y, c: (c * (1.0 - y) + (1.0 - c) * y,))),
    "recall": _ratio(lambda y, c: (c * y, y)),
    # How many rows are called positive is known, so this ratio varies by its upper part alone.
    "precision": _ratio(lambda y, c: (c * y, c)),
    "f1": _ratio(lambda y, c: (2.0 * c * y, c + y)),
    "specificity": _ratio(lambda y, c: ((1.0 - c) * (1.0 - y), 1.0 - y)),
    "false-positive-rate": _ratio(lambda y, c: (c * (1.0 - y), 1.0 - y)),
    "brier": _mean(lambda y, p, _: ((y - p) ** 2,)),
    "log-loss": _mean(_log_loss),
}


def compared(terms: Terms) -> Terms:
    """Of one model less of another; predictions come as a pair."""

    def of(y, predictions, threshold):
        first, second = (terms.of(y, one, threshold) for one in predictions)
        if terms.kind == "mean":
            return (first[0] - second[0],)
        return (*first, *second)

    if terms.kind == "mean":
        return Terms(1, of)
    count = terms.count
    combine = lambda means: terms.combine(means[:count]) - terms.combine(means[count:])
    return Terms(2 * count, of, combine, "smooth")
