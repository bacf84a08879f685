"""Differences of two estimands: the difference of their values, linear where it can be."""

import jax
import numpy as np
import pytest

from labelwise.errors import InvalidInput
from labelwise.estimands.base import LinearEstimand
from labelwise.estimands.combine import Several
from labelwise.estimands.comparison import difference
from labelwise.estimands.named import (
    Accuracy,
    BrierScore,
    LogLoss,
    MeanAbsoluteError,
    MeanSquaredError,
    Recall,
)
from labelwise.likelihoods import BernoulliLikelihood, GaussianLikelihood
from tests.estimands.chances import CHANCE, MASS, SCORE, SIZE, WHERE, X, function_of

RNG = np.random.default_rng(8)
OTHER = RNG.uniform(0.05, 0.95, SIZE)
LAWS = {
    "gaussian": (
        jax.device_put(RNG.normal(size=SIZE)),
        GaussianLikelihood(jax.device_put(np.float64(0.2))),
    ),
    "logit": (function_of(CHANCE), BernoulliLikelihood()),
    "probit": (jax.device_put(RNG.normal(size=SIZE)), BernoulliLikelihood("probit")),
}
TWO_MODELS = {
    "mse": (lambda score: MeanSquaredError(X, score, MASS), True),
    "accuracy": (lambda score: Accuracy(X, score, 0.5, MASS, WHERE), True),
    "brier": (lambda score: BrierScore(X, score, MASS), True),
    "log loss": (lambda score: LogLoss(X, score), True),
    "recall": (lambda score: Recall(X, score, 0.5, MASS), False),
    "mae": (lambda score: MeanAbsoluteError(X, score), False),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", TWO_MODELS)
def test_it_is_the_difference_of_the_values(name, law):
    build, linear = TWO_MODELS[name]
    first, second, (f, labels) = build(SCORE), build(OTHER), LAWS[law]
    both = difference(first, second)
    expected = float(first.value(f, labels)) - float(second.value(f, labels))
    assert float(both.value(f, labels)) == pytest.approx(expected, rel=1e-9, abs=1e-14)
    assert isinstance(both, LinearEstimand) == linear


def test_squared_errors_of_two_groups_do_not_cancel():
    """Their masses differ, so the squares of the function stay."""
    first = MeanSquaredError(X, SCORE, where=WHERE)
    second = MeanSquaredError(X, SCORE, where=~WHERE)
    both, (f, labels) = difference(first, second), LAWS["gaussian"]
    assert not isinstance(both, LinearEstimand)
    expected = float(first.value(f, labels)) - float(second.value(f, labels))
    assert abs(expected) > 1e-3
    assert float(both.value(f, labels)) == pytest.approx(expected, rel=1e-12)


def test_one_model_in_two_groups_differs_linearly_in_accuracy():
    both = difference(Accuracy(X, SCORE, where=WHERE), Accuracy(X, SCORE, where=~WHERE))
    assert isinstance(both, LinearEstimand)
    right = np.where(SCORE >= 0.5, CHANCE, 1 - CHANCE)
    expected = right[WHERE].mean() - right[~WHERE].mean()
    found = float(both.value(*LAWS["logit"]))
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: difference(Recall(X, SCORE), Recall(X[:5], SCORE[:5])),
            "Two estimands can be compared only on the same target rows",
        ),
        (
            lambda: difference(Recall(X, SCORE), Recall(X + 1.0, SCORE)),
            "Two estimands can be compared only on the same target rows",
        ),
        (lambda: difference(Recall(X, SCORE), 0.5), "second must be a"),
        (
            lambda: difference(Several([Recall(X, SCORE)]), Recall(X, OTHER)),
            "one by one",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
