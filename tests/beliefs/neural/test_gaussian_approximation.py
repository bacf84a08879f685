"""A network as a Gaussian belief, against the ensemble Kalman update written in numpy."""

import functools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import AbstractKernel
from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.neural.registry import neural_belief
from labelwise.estimands.named import MeanOutcome, MeanSquaredError
from labelwise.lookahead.expected import expected_variance
from tests.beliefs.neural.reference import functions, stirred

RNG = np.random.default_rng(80)
X, Y, TEST = RNG.normal(size=(4, 2)), RNG.normal(size=4), RNG.normal(size=(5, 2))
NOISE, LEVEL, SPREAD = 0.3, 0.7, 1.8
SMALL = {"hidden": (4,), "activation": "tanh", "precision": "double"}


def stir(make):
    """A belief compiled whole, with weights far from where it starts."""
    belief = eqx.filter_jit(make)()
    return eqx.tree_at(lambda belief: belief.weights, belief, stirred(belief.network))


@functools.cache
def numbers():
    return stir(
        lambda: neural_belief(
            "ensemble-plus",
            2,
            noise=NOISE,
            mean=ConstantMean(LEVEL),
            spread=SPREAD,
            members=4,
            prior_hidden=(3,),
            **SMALL,
        )
    )


@functools.cache
def binary():
    options = {"labels": "binary", "members": 4, **SMALL}
    return stir(lambda: neural_belief("ensemble", 2, mean=ConstantMean(0.4), **options))


def panel(belief, x):
    """Each member's function, as numpy computes it."""
    out = functions(belief.network, belief.weights, x, np.arange(4))
    if belief is binary():
        return 0.4 + out[..., 1] - out[..., 0]
    return LEVEL + SPREAD * out[..., 0]


def empirical(belief, x, other):
    """Mean at `x` and covariance with `other`, over the members."""
    here, there = panel(belief, x), panel(belief, other)
    return here.mean(axis=0), (here - here.mean(axis=0)).T @ (there - there.mean(axis=0)) / 4


@eqx.filter_jit
def moments(belief):
    covariance = belief.covariance
    return belief.mean(TEST), covariance(TEST), belief.variance(TEST), covariance(TEST, X)


@pytest.mark.parametrize(
    ("make", "kind"), [(numbers, GaussianProcess), (binary, GaussianProcessClassifier)]
)
def test_it_has_the_mean_and_covariance_of_the_functions(make, kind):
    belief = make()
    assert type(belief.latent) is kind
    level, own, variance, cross = moments(belief.latent)
    mean, covariance = empirical(belief, TEST, TEST)
    assert_allclose(level, mean, rtol=1e-12)
    assert_allclose(own, covariance, rtol=0, atol=1e-12)
    assert_allclose(variance, np.diag(covariance), rtol=0, atol=1e-12)
    assert_allclose(cross, empirical(belief, TEST, X)[1], rtol=0, atol=1e-12)


def test_it_keeps_the_law_of_labels():
    assert float(numbers().latent.noise) == NOISE
    assert binary().latent.likelihood == binary().likelihood


@pytest.mark.slow
def test_a_panel_of_a_continuum_of_functions_has_their_moments():
    belief = eqx.filter_jit(lambda: neural_belief("hypermodel", 2, **SMALL))()
    drawn = np.asarray(eqx.filter_jit(belief.panel)(TEST))
    mean, covariance, *_ = moments(belief.latent)
    assert_allclose(mean, drawn.mean(axis=0), rtol=1e-12)
    assert_allclose(covariance, np.cov(drawn.T, ddof=0), rtol=0, atol=1e-12)


def kalman(noise):
    """Mean and covariance at the test rows after the labels, textbook formula."""
    mean, own = empirical(numbers(), TEST, TEST)
    level, labels = empirical(numbers(), X, X)
    cross = empirical(numbers(), TEST, X)[1]
    gain = cross @ np.linalg.inv(labels + np.diag(noise))
    return mean + gain @ (Y - level), own - gain @ cross.T


