"""A Bayesian last layer against regressions in weight space, written in numpy."""

import functools
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import multivariate_normal

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import Linear, OnFeatures
from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.mixture import Mixture
from labelwise.beliefs.neural import last_layer
from labelwise.beliefs.neural.last_layer import LastLayer, fit_last_layer, on_features
from labelwise.beliefs.neural.layers import Layers, draw_layers
from labelwise.beliefs.neural.stored import build_features, describe_features
from labelwise.beliefs.stored import build_belief, describe_mixture, describe_prior
from labelwise.errors import InvalidInput
from tests.beliefs.neural.reference import forward, np_layers

RNG = np.random.default_rng(90)
X, TEST = RNG.normal(size=(7, 2)), RNG.normal(size=(5, 2))
Y, BINARY = RNG.normal(size=7), np.array([1.0, 0, 0, 1, 1, 0, 1])
NOISE, LEVEL, VARIANCE, SCALE = 0.2, 0.6, 0.8, 1.5
SEEN = np.array([1.0, 0, 1, 1, 0, 1, 1])
PARTS = np.array([1.0, 0.3, 0.7, 0.0, 0.2, 1.0, 0.5])


@functools.cache
def network() -> Layers:
    return eqx.filter_jit(
        lambda: draw_layers(jax.random.key(3), (2, 6, 4, 1), first_bias=True)
    )()


@functools.cache
def features() -> LastLayer:
    return LastLayer.of(network(), "tanh", jnp.asarray(X))


def kernel() -> OnFeatures:
    return OnFeatures(Linear(SCALE, VARIANCE), features())


@eqx.filter_jit
def apply(features, x):
    return features(x)


def raw(x):
    """The last hidden layer of each row, by numpy."""
    layers = np_layers(network())
    return np.array([forward(layers, row, "tanh")[-2] for row in x])


def design(x):
    """A one and the standardised units, in the kernel's scale."""
    units = (raw(x) - raw(X).mean(axis=0)) / raw(X).std(axis=0)
    return np.concatenate([np.ones((len(x), 1)), units / SCALE], axis=1)


def regression(matrix, y, weight, noise=NOISE):
    """Mean and covariance of the coefficients, each label with noise / weight."""
    precision = np.eye(matrix.shape[1]) / VARIANCE + (matrix.T * weight) @ matrix / noise
    covariance = np.linalg.inv(precision)
    return covariance @ matrix.T @ (weight * (y - LEVEL)) / noise, covariance


def logistic(matrix, y, weight):
    """The most likely coefficients by Newton's steps, and Laplace's covariance there."""
    found = np.zeros(matrix.shape[1])
    for _ in range(50):
        chance = expit(LEVEL + matrix @ found)
        slope = matrix.T @ (weight * (y - chance)) - found / VARIANCE
        curvature = (matrix.T * (weight * chance * (1 - chance))) @ matrix
        covariance = np.linalg.inv(curvature + np.eye(len(found)) / VARIANCE)
        found = found + covariance @ slope
    return found, covariance


@eqx.filter_jit
def after(belief, y, weight):
    known = belief.condition(X, y, weight)
    return known.mean(TEST), known.covariance(TEST), known.variance(TEST), known.log_evidence


def assert_in_weight_space(found, coefficients, atol):
    (centre, covariance), matrix = coefficients, design(TEST)
    assert_allclose(found[0], LEVEL + matrix @ centre, rtol=0, atol=atol)
    expected = matrix @ covariance @ matrix.T
    assert_allclose(found[1], expected, rtol=0, atol=atol)
    assert_allclose(found[2], np.diag(expected), rtol=0, atol=atol)


# Features.


def test_features_are_standardised_units_of_the_last_hidden_layer():
    assert_allclose(apply(features(), TEST), SCALE * design(TEST)[:, 1:], atol=1e-12)
    over = np.asarray(apply(features(), X))
    assert_allclose(over.mean(axis=0), np.zeros(4), atol=1e-12)
    assert_allclose(over.std(axis=0), np.ones(4), rtol=1e-12)


def silenced(bias):
    """The features with a further unit that hardly varies, or not at all."""
    weights, biases = np_layers(network())
    hidden = np.concatenate([weights[1], np.full((6, 1), 0.01)], axis=1)
    as_arrays = lambda *arrays: tuple(map(jnp.asarray, arrays))
    layers = Layers(
        as_arrays(weights[0], hidden, np.zeros((5, 1))),
        as_arrays(biases[0], np.array([0.0, 0.0, 0.0, 0.0, bias]), np.zeros(1)),
    )
    return LastLayer.of(layers, "tanh", jnp.asarray(X))


