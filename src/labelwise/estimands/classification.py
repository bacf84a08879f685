"""How well a classifier's scores agree with 0/1 labels, at a threshold or as probabilities.

A row is called positive where its score reaches the threshold. Labels enter by their chance
of being 1 under a draw of the function: the expectation over labels is exact, given the draw.
Where the denominator does not depend on labels the metric is linear in these chances, and has
exact moments under a Gaussian belief about them; recall, specificity and F1 are ratios.
"""

import abc
from typing import Any

import jax.numpy as jnp
import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands.base import LinearEstimand, RatioEstimand
from labelwise.estimands.target import as_prediction, as_probability, as_target
from labelwise.inputs import as_scalar, is_traced

# Classes below name the constructor they share, since a dataclass without one of its own is
# taken by type checkers to be built from its fields.

# Probabilities closer to 0 and 1 than this cost no more: log-loss stays finite.
LEAST_CHANCE = 1e-6


class _LinearAtThreshold(LinearEstimand):
    """A metric at a threshold that is linear in the chances of a 1."""

    def __init__(
        self,
        x: Any,
        predictor: Any,
        threshold: Any = 0.5,
        mass: Any = None,
        where: Any = None,
    ):
        self.x, self.mass = as_target(x, mass, where)
        positive = called_positive(predictor, x, threshold)
        self.slope, self.offset = self._terms(self.mass, positive)

    @staticmethod
    @abc.abstractmethod
    def _terms(mass: Any, positive: Any) -> tuple[Any, Any]:
        """Slope and offset."""


class Accuracy(_LinearAtThreshold):
    """The chance that a row is classified rightly."""

    __init__ = _LinearAtThreshold.__init__

    @staticmethod
    def _terms(mass, positive):
        return mass * (2.0 * positive - 1.0), mass @ (1.0 - positive)


class ErrorRate(_LinearAtThreshold):
    """The chance that a row is classified wrongly."""

    __init__ = _LinearAtThreshold.__init__

    @staticmethod
    def _terms(mass, positive):
        return mass * (1.0 - 2.0 * positive), mass @ positive


class Precision(LinearEstimand):
    """The share of ones among rows called positive; how many these are is known."""

    def __init__(
        self,
        x: Any,
        predictor: Any,
        threshold: Any = 0.5,
        mass: Any = None,
        where: Any = None,
    ):
        self.x, self.mass = as_target(x, mass, where)
        called = self.mass * called_positive(predictor, x, threshold)
        if not is_traced(called) and not np.asarray(called).any():
            raise InvalidInput(
                f"No target row reaches the threshold {float(threshold):g}, so precision is "
                "not defined",
                "lower the threshold",
                where="threshold",
            )
        self.slope, self.offset = called / called.sum(), jnp.zeros(())


class BrierScore(LinearEstimand):
    """The mean squared distance of a 0/1 label from its predicted probability."""

    def __init__(self, x: Any, predictor: Any, mass: Any = None, where: Any = None):
        self.x, self.mass = as_target(x, mass, where)
        score = as_probability(predictor, x)
        self.slope = self.mass * (1.0 - 2.0 * score)
        self.offset = self.mass @ score**2


class LogLoss(LinearEstimand):
    """Minus the mean log-probability that the predictor gave to the label."""

    def __init__(self, x: Any, predictor: Any, mass: Any = None, where: Any = None):
        self.x, self.mass = as_target(x, mass, where)
        score = jnp.clip(as_probability(predictor, x), LEAST_CHANCE, 1.0 - LEAST_CHANCE)
        self.slope = self.mass * (jnp.log1p(-score) - jnp.log(score))
        self.offset = -self.mass @ jnp.log1p(-score)


class _RatioAtThreshold(RatioEstimand):
    """A metric at a threshold whose parts both depend on the chances of a 1."""

    def __init__(
        self,
        x: Any,
        predictor: Any,
        threshold: Any = 0.5,
        mass: Any = None,
        where: Any = None,
    ):
        self.x, self.mass = as_target(x, mass, where)
        positive = called_positive(predictor, x, threshold)
        part, whole = self._terms(self.mass, positive)
        self.part, self.part_offset = part
        self.whole, self.whole_offset = whole

    @staticmethod
    @abc.abstractmethod
    def _terms(mass: Any, positive: Any) -> tuple[Any, Any]:
        """Slope and offset of the part, and of the whole."""


class Recall(_RatioAtThreshold):
    """The share of ones that are called positive."""

    __init__ = _RatioAtThreshold.__init__

    @staticmethod
    def _terms(mass, positive):
        return (mass * positive, jnp.zeros(())), (mass, jnp.zeros(()))


class Specificity(_RatioAtThreshold):
    """The share of zeros that are called negative."""

    __init__ = _RatioAtThreshold.__init__

    @staticmethod
    def _terms(mass, positive):
        negative = mass * (1.0 - positive)
        return (-negative, negative.sum()), (-mass, jnp.ones(()))


class FalsePositiveRate(_RatioAtThreshold):
    """The share of zeros that are called positive."""

    __init__ = _RatioAtThreshold.__init__

    @staticmethod
    def _terms(mass, positive):
        called = mass * positive
        return (-called, called.sum()), (-mass, jnp.ones(()))


class F1Score(_RatioAtThreshold):
    """The harmonic mean of precision and recall: 2 TP / (called positive + ones)."""

    __init__ = _RatioAtThreshold.__init__

    @staticmethod
    def _terms(mass, positive):
        called = mass * positive
        return (2.0 * called, jnp.zeros(())), (mass, called.sum())


def called_positive(predictor: Any, x: Any, threshold: Any) -> Any:
    """1 where the score reaches the threshold, else 0."""
    return (as_prediction(predictor, x) >= as_scalar("threshold", threshold)).astype(float)