@eqx.filter_jit
def after(belief, x, y, weight):
    known = belief.condition(x, y, weight)
    return known.mean(TEST), known.covariance(TEST)


ALL = np.ones(4)


def test_conditioning_is_the_ensemble_kalman_update():
    mean, covariance = kalman(np.full(4, NOISE))
    found = after(numbers().latent, X, Y, ALL)
    assert_allclose(found[0], mean, rtol=1e-10)
    assert_allclose(found[1], covariance, rtol=0, atol=1e-11)
    assert covariance.trace() < 0.9 * empirical(numbers(), TEST, TEST)[1].trace()


def test_labels_in_turn_teach_the_same_as_labels_at_once():
    @eqx.filter_jit
    def in_turn(belief):
        return belief.condition(X[:1], Y[:1]).condition(X[1:], Y[1:]).mean(TEST)

    assert_allclose(in_turn(numbers().latent), kalman(np.full(4, NOISE))[0], rtol=1e-10)


def test_absent_labels_teach_nothing():
    found = after(numbers().latent, X, Y, np.array([1.0, 0.0, 1.0, 0.0]))
    mean, covariance = kalman(np.array([NOISE, 1e12, NOISE, 1e12]))
    assert_allclose(found[0], mean, rtol=1e-8)
    assert_allclose(found[1], covariance, rtol=0, atol=1e-8)


def test_of_classes_it_is_laplace_with_the_empirical_covariance():
    """In the space of the members: four numbers of variance 1 that mix how far each is off."""
    y = np.array([1.0, 0.0, 0.0, 1.0])
    at = {name: panel(binary(), rows) for name, rows in (("x", X), ("test", TEST))}
    mean = {name: one.mean(axis=0) for name, one in at.items()}
    off = {name: (at[name] - mean[name]).T / 2.0 for name in at}

    def loss(mix):
        f = mean["x"] + off["x"] @ mix
        return mix @ mix / 2 + np.sum(np.logaddexp(0.0, f) - y * f)

    found = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-10}).x
    chance = expit(mean["x"] + off["x"] @ found)
    curvature = np.eye(4) + off["x"].T @ np.diag(chance * (1 - chance)) @ off["x"]
    known = after(binary().latent, X, y, ALL)
    assert_allclose(known[0], mean["test"] + off["test"] @ found, atol=1e-6)
    left = off["test"] @ np.linalg.inv(curvature) @ off["test"].T
    assert_allclose(known[1], left, atol=1e-6)


class Table(AbstractKernel):
    """Covariances looked up: rows are known by the number in their first column."""

    matrix: jnp.ndarray

    def __call__(self, x, other):
        return self.matrix[x[:, 0].astype(int)][:, other[:, 0].astype(int)]

    def diagonal(self, x):
        return jnp.diagonal(self.matrix)[x[:, 0].astype(int)]


@pytest.mark.parametrize("kind", [MeanOutcome, MeanSquaredError])
def test_exact_lookahead_is_that_of_a_process_with_this_covariance(kind):
    """The estimands do not look at rows, so these may be replaced by their numbers."""
    rows = np.concatenate([TEST, X])
    table = Table(jnp.asarray(empirical(numbers(), rows, rows)[1]))
    shift = panel(numbers(), TEST).mean(axis=0)
    number, batch = np.arange(9.0)[:, None], [3, 0]
    if kind is MeanOutcome:
        theirs, ours = MeanOutcome(number[:5]), MeanOutcome(TEST)
    else:  # what is predicted, less the mean, around a process of mean 0
        theirs = MeanSquaredError(number[:5], -shift)
        ours = MeanSquaredError(TEST, np.zeros(5))
    by_hand = expected_variance(GaussianProcess(table, NOISE), theirs, number[5:], batch)
    found = expected_variance(numbers().latent, ours, X, batch)
    assert float(found) == pytest.approx(float(by_hand), rel=1e-8)
    assert float(found) > 0.0


def test_several_classes_have_no_gaussian_belief():
    make = lambda: neural_belief("ensemble", 2, labels=3, members=2, **SMALL)
    assert eqx.filter_jit(make)().latent is None
