"""Terms against scikit-learn and estimands of the same names; their slopes and differences."""

from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sklearn.metrics as metrics
from numpy.testing import assert_allclose

from labelwise.estimands.catalogue import ESTIMANDS, About
from labelwise.estimands.terms import TERMS, Terms, compared
from labelwise.likelihoods import GaussianLikelihood

RNG = np.random.default_rng(0)
SIZE = 60
BINARY = (RNG.uniform(size=SIZE) < 0.4).astype(float)
SCORE = np.clip(0.5 * BINARY + RNG.uniform(-0.2, 0.7, SIZE), 0.02, 0.98)
OTHER = RNG.uniform(0.02, 0.98, SIZE)
NUMBERS = 3.0 + RNG.normal(size=SIZE)
GUESS = NUMBERS + RNG.normal(size=SIZE)
THRESHOLD = 0.45
CALLED = (SCORE >= THRESHOLD).astype(int)

# From labels, predictions and the classes called; sklearn's arguments are (truth, prediction).
TRUTHS = {
    "mse": lambda y, p, c: metrics.mean_squared_error(y, p),
    "mae": lambda y, p, c: metrics.mean_absolute_error(y, p),
    "bias": lambda y, p, c: np.mean(p) - np.mean(y),
    "r2": lambda y, p, c: metrics.r2_score(y, p),
    "mean": lambda y, p, c: np.mean(y),
    "positive-rate": lambda y, p, c: np.mean(y),
    "accuracy": lambda y, p, c: metrics.accuracy_score(y, c),
    "error-rate": lambda y, p, c: metrics.zero_one_loss(y, c),
    "recall": lambda y, p, c: metrics.recall_score(y, c),
    "precision": lambda y, p, c: metrics.precision_score(y, c),
    "f1": lambda y, p, c: metrics.f1_score(y, c),
    "specificity": lambda y, p, c: metrics.recall_score(y, c, pos_label=0),
    "false-positive-rate": lambda y, p, c: np.sum((c == 1) & (y == 0)) / np.sum(y == 0),
    "brier": lambda y, p, c: metrics.brier_score_loss(y, p),
    "log-loss": lambda y, p, c: metrics.log_loss(y, p),
}
ANY_NUMBER = ("mse", "mae", "bias", "r2", "mean")

each_term = pytest.mark.parametrize("name", TERMS)


STEP = 1e-6


@eqx.filter_jit
def numbers_of(terms: Terms, y, prediction, threshold):
    """The means of terms, the number made of them, its slope, and that of differences."""
    means = terms.stack(y, prediction, threshold).mean(axis=1)
    rise = [
        (terms.combine(means + one) - terms.combine(means - one)) / (2 * STEP)
        for one in STEP * np.eye(terms.count)
    ]
    return means, terms.combine(means), terms.slope(means), jnp.stack(rise)


def found(terms: Terms, y, prediction, threshold: Any = THRESHOLD):
    given = jax.tree.map(jnp.asarray, (y, prediction))
    return [np.asarray(one) for one in numbers_of(terms, *given, threshold)]


def value_of(terms: Terms, y, prediction, threshold: Any = THRESHOLD):
    return found(terms, y, prediction, threshold)[1]


two_of = cache(lambda name: compared(TERMS[name]))


def test_every_term_has_a_truth_here():
    assert TRUTHS.keys() == TERMS.keys()


@each_term
def test_binary_labels_give_the_number_of_scikit_learn(name):
    found = value_of(TERMS[name], BINARY, SCORE)
    assert_allclose(found, TRUTHS[name](BINARY, SCORE, CALLED), rtol=1e-10)


@pytest.mark.parametrize("name", ANY_NUMBER)
def test_any_labels_give_the_number_of_scikit_learn(name):
    found = value_of(TERMS[name], NUMBERS, GUESS, None)
    assert_allclose(found, TRUTHS[name](NUMBERS, GUESS, None), rtol=1e-10)


@each_term
def test_it_is_the_value_of_the_estimand_of_this_name(name):
    """Without noise an outcome is a label: the estimand of it is that of the sample."""
    about = About(np.zeros((SIZE, 1)), prediction=SCORE, threshold=THRESHOLD)
    estimand = ESTIMANDS[name].build(about)
    truth = estimand.value(jnp.asarray(BINARY), GaussianLikelihood(jnp.asarray(0.0)))
    assert_allclose(value_of(TERMS[name], BINARY, SCORE), truth, rtol=1e-10)


def test_without_a_threshold_it_is_one_half():
    found = value_of(TERMS["recall"], BINARY, SCORE, None)
    assert_allclose(found, metrics.recall_score(BINARY, SCORE >= 0.5), rtol=1e-12)


def test_a_score_at_the_threshold_is_called_positive():
    found = TERMS["precision"].stack(jnp.array([1.0, 1.0]), jnp.array([0.3, 0.29]), 0.3)
    assert np.asarray(found).tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_certain_scores_cost_a_finite_log_loss():
    found = TERMS["log-loss"].stack(jnp.array([1.0, 0.0]), jnp.array([0.0, 0.0]), None)[0]
    assert_allclose(found, [-np.log(1e-6), -np.log1p(-1e-6)], rtol=1e-10)


@pytest.mark.parametrize("models", [1, 2])
@each_term
def test_the_slope_is_that_of_finite_differences(name, models):
    terms = TERMS[name] if models == 1 else two_of(name)
    given = SCORE if models == 1 else (SCORE, OTHER)
    means, _, slope, rise = found(terms, BINARY, given)
    assert means.shape == (terms.count,)
    # The step squared times a third derivative, and rounding over the step.
    assert_allclose(slope, rise, atol=1e-7)
    assert np.abs(rise).max() > 0.1


@each_term
def test_two_models_are_compared_by_the_difference_of_their_numbers(name):
    pair, terms = (SCORE, OTHER), two_of(name)
    called = (OTHER >= THRESHOLD).astype(int)
    truth = TRUTHS[name](BINARY, SCORE, CALLED) - TRUTHS[name](BINARY, OTHER, called)
    assert_allclose(value_of(terms, BINARY, pair), truth, atol=1e-12)
    swapped = value_of(terms, BINARY, pair[::-1])
    assert_allclose(swapped, -truth, atol=1e-12)
    shape = jax.eval_shape(lambda y: terms.stack(y, pair, THRESHOLD), BINARY).shape
    assert shape == (terms.count, SIZE)
    assert terms.kind == ("mean" if TERMS[name].kind == "mean" else "smooth")


@eqx.filter_jit
def wide_and_alone(terms: Terms, y, prediction):
    """With two labels a row, together; and each of the two."""
    alone = [terms.stack(y[:, column], prediction, THRESHOLD) for column in range(2)]
    return terms.stack(y, prediction[:, None], THRESHOLD), jnp.stack(alone, axis=2)


@each_term
def test_predictions_are_spread_over_many_labels_of_a_row(name):
    """As for labels that may come: a column for each, all with the row's prediction."""
    many = jnp.asarray(np.stack([BINARY, 1.0 - BINARY], axis=1))
    wide, alone = wide_and_alone(TERMS[name], many, jnp.asarray(SCORE))
    assert_allclose(wide, alone, rtol=1e-15)
