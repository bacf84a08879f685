"""The metrics that can be asked for by name: one row for each."""

from typing import Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands.metrics import MEAN, RATIO, Bounds, Combination, Metric, Terms
from labelwise.estimands.own import find_own
from labelwise.names import CLASS_ONLY, VERDICTS, check_estimand

UNIT: Bounds = (0.0, 1.0)
LEAST_CHANCE = 1e-6  # nearer to 0 and 1 a predicted chance costs no more: log-loss is finite


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


def _squared_error(y, p, _):
    return ((y - p) ** 2,)


def _log_loss(y, score, _):
    xp = y.__array_namespace__()
    score = xp.clip(score, LEAST_CHANCE, 1.0 - LEAST_CHANCE)
    return (-(y * xp.log(score) + (1.0 - y) * xp.log1p(-score)),)


def _called(terms: Any) -> Terms:
    """Terms from labels and from who is called positive: 1 where scores reach a threshold."""
    return lambda y, score, threshold: terms(y, (score >= threshold) * 1.0)


# What metrics have in common.
_DISTANCE: dict[str, Any] = {"better": "lower", "range": (0.0, None), "invariance": "row"}
_STRAIGHT: dict[str, Any] = {"degree": 1, "convex": True}
_OF_CHANCES: dict[str, Any] = {"labels": "binary", "better": "lower", "probability": True}
_AT_THRESHOLD: dict[str, Any] = {
    "thresholded": True,
    "labels": "binary",
    "range": UNIT,
    "degree": 1,
}

_ROWS = [
    Metric(
        "mse",
        "mean squared error",
        "The expected squared distance of a label from the prediction: of 0/1 labels, the "
        "Brier score.",
        _squared_error,
        degree=2,
        convex=True,
        **_DISTANCE,
    ),
    Metric(
        "mae",
        "mean absolute error",
        "The expected distance of a label from the prediction, label noise included.",
        lambda y, p, _: (abs(y - p),),
        convex=True,
        **_DISTANCE,
        expected=lambda likelihood, f, p: likelihood.absolute_error(f, p),
    ),
    Metric(
        "bias",
        "bias (mean of prediction minus label)",
        "The predictor's bias, prediction minus label: positive where it predicts too much.",
        lambda y, p, _: (p - y,),
        invariance="row",
        **_STRAIGHT,
    ),
    Metric(
        "r2",
        "R²",
        "1 - MSE / Var[label]: the share of the labels' variance that the predictor explains. "
        "The variance is over the target: that of E[label] plus that of labels given f.",
        lambda y, p, _: ((y - p) ** 2, y, y**2),
        Combination("smooth", 3, r_squared, r_squared_slope),
        better="higher",
        range=(None, 1.0),
        degree=2,
        invariance="shift",
    ),
    Metric(
        "mean",
        "mean outcome",
        "The average label in the target population; of 0/1 labels, the share of ones.",
        lambda y, p, _: (y,),
        needs=None,
        **_STRAIGHT,
    ),
    Metric(
        "positive-rate",
        "share of positives",
        "The share of ones.",
        lambda y, p, _: (y,),
        needs=None,
        labels="binary",
        range=UNIT,
        degree=1,
    ),
    Metric(
        "accuracy",
        "accuracy",
        "The chance that a row is classified rightly.",
        _called(lambda y, c: (c * y + (1.0 - c) * (1.0 - y),)),
        better="higher",
        **_AT_THRESHOLD,
    ),
    Metric(
        "error-rate",
        "error rate",
        "The chance that a row is classified wrongly.",
        _called(lambda y, c: (c * (1.0 - y) + (1.0 - c) * y,)),
        better="lower",
        **_AT_THRESHOLD,
    ),
    Metric(
        "recall",
        "recall",
        "The share of ones that are called positive.",
        _called(lambda y, c: (c * y, y)),
        RATIO,
        better="higher",
        **_AT_THRESHOLD,
    ),
    Metric(
        "precision",
        "precision",
        "The share of ones among rows called positive; how many these are is known.",
        _called(lambda y, c: (c * y, c)),
        RATIO,
        better="higher",
        known_whole=True,
        **_AT_THRESHOLD,
    ),
    Metric(
        "f1",
        "F1 score",
        "The harmonic mean of precision and recall: 2 TP / (called positive + ones).",
        _called(lambda y, c: (2.0 * c * y, c + y)),
        RATIO,
        better="higher",
        **_AT_THRESHOLD,
    ),
    Metric(
        "specificity",
        "specificity",
        "The share of zeros that are called negative.",
        _called(lambda y, c: ((1.0 - c) * (1.0 - y), 1.0 - y)),
        RATIO,
        better="higher",
        **_AT_THRESHOLD,
    ),
    Metric(
        "false-positive-rate",
        "false-positive rate",
        "The share of zeros that are called positive.",
        _called(lambda y, c: (c * (1.0 - y), 1.0 - y)),
        RATIO,
        better="lower",
        **_AT_THRESHOLD,
    ),
    Metric(
        "brier",
        "Brier score",
        "The mean squared distance of a 0/1 label from its predicted probability.",
        _squared_error,
        range=UNIT,
        degree=2,
        invariance="row",
        **_OF_CHANCES,
    ),
    Metric(
        "log-loss",
        "log-loss",
        "Minus the mean log-probability that the predictor gave to the label.",
        _log_loss,
        range=(0.0, None),
        **_STRAIGHT,
        **_OF_CHANCES,
    ),
]

# The outcome if untreated and if treated are what is foreseen of a unit.
_ARMS = Combination("mean", 2, MEAN.value, lambda means: np.array([1.0, 0.0]))
_ROWS += [
    Metric(name, title, combination=_ARMS, needs="treatment")
    for name, title in (
        ("ate", "average treatment effect"),
        ("att", "average treatment effect on the treated"),
    )
]

ESTIMANDS: dict[str, Metric] = {metric.name: metric for metric in _ROWS}


def find_metric(name: Any) -> Metric:
    """The metric of this name, or a user's own by its import path "module:function"."""
    if isinstance(name, str) and ":" in name:
        return find_own(name)
    check_estimand(name)
    if name in CLASS_ONLY:
        raise InvalidInput(
            f"The estimand {name!r} is of labels that are classes",
            "name them: labels in words, or classes=",
            where="estimand",
        )
    if name in VERDICTS:
        raise InvalidInput(
            f"The estimand {name!r} is of two verdicts a row",
            "name the column of the second model's, second_label",
            where="estimand",
        )
    return ESTIMANDS[name]
