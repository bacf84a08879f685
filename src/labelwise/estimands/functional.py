"""Metrics that no few means give: numbers of all rows' labels together, such as AUC.

A functional T takes the labels y of all rows, weights w that sum to one, and predictions. Where
labels are not known it is answered by its influence: to first order

    T(ŷ) - T(y) = Σ w_j (ψ_j(ŷ_j) - ψ_j(y_j)),

so that drawn rows put ψ into their estimates as they put the terms of a mean, and ψ's spread by
the belief says how far off a row may be. [1]

[1] Deville (1999), Variance estimation for complex statistics and estimators: linearization and
residual techniques.
"""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# From a function of labels and one of predicted terms to a row's mean of the two, by whatever
# is known of the row: its label, or what was predicted of its terms.
RowMeans = Callable[[Callable[[Any], Any], Callable[[np.ndarray], Any]], np.ndarray]


LEAST = 1e-12  # a smaller whole is nobody


def share_of(part: Any, whole: Any) -> Any:
    """A part of a whole. Of nobody it is NaN; where JAX plans with it, 0."""
    xp = whole.__array_namespace__()
    some = whole > LEAST
    return xp.where(some, part / xp.where(some, whole, 1.0), np.nan if xp is np else 0.0)


class AbstractInfluence(abc.ABC):
    """ψ of every row, at what is known now."""

    value: float  # of the functional there

    @abc.abstractmethod
    def of_labels(self, y: np.ndarray) -> np.ndarray:
        """ψ of a label for each row."""

    @abc.abstractmethod
    def of_terms(self, terms: np.ndarray) -> np.ndarray:
        """What is expected of ψ, from what is expected of the terms, terms × rows."""

    @abc.abstractmethod
    def spread(self, terms: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """How far ψ may be from that, given the covariance of each row's terms."""


class AbstractFunctional(abc.ABC):
    """A number of labels, over the last axis, weights and predictions; numpy or JAX."""

    @abc.abstractmethod
    def value(self, y: Any, weight: Any, prediction: Any) -> Any:
        """T of labels; not finite where it is not defined."""

    @abc.abstractmethod
    def expected(self, f: Any, likelihood: Any, weight: Any, prediction: Any) -> Any:
        """T of a population with this function, whose labels have their law given it."""

    @abc.abstractmethod
    def influence(
        self, means: RowMeans, weight: np.ndarray, prediction: Any
    ) -> AbstractInfluence:
        """ψ at what is known of the rows."""


@dataclass(frozen=True)
class SlopeInfluence(AbstractInfluence):
    """ψ_j(y) = slope_j y: of labels 0 and 1, whose one term is the label."""

    value: float
    slope: np.ndarray

    def of_labels(self, y):
        return self.slope * y

    def of_terms(self, terms):
        return self.slope * terms[0]

    def spread(self, terms, covariance):
        return np.abs(self.slope) * np.sqrt(np.maximum(covariance[0, 0], 0.0))


@dataclass(frozen=True)
class BinaryFunctional(AbstractFunctional):
    """Of labels 0 and 1, or of their chances: `gradient` is ∂T/∂(w_j y_j)."""

    number: Callable[[Any, Any, Any], Any]
    gradient: Callable[[np.ndarray, np.ndarray, Any], np.ndarray]

    def value(self, y, weight, prediction):
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.number(y, weight, prediction)

    def expected(self, f, likelihood, weight, prediction):
        chance = likelihood.mean(f)
        xp = chance.__array_namespace__()
        return self.number(xp.clip(chance, 0.0, 1.0), weight, prediction)

    def influence(self, means, weight, prediction):
        y = means(lambda y: y, lambda terms: terms[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(self.number(y, weight, prediction))
            return SlopeInfluence(value, self.gradient(y, weight, prediction))

    def compared(self) -> "BinaryFunctional":
        """That of one model less that of another, from a pair of predictions."""
        apart = lambda of: (
            lambda y, weight, pair: of(y, weight, pair[0]) - of(y, weight, pair[1])
        )
        return BinaryFunctional(apart(self.number), apart(self.gradient))
