"""Estimands by name, with what a person should be told of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands import classification as metrics
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.effect import AverageTreatmentEffect
from labelwise.estimands.loss import (
    MeanAbsoluteError,
    MeanError,
    MeanSquaredError,
    RSquared,
)
from labelwise.estimands.outcome import MeanOutcome

Bounds = tuple[float | None, float | None]
UNIT: Bounds = (0.0, 1.0)


class About(NamedTuple):
    """The target, as an estimand is built on it."""

    x: Any
    mass: Any = None
    where: Any = None  # rows that count; None: all
    prediction: Any = None
    threshold: float | None = None
    treatment: int | None = None  # column of x


@dataclass(frozen=True)
class Entry:
    """An estimand that can be asked for by name."""

    title: str
    build: Callable[[About], AbstractEstimand]
    # Between which values it lies: from the bounds of a label, the predictions and the mass.
    bounds: Callable[[float | None, float | None, Any, Any], Bounds]
    needs: Literal["prediction", "treatment"] | None = "prediction"
    thresholded: bool = False
    binary: bool = False  # labels must be 0 or 1
    better: Literal["lower", "higher"] | None = None

    @property
    def needs_prediction(self) -> bool:
        return self.needs == "prediction"


def _loss(kind: Any) -> Callable[[About], AbstractEstimand]:
    return lambda about: kind(about.x, about.prediction, about.mass, about.where)


def _metric(kind: Any) -> Callable[[About], AbstractEstimand]:
    def build(about: About) -> AbstractEstimand:
        threshold = 0.5 if about.threshold is None else about.threshold
        return kind(about.x, about.prediction, threshold, about.mass, about.where)

    return build


def _effect(about: About) -> AbstractEstimand:
    return AverageTreatmentEffect(about.x, about.treatment, about.mass, about.where)


def _largest(power: int):
    """The mean loss if every label were as far from its prediction as it can be."""

    def bounds(low, high, prediction, mass) -> Bounds:
        if low is None or high is None:
            return 0.0, None
        away = np.maximum(np.abs(prediction - low), np.abs(prediction - high))
        return 0.0, float(np.average(away**power, weights=mass))

    return bounds


def _bias_bounds(low, high, prediction, mass) -> Bounds:
    mean = float(np.average(prediction, weights=mass))
    return None if high is None else mean - high, None if low is None else mean - low


def _effect_bounds(low, high, prediction, mass) -> Bounds:
    return (None, None) if low is None or high is None else (low - high, high - low)


def _in_unit(*_: Any) -> Bounds:
    return UNIT


def _share(title: str, kind: Any, better: Literal["lower", "higher"]) -> Entry:
    """A metric of 0/1 labels at a threshold."""
    return Entry(title, _metric(kind), _in_unit, thresholded=True, binary=True, better=better)


ESTIMANDS: dict[str, Entry] = {
    "mse": Entry("mean squared error", _loss(MeanSquaredError), _largest(2), better="lower"),
    "mae": Entry("mean absolute error", _loss(MeanAbsoluteError), _largest(1), better="lower"),
    "bias": Entry("bias (mean of prediction minus label)", _loss(MeanError), _bias_bounds),
    "r2": Entry("R²", _loss(RSquared), lambda *_: (None, 1.0), better="higher"),
    "mean": Entry(
        "mean outcome",
        lambda about: MeanOutcome(about.x, about.mass, about.where),
        lambda low, high, prediction, mass: (low, high),
        needs=None,
    ),
    "positive-rate": Entry(
        "share of positives",
        lambda about: MeanOutcome(about.x, about.mass, about.where),
        _in_unit,
        needs=None,
        binary=True,
    ),
    "accuracy": _share("accuracy", metrics.Accuracy, "higher"),
    "error-rate": _share("error rate", metrics.ErrorRate, "lower"),
    "recall": _share("recall", metrics.Recall, "higher"),
    "precision": _share("precision", metrics.Precision, "higher"),
    "f1": _share("F1 score", metrics.F1Score, "higher"),
    "specificity": _share("specificity", metrics.Specificity, "higher"),
    "false-positive-rate": _share("false-positive rate", metrics.FalsePositiveRate, "lower"),
    "brier": Entry(
        "Brier score", _loss(metrics.BrierScore), _in_unit, binary=True, better="lower"
    ),
    "log-loss": Entry(
        "log-loss",
        _loss(metrics.LogLoss),
        lambda *_: (0.0, None),
        binary=True,
        better="lower",
    ),
    "ate": Entry("average treatment effect", _effect, _effect_bounds, needs="treatment"),
    "att": Entry(
        "average treatment effect on the treated", _effect, _effect_bounds, needs="treatment"
    ),
}


def find_estimand(name: Any) -> Entry:
    """The entry of this name."""
    if not isinstance(name, str) or name not in ESTIMANDS:
        raise InvalidInput(
            f"There is no estimand {name!r}",
            f"choose from {', '.join(ESTIMANDS)}",
            where="estimand",
        )
    return ESTIMANDS[name]
