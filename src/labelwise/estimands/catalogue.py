"""The metrics that can be asked for by name: one row for each."""

from dataclasses import replace
from typing import Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands.calibration import (
    CALIBRATION_ERROR,
    CALIBRATION_INTERCEPT,
    CALIBRATION_SLOPE,
    LEAST_CHANCE,
    bin_terms,
)
from labelwise.estimands.functional import LEAST, share_of
from labelwise.estimands.metrics import MEAN, ONE, RATIO, Bounds, Combination, Metric, Terms
from labelwise.estimands.own import find_own
from labelwise.estimands.quantiles import MedianError, error_terms
from labelwise.estimands.ranks import AUC, AVERAGE_PRECISION
from labelwise.estimands.two_classes import OF_TWO
from labelwise.metric_words import METRICS
from labelwise.names import VERDICTS, check_estimand

UNIT: Bounds = (0.0, 1.0)


def _row(name: str, *parts: Any, **known: Any) -> Metric:
    """A metric with its words."""
    words = METRICS[name]
    given = dict(zip(("terms", "combination"), parts, strict=False))
    return Metric(name, words.title, words.about, **given | known)


def r_squared(means: Any) -> Any:
    """1 − A / (C − B²) of the means of A = (y − ψ)², B = y, C = y²; NaN if C ≤ B²."""
    error, outcome, square = means
    xp = means.__array_namespace__()
    variance = square - outcome**2
    varies = variance > 0.0
    return xp.where(varies, 1.0 - error / xp.where(varies, variance, 1.0), np.nan)


def r_squared_slope(means: np.ndarray) -> np.ndarray:
    """Derivatives of `r_squared` by A, B and C."""
    error, outcome, square = means
    variance = square - outcome**2
    if variance <= 0.0:
        return np.full(3, np.nan)
    return np.array([-variance, -2.0 * outcome * error, error]) / variance**2


def balanced_accuracy(means: Any) -> Any:
    """(A/B + C/(1 − B))/2 of the means of ones found, ones, and zeros found."""
    found, ones, zeros = means
    return 0.5 * (share_of(found, ones) + share_of(zeros, 1.0 - ones))


def balanced_accuracy_slope(means: np.ndarray) -> np.ndarray:
    """Derivatives of `balanced_accuracy`."""
    found, ones, zeros = means
    left = 1.0 - ones
    return 0.5 * np.array([1.0 / ones, zeros / left**2 - found / ones**2, 1.0 / left])


def matthews(means: Any) -> Any:
    """(A − BC) / √(B(1 − B)C(1 − C)) of the means of ones found, ones, and called positive.

    Where all are alike it is 0, as scikit-learn has it.
    """
    found, ones, called = means
    xp = means.__array_namespace__()
    area = ones * (1.0 - ones) * called * (1.0 - called)
    some = area > LEAST
    return xp.where(some, (found - ones * called) / xp.where(some, area, 1.0) ** 0.5, 0.0)


def matthews_slope(means: np.ndarray) -> np.ndarray:
    """Derivatives of `matthews`."""
    found, ones, called = means
    apart, area = found - ones * called, ones * (1.0 - ones) * called * (1.0 - called)
    bend = lambda share: 0.5 * apart * (1.0 - 2.0 * share) / (share * (1.0 - share))
    slopes = np.array([1.0, -called - bend(ones), -ones - bend(called)])
    return slopes / np.sqrt(area) if area > LEAST else np.zeros(3)


def _squared_error(y, p, _):
    return ((y - p) ** 2,)


def _log_loss(y, score, _):
    xp = y.__array_namespace__()
    score = xp.clip(score, LEAST_CHANCE, 1.0 - LEAST_CHANCE)
    return (-(y * xp.log(score) + (1.0 - y) * xp.log1p(-score)),)


def _called(terms: Any) -> Terms:
    """Terms from labels and from who is called positive: 1 where scores reach a threshold."""
    return lambda y, score, threshold: terms(y, (score >= threshold) * 1.0)


def _quantile_loss(y, p, quantile):
    away = y - p
    xp = y.__array_namespace__()
    return (xp.where(away >= 0.0, quantile * away, (quantile - 1.0) * away),)


# What metrics have in common.
_DISTANCE: dict[str, Any] = {"better": "lower", "range": (0.0, None), "invariance": "row"}
_STRAIGHT: dict[str, Any] = {"degree": 1, "convex": True}
_OF_CHANCES: dict[str, Any] = {"labels": "binary", "better": "lower", "probability": True}
_HIGH: dict[str, Any] = {"better": "higher"}
_AT_THRESHOLD: dict[str, Any] = {
    "option": "threshold",
    "labels": "binary",
    "range": UNIT,
    "degree": 1,
}
_OF_LABELS: dict[str, Any] = {  # a functional of 0/1 labels
    "terms": lambda y, p, _: (y,),
    "combination": ONE,
    "labels": "binary",
    "degree": 1,
}
_OF_RANKS: dict[str, Any] = {**_OF_LABELS, **_HIGH, "range": UNIT}
_LABEL: Terms = lambda y, p, _: (y,)

