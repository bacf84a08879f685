"""Pseudo-values: exact means, derivatives by finite differences, errors by simulation."""

import math

import numpy as np
import pytest

from labelwise.survey.intervals import mean_interval
from labelwise.survey.linearise import linearised, r_squared, r_squared_gradient, weighted

MEANS = np.array([0.7, 0.4, 1.9])


def r_squared_terms(rng, shape):
    """(y − ψ)², y and y² of outcomes with variance 2 and a prediction that explains half."""
    prediction = rng.normal(size=shape)
    outcome = 1.0 + prediction + rng.normal(size=shape)
    return np.stack([(outcome - 1.0 - prediction) ** 2, outcome, outcome**2], axis=-1)


def test_the_gradient_agrees_with_finite_differences():
    step = 1e-6
    slopes = [
        (r_squared(MEANS + step * unit) - r_squared(MEANS - step * unit)) / (2.0 * step)
        for unit in np.eye(3)
    ]
    np.testing.assert_allclose(r_squared_gradient(MEANS), slopes, rtol=1e-8)


def test_r_squared_is_the_textbooks():
    outcome, prediction = np.random.default_rng(2).normal(size=(2, 50))
    terms = np.stack([(outcome - prediction) ** 2, outcome, outcome**2])
    textbook = 1.0 - np.sum(terms[0]) / np.sum((outcome - outcome.mean()) ** 2)
    assert r_squared(terms.mean(axis=1)) == pytest.approx(textbook)


def test_pseudo_values_have_the_functions_value_as_mean_and_its_error_as_spread():
    rng, draws, runs = np.random.default_rng(6), 200, 1000
    found, errors = [], []
    for _ in range(runs):
        values = r_squared_terms(rng, draws)
        pseudo = linearised(values, r_squared, r_squared_gradient)
        assert pseudo.mean() == pytest.approx(r_squared(values.mean(axis=0)), abs=1e-12)
        found.append(pseudo.mean())
        errors.append(pseudo.var(ddof=1) / draws)
    # The variance of 1000 is known within √(2 / 1000) = 4.5 %; four of those.
    assert np.mean(errors) == pytest.approx(np.var(found, ddof=1), rel=0.18)


def test_where_the_function_is_not_defined_nothing_is_bounded():
    values = np.tile([1.0, 2.0, 4.0], (10, 1))  # C = B²: the outcome does not vary
    pseudo = linearised(values, r_squared, r_squared_gradient)
    assert np.isnan(pseudo).all()
    assert mean_interval(pseudo, 0.9) == (-math.inf, math.inf)


def test_fixed_weights_give_the_weighted_mean_and_its_error():
    values = np.random.default_rng(7).normal(size=(4, 2))
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    pseudo = weighted(values, weights)
    mean = weights @ values
    np.testing.assert_allclose(pseudo.mean(axis=0), mean, rtol=1e-12)
    variance = (weights**2 @ (values - mean) ** 2) * 4 / 3
    np.testing.assert_allclose(pseudo.var(axis=0, ddof=1) / 4, variance, rtol=1e-12)
    np.testing.assert_allclose(weighted(values[:, 0], weights), pseudo[:, 0])
    np.testing.assert_allclose(weighted(values, np.full(4, 0.25)), values)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.4], "they sum to 0.9: fix them in advance"),
        ([1.5, -0.5], "must not be negative"),
        ([np.nan, 0.5], "must sum to one"),
        ([1.0], "give one weight a draw"),
    ],
)
def test_weights_that_were_not_fixed_in_advance_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        weighted(np.ones(2), np.array(weights))


def test_a_single_column_cannot_be_linearised():
    with pytest.raises(ValueError, match="a line a draw and a column a term"):
        linearised(np.ones(3), r_squared, r_squared_gradient)
