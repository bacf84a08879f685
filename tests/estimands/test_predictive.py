"""What labels to come are expected to say: exact where there is a formula, else by draws."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.mixture import Mixture
from labelwise.estimands import predictive
from labelwise.estimands.predictive import label_nodes, predict_spread, predict_terms
from labelwise.estimands.terms import TERMS, compared
from labelwise.numerics import in_blocks
from tests.conformance.cases import numbers, rows
from tests.lookahead.problems import conditioned

AT = np.asarray(rows(2, 5))
PREDICTION, OTHER = (0.5 + 0.4 * np.tanh(np.asarray(numbers(seed, 5))) for seed in (3, 4))


@cache
def belief_of(name):
    """Given six labels; of processes one is quiet and the other loud."""
    binary = [GaussianProcessClassifier(RBF(scale, 2.0)) for scale in (0.7, 1.5)]
    quiet = GaussianProcess(RBF(0.8, 1.3), 0.1, ConstantMean(0.3))
    loud = GaussianProcess(RBF(1.4, 0.6), 1.2, ConstantMean(-0.4))
    priors = {"gp": [quiet], "mixture": [quiet, loud], "classifier": binary[:1]}
    of = priors.get(name, binary)
    prior = of[0] if len(of) == 1 else Mixture.of(of)
    x, y = np.asarray(rows(0, 6)), np.asarray(numbers(1, 6))
    return conditioned(prior, x, y if name in NUMERIC else (y > 0.0).astype(float))


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


@eqx.filter_jit
def sample_labels(key, belief, x):
    return belief.sample_labels(key, x, DRAWS)


@cache
def drawn(name):
    return sample_labels(jax.random.key(8), belief_of(name), jnp.asarray(AT))


@cache
def terms_of(name, models):
    return TERMS[name] if models == 1 else compared(TERMS[name])


@eqx.filter_jit
def stack(terms, draws, prediction, threshold):
    """The terms of labels drawn, in rows, for predictions that are the same in all draws."""
    wide = jax.tree.map(lambda each: jnp.broadcast_to(each[None, :], draws.shape), prediction)
    return terms.stack(draws, wide, threshold)


@eqx.filter_jit
def moments(belief, x):
    """Mean and variance of the function, and the noise of labels."""
    return belief.mean(x), belief.variance(x), belief.likelihood.variance(x[:, 0])


def moments_at(belief):
    return np.array([np.asarray(one) for one in moments(belief, jnp.asarray(AT))])


def predict(belief, terms, prediction, threshold, slope):
    """The expected terms, and their spread along a slope."""
    given, x = (terms, prediction, threshold), jnp.asarray(AT)
    spread = predict_spread(belief, x, *given, jnp.asarray(slope))
    return np.asarray(predict_terms(belief, x, *given)), np.asarray(spread)


@pytest.mark.parametrize(
    ("belief", "name", "models"),
    [pytest.param(*case, marks=pytest.mark.slow if case[2] > 1 else ()) for case in CASES],
)
def test_they_are_the_mean_and_spread_over_labels_drawn(belief, name, models):
    terms = terms_of(name, models)
    given = (PREDICTION, OTHER) if models == 2 else PREDICTION
    given = jax.tree.map(jnp.asarray, given)
    z = np.asarray(stack(terms, drawn(belief), given, 0.4))
    slope = np.linspace(1.0, -0.5, terms.count)
    found, spread = predict(belief_of(belief), terms, given, 0.4, slope)
    error = 4 * z.std(axis=1) / np.sqrt(DRAWS) + 1e-12
    assert found.shape == (terms.count, 5)
    assert (np.abs(found - z.mean(axis=1)) < error).all()

    along = np.tensordot(slope, z, axes=1)
    squares = (along - along.mean(axis=0)) ** 2
    error = 4 * squares.std(axis=0) / np.sqrt(DRAWS) + 1e-12
    assert (np.abs(spread**2 - squares.mean(axis=0)) < error).all()


@eqx.filter_jit
def components(mixture):
    return [mixture.component(index) for index in range(2)]


@pytest.mark.parametrize("belief", NUMERIC)
def test_a_squared_error_and_its_spread_are_exact(belief):
    """By the second and fourth moments of a normal law, mixed by hand."""
    known = belief_of(belief)
    parts = [known] if belief == "gp" else components(known)
    weight = np.ones(1) if belief == "gp" else np.asarray(known.weight)
    mean, variance, noise = np.stack([moments_at(one) for one in parts], axis=1)
    away, spread = mean - PREDICTION, variance + noise
    second = weight @ (away**2 + spread)
    fourth = weight @ (away**4 + 6 * away**2 * spread + 3 * spread**2)
    found, root = predict(known, TERMS["mse"], jnp.asarray(PREDICTION), None, np.ones(1))
    assert_allclose(found[0], second, rtol=1e-10)
    assert_allclose(root, np.sqrt(fourth - second**2), rtol=1e-9)


def test_an_absolute_error_is_right_to_a_few_per_cent():
    """A corner is no polynomial: sixteen nodes miss a folded normal by 4 % of its spread."""
    known = belief_of("gp")
    mean, variance, _ = moments_at(known)
    spread = np.sqrt(variance + 0.1)
    away = (mean - PREDICTION) / spread
    law = scipy.stats.norm
    truth = spread * (away * (2.0 * law.cdf(away) - 1.0) + 2.0 * law.pdf(away))
    found = predict(known, TERMS["mae"], jnp.asarray(PREDICTION), None, np.ones(1))[0][0]
    assert (np.abs(found - truth) < 0.04 * spread).all()


@eqx.filter_jit
def nodes_and_outcome(belief, x):
    return *label_nodes(belief, x), belief.outcome(x)[0]


@pytest.mark.parametrize("belief", ["classifier", "classifiers"])
def test_of_binary_labels_only_the_chance_counts(belief):
    known = belief_of(belief)
    y, weight, chance = map(np.asarray, nodes_and_outcome(known, jnp.asarray(AT)))
    assert_allclose(y, np.tile([0.0, 1.0], (5, 1)))
    assert_allclose(weight, np.stack([1.0 - chance, chance], axis=1), rtol=1e-12)
    _, root = predict(known, TERMS["mean"], None, None, np.ones(1))
    assert_allclose(root, np.sqrt(chance * (1.0 - chance)), rtol=1e-10)


@pytest.mark.parametrize("belief", NUMERIC)
def test_nodes_are_a_law_with_the_moments_of_a_label(belief):
    known = belief_of(belief)
    y, chance, _ = map(np.asarray, nodes_and_outcome(known, jnp.asarray(AT)))
    assert_allclose(chance.sum(axis=1), np.ones(5), rtol=1e-12)
    mean = (y * chance).sum(axis=1)
    expected, variance, noise = moments_at(known)
    assert_allclose(mean, expected, rtol=1e-10)
    square = ((y - mean[:, None]) ** 2 * chance).sum(axis=1)
    assert_allclose(square, variance + noise, rtol=1e-10)


def test_what_labels_do_not_change_has_no_spread():
    """The bias of one model less that of another is known before any label."""
    pair = (jnp.asarray(PREDICTION), jnp.asarray(OTHER))
    found, root = predict(belief_of("gp"), terms_of("bias", 2), pair, None, np.ones(1))
    assert (root < 1e-15).all()
    assert_allclose(found[0], PREDICTION - OTHER, rtol=1e-12)


@pytest.mark.parametrize("belief", ["mixture", "classifiers"])
def test_blocks_of_rows_change_nothing(belief, monkeypatch):
    """Traced anew each time: what was compiled before the change does not serve."""
    pair = (jnp.asarray(PREDICTION), jnp.asarray(OTHER))
    of = lambda belief, x, pair: predictive._integrate(
        belief, x, terms_of("r2", 2), pair, None, predictive._mean
    )
    run = lambda: jax.jit(lambda *given: of(*given))(belief_of(belief), jnp.asarray(AT), pair)
    whole = run()
    monkeypatch.setattr(predictive, "in_blocks", lambda of, x: in_blocks(of, x, block=2))
    assert_allclose(run(), whole, atol=1e-12)