_ROWS = [
    _row("mse", _squared_error, degree=2, convex=True, **_DISTANCE),
    _row(
        "mae",
        lambda y, p, _: (abs(y - p),),
        convex=True,
        expected=lambda likelihood, f, p: likelihood.absolute_error(f, p),
        **_DISTANCE,
    ),
    _row(
        "median-error",
        error_terms,
        replace(ONE, count=2),
        functional=MedianError(),
        labels="numbers",
        degree=2,
        **_DISTANCE,
    ),
    _row(
        "within",
        lambda y, p, tolerance: ((abs(y - p) <= tolerance) * 1.0,),
        option="tolerance",
        breaks=lambda p, tolerance: (p - tolerance, p + tolerance),
        range=UNIT,
        invariance="row",
        **_HIGH,
    ),
    _row("quantile-loss", _quantile_loss, option="quantile", convex=True, **_DISTANCE),
    _row("bias", lambda y, p, _: (p - y,), invariance="row", **_STRAIGHT),
    _row(
        "r2",
        lambda y, p, _: ((y - p) ** 2, y, y**2),
        Combination("smooth", 3, r_squared, r_squared_slope),
        range=(None, 1.0),
        degree=2,
        invariance="shift",
        **_HIGH,
    ),
    _row("mean", _LABEL, needs=None, **_STRAIGHT),
    _row("positive-rate", _LABEL, needs=None, labels="binary", range=UNIT, degree=1),
    _row(
        "accuracy",
        _called(lambda y, c: (c * y + (1.0 - c) * (1.0 - y),)),
        **_HIGH,
        **_AT_THRESHOLD,
    ),
    _row(
        "balanced-accuracy",
        _called(lambda y, c: (c * y, y, (1.0 - c) * (1.0 - y))),
        Combination("smooth", 3, balanced_accuracy, balanced_accuracy_slope),
        **_HIGH,
        **_AT_THRESHOLD,
    ),
    _row(
        "error-rate",
        _called(lambda y, c: (c * (1.0 - y) + (1.0 - c) * y,)),
        better="lower",
        **_AT_THRESHOLD,
    ),
    _row("recall", _called(lambda y, c: (c * y, y)), RATIO, **_HIGH, **_AT_THRESHOLD),
    _row(
        "precision",
        _called(lambda y, c: (c * y, c)),
        RATIO,
        known_whole=True,
        **_HIGH,
        **_AT_THRESHOLD,
    ),
    _row("f1", _called(lambda y, c: (2.0 * c * y, c + y)), RATIO, **_HIGH, **_AT_THRESHOLD),
    _row(
        "mcc",
        _called(lambda y, c: (c * y, y, c)),
        Combination("smooth", 3, matthews, matthews_slope),
        **_HIGH,
        **_AT_THRESHOLD | {"range": (-1.0, 1.0)},
    ),
    *(
        _row(
            name,
            _called(lambda y, c: (c * y, y, c)),
            combination,
            **_HIGH,
            **_AT_THRESHOLD | {"range": (-1.0, 1.0) if name == "kappa" else UNIT},
        )
        for name, combination in OF_TWO.items()
    ),
    _row(
        "specificity",
        _called(lambda y, c: ((1.0 - c) * (1.0 - y), 1.0 - y)),
        RATIO,
        **_HIGH,
        **_AT_THRESHOLD,
    ),
    _row(
        "false-positive-rate",
        _called(lambda y, c: (c * (1.0 - y), 1.0 - y)),
        RATIO,
        better="lower",
        **_AT_THRESHOLD,
    ),
    _row("auc", functional=AUC, **_OF_RANKS),
    _row("average-precision", functional=AVERAGE_PRECISION, **_OF_RANKS),
    _row("brier", _squared_error, range=UNIT, degree=2, invariance="row", **_OF_CHANCES),
    _row("log-loss", _log_loss, range=(0.0, None), **_STRAIGHT, **_OF_CHANCES),
    _row("ece", bin_terms, CALIBRATION_ERROR, range=UNIT, degree=1, **_OF_CHANCES),
    _row("calibration-slope", functional=CALIBRATION_SLOPE, probability=True, **_OF_LABELS),
    _row(
        "calibration-intercept",
        functional=CALIBRATION_INTERCEPT,
        probability=True,
        **_OF_LABELS,
    ),
]

# The outcome if untreated and if treated are what is foreseen of a unit.
_ARMS = Combination("mean", 2, MEAN.value, lambda means: np.array([1.0, 0.0]))
_ROWS += [_row(name, combination=_ARMS, needs="treatment") for name in ("ate", "att")]

ESTIMANDS: dict[str, Metric] = {metric.name: metric for metric in _ROWS}


def find_metric(name: Any) -> Metric:
    """The metric of this name, or a user's own by its import path "module:function"."""
    if isinstance(name, str) and ":" in name:
        return find_own(name)
    check_estimand(name)
    if name == "confusion":
        raise InvalidInput(
            f"The estimand {name!r} is of labels that are classes",
            "name them (columns.classes) in a campaign",
            where="estimand",
        )
    if name in VERDICTS:
        raise InvalidInput(
            f"The estimand {name!r} is of two verdicts a row",
            "name the column of the second model's, as --second-label theirs",
            where="estimand",
        )
    return ESTIMANDS[name]
