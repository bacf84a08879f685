"""The metrics of the catalogue as library users build them: `Recall(x, predictor, 0.3)`.

All take target rows `x`, their `mass` (equal if None) and `where`, which marks the rows that
count. `predictor` is a function of the rows, their predictions, or one number.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from labelwise.estimands.base import AbstractEstimand, LinearEstimand, QuadraticEstimand
from labelwise.estimands.catalogue import ESTIMANDS
from labelwise.estimands.forms import FunctionalEstimand, TermsEstimand, build_estimand

Build = TypeVar("Build", bound=Callable[..., AbstractEstimand])
Form = TypeVar("Form", bound=AbstractEstimand)


def _named(build: Build, metric_name: str, name: str) -> Build:
    build.__name__ = build.__qualname__ = name
    build.__doc__ = ESTIMANDS[metric_name].about
    return build


def _build(form: type[Form], metric_name: str, x: Any, **given: Any) -> Form:
    estimand = build_estimand(ESTIMANDS[metric_name], x, **given)
    assert isinstance(estimand, form)  # for type checkers
    return estimand


def _loss(form: type[Form], metric_name: str, name: str):
    def build(x: Any, predictor: Any = 0.0, mass: Any = None, where: Any = None) -> Form:
        return _build(form, metric_name, x, predictor=predictor, mass=mass, where=where)

    return _named(build, metric_name, name)


def _score(form: type[Form], metric_name: str, name: str):
    def build(x: Any, predictor: Any, mass: Any = None, where: Any = None) -> Form:
        given = {"predictor": predictor, "mass": mass, "where": where}
        return _build(form, metric_name, x, **given)

    return _named(build, metric_name, name)


def _at_threshold(form: type[Form], metric_name: str, name: str):
    def build(
        x: Any, predictor: Any, threshold: Any = 0.5, mass: Any = None, where: Any = None
    ) -> Form:
        given = {"predictor": predictor, "threshold": threshold, "mass": mass, "where": where}
        return _build(form, metric_name, x, **given)

    return _named(build, metric_name, name)


def ShareWithin(
    x: Any, predictor: Any, tolerance: Any, mass: Any = None, where: Any = None
) -> AbstractEstimand:
    """The share of labels that are no further from the prediction than the tolerance."""
    given = {"predictor": predictor, "threshold": tolerance, "mass": mass, "where": where}
    return build_estimand(ESTIMANDS["within"], x, **given)


def QuantileLoss(
    x: Any, predictor: Any, quantile: Any = 0.5, mass: Any = None, where: Any = None
) -> TermsEstimand:
    """The pinball loss of predictions that are to be this quantile of the label."""
    given = {"predictor": predictor, "threshold": quantile, "mass": mass, "where": where}
    return _build(TermsEstimand, "quantile-loss", x, **given)


def MeanOutcome(x: Any, mass: Any = None, where: Any = None) -> LinearEstimand:
    """The average label in the target population; of 0/1 labels, the share of ones."""
    return _build(LinearEstimand, "mean", x, mass=mass, where=where)


MeanSquaredError = _loss(QuadraticEstimand, "mse", "MeanSquaredError")
MeanAbsoluteError = _loss(TermsEstimand, "mae", "MeanAbsoluteError")
MeanError = _loss(LinearEstimand, "bias", "MeanError")
RSquared = _loss(TermsEstimand, "r2", "RSquared")
MedianAbsoluteError = _loss(FunctionalEstimand, "median-error", "MedianAbsoluteError")
BrierScore = _score(LinearEstimand, "brier", "BrierScore")
LogLoss = _score(LinearEstimand, "log-loss", "LogLoss")
AreaUnderCurve = _score(FunctionalEstimand, "auc", "AreaUnderCurve")
AveragePrecision = _score(FunctionalEstimand, "average-precision", "AveragePrecision")
CalibrationError = _score(TermsEstimand, "ece", "CalibrationError")
CalibrationSlope = _score(FunctionalEstimand, "calibration-slope", "CalibrationSlope")
CalibrationIntercept = _score(
    FunctionalEstimand, "calibration-intercept", "CalibrationIntercept"
)
Accuracy = _at_threshold(LinearEstimand, "accuracy", "Accuracy")
ErrorRate = _at_threshold(LinearEstimand, "error-rate", "ErrorRate")
Recall = _at_threshold(TermsEstimand, "recall", "Recall")
Precision = _at_threshold(LinearEstimand, "precision", "Precision")
F1Score = _at_threshold(TermsEstimand, "f1", "F1Score")
Specificity = _at_threshold(TermsEstimand, "specificity", "Specificity")
BalancedAccuracy = _at_threshold(TermsEstimand, "balanced-accuracy", "BalancedAccuracy")
MatthewsCorrelation = _at_threshold(TermsEstimand, "mcc", "MatthewsCorrelation")
FalsePositiveRate = _at_threshold(TermsEstimand, "false-positive-rate", "FalsePositiveRate")