def test_a_silent_unit_stays_small():
    found = np.asarray(apply(silenced(9.0), X))
    assert np.abs(found[:, 4]).max() < 1e-8
    assert found[:, 4].std() > 0.0


def test_single_precision_is_kept_inside():
    halved = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf, np.float32)), network())
    found = apply(LastLayer.of(halved, "tanh", jnp.asarray(X)), TEST)
    assert found.dtype == jnp.float64
    assert_allclose(found, apply(features(), TEST), atol=1e-4)


# Regression in weight space.


@pytest.mark.parametrize("weighting", ["paper", "precision"])
@pytest.mark.parametrize("weight", [np.ones(7), SEEN], ids=["all", "some"])
def test_the_process_is_bayesian_linear_regression(weighting, weight):
    belief = GaussianProcess(kernel(), NOISE, ConstantMean(LEVEL), weighting)
    found = after(belief, Y, weight)
    assert_in_weight_space(found, regression(design(X), Y, weight), 1e-10)
    rows = design(X)[weight > 0]
    law = multivariate_normal(
        np.full(len(rows), LEVEL), VARIANCE * rows @ rows.T + NOISE * np.eye(len(rows))
    )
    assert float(found[3]) == pytest.approx(law.logpdf(Y[weight > 0]), rel=1e-10)


def test_a_part_of_a_label_is_one_with_more_noise():
    belief = GaussianProcess(kernel(), NOISE, ConstantMean(LEVEL), "precision")
    found = after(belief, Y, PARTS)
    assert_in_weight_space(found, regression(design(X), Y, PARTS), 1e-10)


@pytest.mark.parametrize("weight", [np.ones(7), PARTS], ids=["all", "parts"])
def test_the_classifier_is_logistic_regression_by_laplace(weight):
    belief = GaussianProcessClassifier(kernel(), ConstantMean(LEVEL))
    found = after(belief, BINARY, weight)
    assert_in_weight_space(found, logistic(design(X), BINARY, weight), 1e-7)


def test_embeddings_need_no_network():
    """The linear kernel on the rows themselves, with a scale for each column."""
    scale = np.array([0.7, 2.0])
    found = after(GaussianProcess(Linear(scale, VARIANCE), NOISE, ConstantMean(LEVEL)), Y, SEEN)
    ones = lambda x: np.concatenate([np.ones((len(x), 1)), x / scale], axis=1)
    centre, covariance = regression(ones(X), Y, SEEN)
    assert_allclose(found[0], LEVEL + ones(TEST) @ centre, atol=1e-10)
    assert_allclose(found[1], ones(TEST) @ covariance @ ones(TEST).T, atol=1e-10)


@pytest.mark.usefixtures("unchecked")
def test_rows_of_other_columns_are_refused():
    with pytest.raises(InvalidInput, match="x has 3 features but the network has 2"):
        GaussianProcess(kernel(), NOISE).mean(np.zeros((1, 3)))


# Mixtures and storage.


def mixture(kernels=lambda kernel: kernel):
    return Mixture.of(
        [
            GaussianProcess(kernels(Linear(scale, variance)), noise, ConstantMean(level))
            for scale, variance, noise, level in ((1.5, 0.8, 0.2, 0.6), (0.9, 1.4, 0.4, 0.0))
        ],
        [-0.3, 0.2],
    )


@eqx.filter_jit
def mixed(belief, x):
    known = belief.condition(x, Y)
    return known.weight, known.mean(x), known.variance(x)


def test_a_belief_about_features_becomes_one_about_rows():
    """Weights of components, means and variances, as if rows were replaced by features."""
    about_features = mixed(mixture(), apply(features(), X))
    lifted = on_features(mixture(), features())
    about_rows = mixed(lifted, X)
    for one, other in zip(about_rows, about_features, strict=True):
        assert_allclose(one, other, rtol=1e-12)
    assert_array_equal(lifted.log_prior, mixture().log_prior)
    assert np.abs(np.asarray(about_rows[0]) - 0.5).min() > 0.01  # labels did tell them apart


def test_features_can_be_stored():
    found = build_features(json.loads(json.dumps(describe_features(features()))))
    assert (found.columns, found.activation) == (2, "tanh")
    assert_allclose(apply(found, TEST), apply(features(), TEST), atol=1e-6)


