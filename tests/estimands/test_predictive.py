"""What labels to come are expected to say: exact where there is a formula, else by draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gp import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.mixture import Mixture
from labelwise.estimands import predictive
from labelwise.estimands.predictive import label_nodes, predict_spread, predict_terms
from labelwise.estimands.terms import TERMS, compared
from labelwise.numerics import in_blocks
from tests.conformance.cases import numbers, rows

X, Y, AT = rows(0, 6), numbers(1, 6), rows(2, 5)
BINARY = (Y > 0.0).astype(float)
PREDICTION = 0.5 + 0.4 * jnp.tanh(numbers(3, 5))
OTHER = 0.5 + 0.4 * jnp.tanh(numbers(4, 5))
QUIET = GaussianProcess(RBF(0.8, 1.3), 0.1, ConstantMean(0.3))
LOUD = GaussianProcess(RBF(1.4, 0.6), 1.2, ConstantMean(-0.4))
CHANCES = [GaussianProcessClassifier(RBF(scale, 2.0)) for scale in (0.7, 1.5)]
BELIEFS = {
    "gp": QUIET.condition(X, Y),
    "mixture": Mixture.of([QUIET, LOUD]).condition(X, Y),
    "classifier": CHANCES[0].condition(X, BINARY),
    "classifiers": Mixture.of(CHANCES).condition(X, BINARY),
}
NUMERIC = ("gp", "mixture")
# Of continuous labels polynomials only: other terms are integrated to a few per cent. R² has
# the terms of all of them, and F1 those of all ratios.
CASES = [
    ("gp", "r2", 1),
    ("gp", "bias", 2),
    ("mixture", "mse", 1),
    ("mixture", "r2", 2),
    ("classifier", "log-loss", 1),
    ("classifier", "f1", 2),
    ("classifiers", "f1", 1),
    ("classifiers", "accuracy", 2),
]
DRAWS = 4000
DRAWN = {
    name: np.asarray(
        jax.jit(lambda one: one.sample_labels(jax.random.key(8), AT, DRAWS))(belief)
    )
    for name, belief in BELIEFS.items()
}


def slope_of(terms):
    return jnp.linspace(1.0, -0.5, terms.count)


@pytest.mark.parametrize(("belief", "name", "models"), CASES)
def test_they_are_the_mean_and_spread_over_labels_drawn(belief, name, models):
    terms = TERMS[name] if models == 1 else compared(TERMS[name])
    one = lambda pair: pair if models == 2 else pair[0]
    draws = jnp.asarray(DRAWN[belief])
    wide = [jnp.broadcast_to(each[None, :], draws.shape) for each in (PREDICTION, OTHER)]
    z = np.asarray(terms.stack(draws, one(tuple(wide)), 0.4))
    found = predict_terms(BELIEFS[belief], AT, terms, one((PREDICTION, OTHER)), 0.4)
    error = 4 * z.std(axis=1) / np.sqrt(DRAWS) + 1e-12
    assert found.shape == (terms.count, 5)
    assert (np.abs(found - z.mean(axis=1)) < error).all()

    slope = slope_of(terms)
    spread = predict_spread(BELIEFS[belief], AT, terms, one((PREDICTION, OTHER)), 0.4, slope)
    along = np.tensordot(slope, z, axes=1)
    squares = (along - along.mean(axis=0)) ** 2
    error = 4 * squares.std(axis=0) / np.sqrt(DRAWS) + 1e-12
    assert (np.abs(spread**2 - squares.mean(axis=0)) < error).all()


@pytest.mark.parametrize("belief", NUMERIC)
def test_a_squared_error_and_its_spread_are_exact(belief):
    """By the second and fourth moments of a normal law, mixed by hand."""
    known = BELIEFS[belief]
    parts = [known] if belief == "gp" else [known.component(index) for index in range(2)]
    weight = np.ones(1) if belief == "gp" else np.asarray(known.weight)
    away = np.array([one.mean(AT) - PREDICTION for one in parts])
    spread = np.array([one.variance(AT) + one.labels.variance(AT[:, 0]) for one in parts])
    second = weight @ (away**2 + spread)
    fourth = weight @ (away**4 + 6 * away**2 * spread + 3 * spread**2)
    found = predict_terms(known, AT, TERMS["mse"], PREDICTION)
    assert_allclose(found[0], second, rtol=1e-10)
    root = predict_spread(known, AT, TERMS["mse"], PREDICTION, None, jnp.ones(1))
    assert_allclose(root, np.sqrt(fourth - second**2), rtol=1e-9)


def test_an_absolute_error_is_right_to_a_few_per_cent():
    """A corner is no polynomial: sixteen nodes miss a folded normal by 4 % of its spread."""
    known = BELIEFS["gp"]
    spread = np.sqrt(np.asarray(known.variance(AT)) + 0.1)
    away = np.asarray(known.mean(AT) - PREDICTION) / spread
    law = scipy.stats.norm
    truth = spread * (away * (2.0 * law.cdf(away) - 1.0) + 2.0 * law.pdf(away))
    found = predict_terms(known, AT, TERMS["mae"], PREDICTION)[0]
    assert (np.abs(found - truth) < 0.04 * spread).all()


@pytest.mark.parametrize("belief", ["classifier", "classifiers"])
def test_of_binary_labels_only_the_chance_counts(belief):
    chance = np.asarray(BELIEFS[belief].outcome(AT)[0])
    y, weight = label_nodes(BELIEFS[belief], AT)
    assert_allclose(y, np.tile([0.0, 1.0], (5, 1)))
    assert_allclose(weight, np.stack([1.0 - chance, chance], axis=1), rtol=1e-12)
    root = predict_spread(BELIEFS[belief], AT, TERMS["mean"], None, None, jnp.ones(1))
    assert_allclose(root, np.sqrt(chance * (1.0 - chance)), rtol=1e-10)


@pytest.mark.parametrize("belief", NUMERIC)
def test_nodes_are_a_law_with_the_moments_of_a_label(belief):
    known = BELIEFS[belief]
    y, chance = (np.asarray(part) for part in label_nodes(known, AT))
    assert_allclose(chance.sum(axis=1), np.ones(5), rtol=1e-12)
    mean = (y * chance).sum(axis=1)
    assert_allclose(mean, known.mean(AT), rtol=1e-10)
    noise = known.labels.variance(AT[:, 0])
    square = ((y - mean[:, None]) ** 2 * chance).sum(axis=1)
    assert_allclose(square, known.variance(AT) + noise, rtol=1e-10)


def test_what_labels_do_not_change_has_no_spread():
    """The bias of one model less that of another is known before any label."""
    pair = (PREDICTION, OTHER)
    root = predict_spread(BELIEFS["gp"], AT, compared(TERMS["bias"]), pair, None, jnp.ones(1))
    assert (root < 1e-15).all()
    found = predict_terms(BELIEFS["gp"], AT, compared(TERMS["bias"]), pair)
    assert_allclose(found[0], PREDICTION - OTHER, rtol=1e-12)


@pytest.mark.parametrize("belief", ["mixture", "classifiers"])
def test_blocks_of_rows_change_nothing(belief, monkeypatch):
    terms, pair = compared(TERMS["r2"]), (PREDICTION, OTHER)
    of = lambda: predictive._integrate(BELIEFS[belief], AT, terms, pair, None, predictive._mean)
    whole = of()
    monkeypatch.setattr(predictive, "in_blocks", lambda of, x: in_blocks(of, x, block=2))
    assert_allclose(of(), whole, atol=1e-12)
