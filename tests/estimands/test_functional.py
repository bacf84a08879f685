"""Numbers of all labels together: ties and weights against scikit-learn, and influences."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sklearn.metrics as metrics
from numpy.testing import assert_allclose
from scipy.stats import norm

from labelwise.estimands.catalogue import ESTIMANDS
from labelwise.estimands.forms import build_estimand
from labelwise.likelihoods import GaussianLikelihood

RNG = np.random.default_rng(3)
SIZE = 50
Y = (RNG.uniform(size=SIZE) < 0.4).astype(float)
SCORE = np.round(np.clip(0.4 * Y + RNG.uniform(0.0, 0.6, SIZE), 0.05, 0.95), 1)  # with ties
OTHER = RNG.uniform(0.05, 0.95, SIZE)
WEIGHT = RNG.uniform(0.2, 2.0, SIZE)
WEIGHT /= WEIGHT.sum()
CHANCES = 0.8 * Y + 0.1
BINARY = ("auc", "average-precision", "calibration-slope", "calibration-intercept")

each_binary = pytest.mark.parametrize("name", BINARY)


def functional(name) -> Any:
    return ESTIMANDS[name].functional


@pytest.mark.parametrize(
    ("name", "truth"),
    [("auc", metrics.roc_auc_score), ("average-precision", metrics.average_precision_score)],
)
def test_weighted_rows_with_ties_give_the_number_of_scikit_learn(name, truth):
    found = functional(name).value(Y, WEIGHT, SCORE)
    assert_allclose(found, truth(Y, SCORE, sample_weight=WEIGHT), rtol=1e-12)


@each_binary
def test_many_labels_are_judged_at_once(name):
    many = np.stack([Y, 1.0 - Y, CHANCES])
    each = [functional(name).value(y, WEIGHT, SCORE) for y in many]
    assert_allclose(functional(name).value(many, WEIGHT, SCORE), each, rtol=1e-12)


@each_binary
def test_a_weight_counts_as_often_as_a_row_is_there(name):
    times = RNG.integers(1, 4, SIZE)
    many = np.repeat(np.arange(SIZE), times)
    repeated = functional(name).value(Y[many], np.full(len(many), 1 / len(many)), SCORE[many])
    weighed = functional(name).value(Y, times / times.sum(), SCORE)
    assert_allclose(weighed, repeated, rtol=1e-9)


@pytest.mark.parametrize("models", [1, 2])
@each_binary
def test_the_influence_is_that_of_finite_differences_and_of_jax(name, models):
    one = functional(name) if models == 1 else functional(name).compared()
    given = SCORE if models == 1 else (SCORE, OTHER)
    value = lambda y: one.value(y, WEIGHT, given)
    steps = 1e-5 * np.eye(SIZE)
    rise = [(value(CHANCES + step) - value(CHANCES - step)) / 2e-5 for step in steps]
    found = one.influence(lambda of_labels, _: of_labels(CHANCES), WEIGHT, given)
    assert_allclose(found.value, value(CHANCES), rtol=1e-12)
    # The step squared times a third derivative.
    assert_allclose(found.of_labels(np.ones(SIZE)), rise / WEIGHT, atol=1e-6)
    as_jax = lambda y: one.number(y, jnp.asarray(WEIGHT), jax.tree.map(jnp.asarray, given))
    slope = jax.jit(jax.grad(as_jax))(jnp.asarray(CHANCES))
    assert_allclose(np.asarray(slope) / WEIGHT, found.slope, atol=1e-10)


@each_binary
def test_labels_that_are_all_alike_have_no_number(name):
    for y in (np.zeros(SIZE), np.ones(SIZE)):
        found = functional(name).value(y, WEIGHT, SCORE)
        defined = name == "average-precision" and y.any()
        assert np.isfinite(found) == defined


def test_the_spread_of_an_influence_is_that_of_labels_drawn_from_their_chances():
    found = functional("auc").influence(lambda _, of: of(CHANCES[None]), WEIGHT, SCORE)
    variance = (CHANCES * (1.0 - CHANCES))[None, None]
    draws = found.of_labels((RNG.random((20_000, SIZE)) < CHANCES) * 1.0)
    # Five standard errors of a standard deviation, which is at most the value over √(2n)
    # times the root of its kurtosis.
    spread = found.spread(CHANCES[None], variance)
    assert_allclose(draws.std(axis=0), spread, rtol=5.0 * np.sqrt(2.0 / 20_000))
    assert_allclose(found.of_terms(CHANCES[None]), found.slope * CHANCES)


# The median error.

NUMBERS = RNG.normal(size=SIZE)
GUESS = NUMBERS + RNG.normal(size=SIZE)


@pytest.mark.parametrize("size", [SIZE, SIZE - 1])
def test_the_median_is_that_of_scikit_learn_by_labels_and_by_its_influence(size):
    y, guess, weight = NUMBERS[:size], GUESS[:size], np.full(size, 1 / size)
    truth = metrics.median_absolute_error(y, guess)
    median = functional("median-error")
    assert_allclose(median.value(y, weight, guess), truth, rtol=1e-12)
    assert_allclose(median.value(np.stack([y, y]), weight, guess), [truth, truth], rtol=1e-12)
    found = median.influence(lambda of_labels, _: 1.0 * of_labels(y), weight, guess)
    assert_allclose(found.value, truth, rtol=1e-9)


def test_of_normal_labels_it_is_the_median_of_their_errors_and_moves_as_it_does():
    estimand = build_estimand(ESTIMANDS["median-error"], np.zeros((SIZE, 1)), GUESS)
    value = jax.jit(jax.value_and_grad(estimand.value), static_argnums=())
    at = lambda f: value(jnp.asarray(f), GaussianLikelihood(jnp.asarray(0.09)))
    found, slope = at(NUMBERS)
    share = lambda t: np.mean(
        norm.cdf((t - NUMBERS + GUESS) / 0.3) - norm.cdf((-t - NUMBERS + GUESS) / 0.3)
    )
    assert_allclose(share(float(found)), 0.5, atol=1e-10)
    step = 1e-4 * np.eye(SIZE)[0]
    rise = (at(NUMBERS + step)[0] - at(NUMBERS - step)[0]) / 2e-4
    assert_allclose(slope[0], rise, atol=1e-6)
    assert abs(slope[0]) > 1e-4
