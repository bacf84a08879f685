"""What labels to come are expected to say: exact where there is a formula, else by draws."""

from dataclasses import replace
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
from labelwise.estimands.catalogue import ESTIMANDS
from labelwise.estimands.metrics import Metric, compared
from labelwise.estimands.predictive import Asked, predict_moments, spread_along
from labelwise.numerics import in_blocks
from tests.conformance.cases import CLASSES, multiclass, numbers, rows
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
# R² has the terms of all polynomials, and F1 those of all ratios.
CASES = [
    ("gp", "mae", 1),
    ("gp", "r2", 1),
    ("gp", "bias", 2),
    ("mixture", "mse", 1),
    ("mixture", "r2", 2),
    ("mixture", "mae", 2),
    ("gp", "recall", 2),
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


def metric_of(name, models):
    return ESTIMANDS[name] if models == 1 else compared(ESTIMANDS[name])


@eqx.filter_jit
def stack(metric, draws, prediction, threshold):
    """The terms of labels drawn, in rows, for predictions that are the same in all draws."""
    wide = jax.tree.map(lambda each: jnp.broadcast_to(each[None, :], draws.shape), prediction)
    return metric.stack(draws, wide, threshold)


@eqx.filter_jit
def moments(belief, x):
    """Mean and variance of the function, and the noise of labels."""
    return belief.mean(x), belief.variance(x), belief.likelihood.variance(x[:, 0])


def moments_at(belief):
    return np.array([np.asarray(one) for one in moments(belief, jnp.asarray(AT))])


def predict(belief, metric, prediction, threshold, slope):
    """The expected terms, and their spread along a slope."""
    asked = [Asked(metric, prediction, threshold)]
    [(terms, covariance)] = predict_moments(belief, jnp.asarray(AT), asked)
    return np.asarray(terms), spread_along(covariance, np.asarray(slope))


@pytest.mark.parametrize(
    ("belief", "name", "models"),
    [pytest.param(*case, marks=pytest.mark.slow if case[2] > 1 else ()) for case in CASES],
)
def test_they_are_the_mean_and_spread_over_labels_drawn(belief, name, models):
    metric = metric_of(name, models)
    given = (PREDICTION, OTHER) if models == 2 else PREDICTION
    given = jax.tree.map(jnp.asarray, given)
    z = np.asarray(stack(metric, drawn(belief), given, 0.4))
    slope = np.linspace(1.0, -0.5, metric.count)
    found, spread = predict(belief_of(belief), metric, given, 0.4, slope)
    error = 4 * z.std(axis=1) / np.sqrt(DRAWS) + 1e-12
    assert found.shape == (metric.count, 5)
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
    found, root = predict(known, ESTIMANDS["mse"], jnp.asarray(PREDICTION), None, np.ones(1))
    assert_allclose(found[0], second, rtol=1e-10)
    assert_allclose(root, np.sqrt(fourth - second**2), rtol=1e-9)


@pytest.mark.parametrize("belief", NUMERIC)
def test_an_absolute_error_and_its_spread_are_those_of_a_folded_normal(belief):
    known = belief_of(belief)
    parts = [known] if belief == "gp" else components(known)
    weight = np.ones(1) if belief == "gp" else np.asarray(known.weight)
    mean, variance, noise = np.stack([moments_at(one) for one in parts], axis=1)
    spread = np.sqrt(variance + noise)
    away, law = (mean - PREDICTION) / spread, scipy.stats.norm
    first = weight @ (spread * (away * (2.0 * law.cdf(away) - 1.0) + 2.0 * law.pdf(away)))
    second = weight @ (spread**2 * (1.0 + away**2))
    metric = ESTIMANDS["mae"]
    found, root = predict(known, metric, jnp.asarray(PREDICTION), None, np.ones(1))
    assert_allclose(found[0], first, rtol=1e-7)
    assert_allclose(root, np.sqrt(second - first**2), rtol=1e-7)


outcome_at = eqx.filter_jit(lambda belief, x: belief.outcome(x)[0])


@pytest.mark.parametrize("belief", ["classifier", "classifiers"])
def test_of_binary_labels_only_the_chance_counts(belief):
    known = belief_of(belief)
    chance = np.asarray(outcome_at(known, jnp.asarray(AT)))
    terms, root = predict(known, ESTIMANDS["mean"], None, None, np.ones(1))
    assert_allclose(terms[0], chance, rtol=1e-12)
    assert_allclose(root, np.sqrt(chance * (1.0 - chance)), rtol=1e-10)


def test_of_several_classes_each_has_its_chance():
    """Labels are the classes' own numbers, not 0 and 1."""
    chances = np.asarray(outcome_at(multiclass(), jnp.asarray(AT)))
    own = Metric("own", "own", terms=lambda y, p, _: (y == p, y**2))
    own = replace(own, combination=ESTIMANDS["recall"].combination)
    predicted = np.arange(5.0) % CLASSES
    asked = [Asked(own, jnp.asarray(predicted))]
    [(terms, covariance)] = predict_moments(multiclass(), jnp.asarray(AT), asked)
    right, squares = chances[np.arange(5), predicted.astype(int)], np.arange(CLASSES) ** 2.0
    assert_allclose(terms, [right, chances @ squares], rtol=1e-12)
    both = right * squares[predicted.astype(int)] - right * (chances @ squares)
    assert_allclose(covariance[0, 0], right * (1.0 - right), rtol=1e-10)
    assert_allclose(covariance[0, 1], both, rtol=1e-9, atol=1e-12)


def test_what_labels_do_not_change_has_no_spread():
    """The bias of one model less that of another is known before any label."""
    pair = (jnp.asarray(PREDICTION), jnp.asarray(OTHER))
    found, root = predict(belief_of("gp"), metric_of("bias", 2), pair, None, np.ones(1))
    assert (root < 1e-15).all()
    assert_allclose(found[0], PREDICTION - OTHER, rtol=1e-12)


@pytest.mark.parametrize("belief", ["mixture", "classifiers"])
def test_blocks_of_rows_change_nothing(belief, monkeypatch):
    """Traced anew each time: what was compiled before the change does not serve."""
    pair = (jnp.asarray(PREDICTION), jnp.asarray(OTHER))
    of = predict_moments.__wrapped__
    given = belief_of(belief), jnp.asarray(AT), pair
    asked = lambda pair: [
        Asked(metric_of("r2", 2), pair),
        Asked(ESTIMANDS["mean"], None),
        Asked(ESTIMANDS["mae"], pair[0]),
    ]
    run = lambda: jax.jit(lambda belief, x, pair: of(belief, x, asked(pair)))(*given)
    whole = run()
    monkeypatch.setattr(predictive, "in_blocks", lambda of, x: in_blocks(of, x, block=2))
    for blocks, at_once in zip(jax.tree.leaves(run()), jax.tree.leaves(whole), strict=True):
        assert_allclose(blocks, at_once, atol=1e-12)


@pytest.mark.parametrize("belief", ["mixture", "classifiers"])
def test_what_is_asked_together_is_answered_as_alone(belief):
    given = jnp.asarray(PREDICTION)
    asked = [Asked(ESTIMANDS["mse"], given), Asked(ESTIMANDS["recall"], given, 0.4)]
    asked.append(Asked(ESTIMANDS["mean"], None))
    together = predict_moments(belief_of(belief), jnp.asarray(AT), asked)
    for one, found in zip(asked, together, strict=True):
        [alone] = predict_moments(belief_of(belief), jnp.asarray(AT), [one])
        for ours, theirs in zip(found, alone, strict=True):
            assert_allclose(ours, theirs, rtol=1e-12)
