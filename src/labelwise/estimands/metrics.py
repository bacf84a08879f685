"""A metric, said once: what a row's label contributes, and what is made of the means.

A row's label and prediction give one number, its loss, or a few: its terms. The metric is the
mean of the loss, the ratio of two means, or a smooth function of several; or, as AUC, a
functional of all labels, whose terms say what is to be foreseen of a row. Drawn rows put their
labels into the terms as they are; what a belief says of the metric follows from the same terms
(see `forms` and `predictive`).

Terms work on numpy arrays and on JAX's alike, traced or not: they are written with operators,
and take functions from `y.__array_namespace__()`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands.functional import AbstractFunctional, BinaryFunctional

Kind = Literal["mean", "ratio", "smooth", "functional"]
Bounds = tuple[float | None, float | None]
# From labels, predictions and the threshold to the terms, one after another.
Terms = Callable[[Any, Any, Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Combination:
    """From the means of the terms to the number, and how it moves with each mean."""

    kind: Kind
    count: int  # terms
    value: Callable[[Any], Any]
    slope: Callable[[np.ndarray], np.ndarray]
    # Where noise in the means would bias the number: from the terms of draws, draws × terms,
    # predictions and mass of rows, to one number a draw, with the mean and the spread it has.
    settle: Callable[[np.ndarray, Any, np.ndarray], np.ndarray] | None = None


MEAN = Combination("mean", 1, lambda means: means[0], lambda means: np.ones(1))
RATIO = Combination(
    "ratio",
    2,
    lambda means: means[0] / means[1],
    lambda means: np.array([1.0 / means[1], -means[0] / means[1] ** 2]),
)
# Of a functional, whose draws are made a mean of by its influence.
ONE = Combination("functional", 1, lambda means: means[0], lambda means: np.ones(1))


def _no_terms(y: Any, prediction: Any, threshold: Any) -> tuple[Any, ...]:
    raise InvalidInput(
        "An effect is not a mean over labels", "see survey.effects", where="estimand"
    )


@dataclass(frozen=True)
class Metric:
    """A metric by name: its terms, and what a person should be told of it."""

    name: str
    title: str
    about: str = ""  # in a sentence
    terms: Terms = _no_terms
    combination: Combination = MEAN
    needs: Literal["prediction", "treatment"] | None = "prediction"
    # The question's option that terms depend on; at a threshold a score is called positive.
    option: Literal["threshold", "tolerance", "quantile"] | None = None
    labels: Literal["any", "binary", "numbers"] | int = "any"  # or of so many classes
    better: Literal["lower", "higher"] | None = None
    range: Bounds = (None, None)  # whatever labels and predictions are
    probability: bool = False  # predictions must be chances of a 1
    # What is known of the terms as functions of the label, each held to them by a test:
    degree: int | None = None  # polynomials of this degree, 1 or 2
    convex: bool = False  # so that they are largest at the ends of the labels' range
    # Adding a number to label and prediction changes nothing: in any one row, or in all alike.
    invariance: Literal["row", "shift"] | None = None
    known_whole: bool = False  # the ratio's denominator does not depend on labels
    # The first term's expectation given the function, from likelihood, f and prediction.
    expected: Callable[[Any, Any, Any], Any] | None = None
    functional: AbstractFunctional | None = None  # of all labels together
    # Labels at which terms have a corner or a step, from the prediction and the option.
    breaks: Callable[[Any, Any], tuple[Any, ...]] = lambda prediction, option: (prediction,)

    @property
    def thresholded(self) -> bool:
        return self.option == "threshold"

    @property
    def kind(self) -> Kind:
        return self.combination.kind

    @property
    def count(self) -> int:
        """How many terms a row has."""
        return self.combination.count

    @property
    def is_effect(self) -> bool:
        return self.needs == "treatment"

    @property
    def is_loss(self) -> bool:
        """Whether rows' terms are losses above 0, which a log scale may suit."""
        plain = self.kind == "mean" and not self.thresholded
        return plain and self.better == "lower" and self.range[0] == 0.0

    def stack(self, y: Any, prediction: Any, threshold: Any = None) -> Any:
        """The terms of labels, terms × labels; predictions are broadcast to them."""
        xp = y.__array_namespace__()
        terms = self.terms(y, prediction, 0.5 if threshold is None else threshold)
        return xp.stack([xp.broadcast_to(1.0 * term, y.shape) for term in terms])

    def breaks_of(self, predictions: Sequence[Any], option: Any) -> list[Any]:
        """For each of some models."""
        return [place for one in predictions for place in self.breaks(one, option)]

    def combine(self, means: Any) -> Any:
        """The number, from the means of the terms; not finite where it is not defined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.combination.value(means)

    def slope(self, means: Any) -> np.ndarray:
        """How the number moves with the mean of each term."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.combination.slope(np.asarray(means, float))

    def bounds(
        self, low: float | None, high: float | None, prediction: Any, mass: Any
    ) -> Bounds:
        """Between which values the number lies if labels lie between `low` and `high`."""
        if self.is_effect:
            return (None, None) if low is None or high is None else (low - high, high - low)
        if not self.convex or self.option == "quantile":
            return self.range
        low, high = (0.0, 1.0) if self.labels == "binary" else (low, high)
        rows = np.shape(mass if prediction is None else prediction) or (1,)
        ends = (-np.inf if low is None else low, np.inf if high is None else high)
        with np.errstate(invalid="ignore"):
            terms = [self.stack(np.full(rows, end), prediction)[0] for end in ends]
            largest = np.average(np.maximum(*terms), weights=mass)
            least = np.average(np.minimum(*terms), weights=mass)
        return (
            _finite(least) if self.degree == 1 and self.range[0] is None else self.range[0],
            _finite(largest) if self.range[1] is None else self.range[1],
        )


def _finite(number: Any) -> float | None:
    return float(number) if np.isfinite(number) else None


@cache
def compared(metric: Metric) -> Metric:
    """The metric of one model less that of another; predictions come as a pair."""
    if metric.functional is not None:
        return _compared_functionals(metric)
    plain, count = metric.combination, metric.count

    def terms(y, predictions, threshold):
        first, second = (metric.terms(y, model, threshold) for model in predictions)
        return (first[0] - second[0],) if plain.kind == "mean" else (*first, *second)

    apart = Combination(
        "smooth",
        2 * count,
        lambda means: plain.value(means[:count]) - plain.value(means[count:]),
        lambda means: np.concatenate([plain.slope(means[:count]), -plain.slope(means[count:])]),
    )
    combination = plain if plain.kind == "mean" else apart
    return replace(metric, terms=terms, combination=combination, expected=None)


def _compared_functionals(metric: Metric) -> Metric:
    """The same of metrics of all labels together: a label is foreseen once for both."""
    assert isinstance(metric.functional, BinaryFunctional)
    terms = lambda y, predictions, threshold: metric.terms(y, predictions[0], threshold)
    return replace(metric, terms=terms, functional=metric.functional.compared())
