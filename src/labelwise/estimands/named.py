"""The metrics of the catalogue as library users build them: `Recall(x, predictor, 0.3)`.

All take target rows `x`, their `mass` (equal if None) and `where`, which marks the rows that
count. `predictor` is a function of the rows, their predictions, or one number.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from labelwise.estimands.base import AbstractEstimand, LinearEstimand, QuadraticEstimand
from labelwise.estimands.catalogue import ESTIMANDS
from labelwise.estimands.forms import TermsEstimand, build_estimand

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


def _score(metric_name: str, name: str):
    def build(x: Any, predictor: Any, mass: Any = None, where: Any = None) -> LinearEstimand:
        given = {"predictor": predictor, "mass": mass, "where": where}
        return _build(LinearEstimand, metric_name, x, **given)

    return _named(build, metric_name, name)


def _at_threshold(form: type[Form], metric_name: str, name: str):
    def build(
        x: Any, predictor: Any, threshold: Any = 0.5, mass: Any = None, where: Any = None
    ) -> Form:
        given = {"predictor": predictor, "threshold": threshold, "mass": mass, "where": where}
        return _build(form, metric_name, x, **given)

    return _named(build, metric_name, name)


def MeanOutcome(x: Any, mass: Any = None, where: Any = None) -> LinearEstimand:
    """The average label in the target population; of 0/1 labels, the share of ones."""
    return _build(LinearEstimand, "mean", x, mass=mass, where=where)


MeanSquaredError = _loss(QuadraticEstimand, "mse", "MeanSquaredError")
MeanAbsoluteError = _loss(TermsEstimand, "mae", "MeanAbsoluteError")
MeanError = _loss(LinearEstimand, "bias", "MeanError")
RSquared = _loss(TermsEstimand, "r2", "RSquared")
BrierScore = _score("brier", "BrierScore")
LogLoss = _score("log-loss", "LogLoss")
Accuracy = _at_threshold(LinearEstimand, "accuracy", "Accuracy")
ErrorRate = _at_threshold(LinearEstimand, "error-rate", "ErrorRate")
Recall = _at_threshold(TermsEstimand, "recall", "Recall")
Precision = _at_threshold(LinearEstimand, "precision", "Precision")
F1Score = _at_threshold(TermsEstimand, "f1", "F1Score")
Specificity = _at_threshold(TermsEstimand, "specificity", "Specificity")
FalsePositiveRate = _at_threshold(TermsEstimand, "false-positive-rate", "FalsePositiveRate")
