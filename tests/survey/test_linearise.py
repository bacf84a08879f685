"""Pseudo-values: exact means, derivatives by finite differences, errors by simulation."""

import math

import numpy as np
import pytest

from labelwise.estimands.catalogue import r_squared, r_squared_slope
from labelwise.survey.intervals import mean_interval
from labelwise.survey.linearise import linearised

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
    np.testing.assert_allclose(r_squared_slope(MEANS), slopes, rtol=1e-8)


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
        pseudo = linearised(values, r_squared, r_squared_slope)
        assert pseudo.mean() == pytest.approx(r_squared(values.mean(axis=0)), abs=1e-12)
        found.append(pseudo.mean())
        errors.append(pseudo.var(ddof=1) / draws)
    # The variance of 1000 is known within √(2 / 1000) = 4.5 %; four of those.
    assert np.mean(errors) == pytest.approx(np.var(found, ddof=1), rel=0.18)


def test_where_the_function_is_not_defined_nothing_is_bounded():
    values = np.tile([1.0, 2.0, 4.0], (10, 1))  # C = B²: the outcome does not vary
    pseudo = linearised(values, r_squared, r_squared_slope)
    assert np.isnan(pseudo).all()
    assert mean_interval(pseudo, 0.9) == (-math.inf, math.inf)


def test_a_single_column_cannot_be_linearised():
    with pytest.raises(ValueError, match="a line a draw and a column a term"):
        linearised(np.ones(3), r_squared, r_squared_slope)
