"""A user's own estimand: called with outcomes and masses, and held to one number."""

import jax.numpy as jnp
import numpy as np
import pytest

from labelwise.errors import InvalidInput
from labelwise.estimands.custom import FunctionEstimand
from labelwise.likelihoods import BernoulliLikelihood, GaussianLikelihood
from tests.estimands.chances import CHANCE, MASS, WHERE, X, function_of


def spread(outcome, mass):
    """The weighted standard deviation of the outcome."""
    return jnp.sqrt(mass @ (outcome - mass @ outcome) ** 2)


@pytest.mark.parametrize("binary", [True, False])
def test_it_is_the_function_of_the_expected_labels(binary):
    f = function_of(CHANCE)
    labels = BernoulliLikelihood() if binary else GaussianLikelihood(jnp.asarray(0.4))
    outcome = CHANCE if binary else np.asarray(f)
    w = MASS * WHERE / (MASS * WHERE).sum()
    expected = np.sqrt(np.cov(outcome, aweights=w, ddof=0))
    found = FunctionEstimand(X, spread, MASS, WHERE).value(f, labels)
    assert float(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: FunctionEstimand(X, 3.0),  # pyright: ignore
            r"function must be callable with \(outcome, mass\); it is a float",
        ),
        (
            lambda: FunctionEstimand(X, lambda outcome, mass: mass * outcome),
            r"function must return one number; it returns an array of shape \(12,\)",
        ),
        (lambda: FunctionEstimand(X[:0], spread), "The target is empty"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