def test_a_single_prior_on_features_can_be_stored():
    prior = GaussianProcess(Linear(SCALE, VARIANCE), NOISE, ConstantMean(LEVEL), "precision")
    stored = describe_prior(prior) | {"last_layer": describe_features(features())}
    built = build_belief(json.loads(json.dumps(stored)))
    assert isinstance(built, GaussianProcess)
    assert built.weighting == "precision"
    found = after(built, Y, PARTS)
    assert_in_weight_space(found, regression(design(X), Y, PARTS), 1e-5)


# Fitting.

TRAIN, HELD = RNG.uniform(-2, 2, (60, 2)), RNG.uniform(-2, 2, (200, 2))
LEARN = {"hidden": (8,), "steps": 400, "learning_rate": 0.02, "components": 2}


def curve(x):
    """Of which a line sees the smaller part."""
    return 3.0 + 1.5 * x[:, 0] ** 2 + 0.5 * x[:, 1]


@pytest.fixture(scope="module")
def numbers():
    y = curve(TRAIN) + 0.1 * np.random.default_rng(0).normal(size=60)
    return fit_last_layer(TRAIN, y, population=HELD, **LEARN), y


@eqx.filter_jit
def outcomes(belief, x, y, test):
    known = belief.condition(x, y)
    return known.mean(test), known.outcome(test)


def test_it_learns_a_curve(numbers):
    fit, y = numbers
    truth = curve(HELD)
    mean, (_, variance) = outcomes(fit.prior, TRAIN, y, HELD)
    miss = np.asarray(mean) - truth
    line = np.linalg.lstsq(np.c_[np.ones(60), TRAIN], y, rcond=None)[0]
    straight = np.c_[np.ones(200), HELD] @ line - truth
    print("misses:", miss.std(), "a line's:", straight.std(), "spread:", truth.std())
    assert np.sqrt((miss**2).mean()) < 0.35 * truth.std()
    assert miss.std() < 0.5 * straight.std()
    assert (np.asarray(variance) > 0.0).all()


def test_features_are_standardised_over_the_population(numbers):
    found = np.asarray(apply(numbers[0].features, HELD))
    assert_allclose(found.mean(axis=0), np.zeros(8), atol=1e-9)
    assert_allclose(found.std(axis=0), np.ones(8), rtol=1e-9)


def test_a_fit_can_be_stored(numbers):
    fit, y = numbers
    stored = describe_mixture(fit.fit.prior, fit.fit.best.prior)
    stored = stored | {"last_layer": describe_features(fit.features)}
    built = build_belief(json.loads(json.dumps(stored)))
    assert isinstance(built, Mixture)
    assert_array_equal(built.log_prior, fit.prior.log_prior)
    ours = outcomes(built, TRAIN, y, HELD)
    theirs = outcomes(fit.prior, TRAIN, y, HELD)
    assert_allclose(ours[0], theirs[0], atol=1e-3)  # the network computes in 32 bits


@pytest.mark.slow
def test_it_learns_classes():
    chances = lambda x: expit(2.0 * (curve(x) - 5.0))
    y = (np.random.default_rng(1).uniform(size=60) < chances(TRAIN)).astype(float)
    fit = fit_last_layer(TRAIN, y, population=HELD, link="logit", **LEARN | {"components": 1})
    assert isinstance(fit.prior.component(0), GaussianProcessClassifier)
    truth = chances(HELD)
    found = np.asarray(outcomes(fit.prior, TRAIN, y, HELD)[1][0])
    print("misses:", (found - truth).std(), "spread:", truth.std())
    assert np.sqrt(((found - truth) ** 2).mean()) < 0.35 * truth.std()


@pytest.mark.slow
def test_units_that_hardly_vary_do_not_set_the_scale(monkeypatch):
    """Whether a unit is silent to the last digit or to the eighth must not matter."""

    def fitted(bias):
        monkeypatch.setattr(last_layer, "_learn_features", lambda *_: silenced(bias))
        return fit_last_layer(X, Y, components=1).fit.best.prior.kernel

    hardly, not_at_all = fitted(9.0), fitted(40.0)
    assert_allclose(hardly.length_scale, not_at_all.length_scale, rtol=1e-3)
    assert_allclose(hardly.variance, not_at_all.variance, rtol=1e-3)


@pytest.mark.slow
def test_labels_that_are_all_alike_can_be_learnt_from():
    y = np.full(60, 0.1)
    fit = fit_last_layer(TRAIN, y, population=HELD, **LEARN)
    mean = outcomes(fit.prior, TRAIN, y, HELD)[0]
    assert_allclose(mean, np.full(200, 0.1), atol=1e-3)
