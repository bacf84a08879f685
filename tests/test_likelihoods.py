"""The laws of labels, against adaptive quadrature and scipy's distributions."""

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad
from scipy.special import expit

from labelwise.likelihoods import BernoulliLikelihood, GaussianLikelihood

LINKS = {"logit": expit, "probit": stats.norm.cdf}
BOTH = pytest.mark.parametrize("link", LINKS)
MEANS, SPREADS = np.array([-3.0, -0.4, 0.0, 1.5]), np.array([0.01, 0.5, 1.5, 4.0])


def expectation(function, mean, spread):
    """E[function(f)], f ~ N(mean, spread²), in pieces so that no peak is missed."""
    density = lambda z: function(mean + spread * z) * stats.norm.pdf(z)
    edges = np.linspace(-10.0, 10.0, 11)
    return sum(quad(density, *edge)[0] for edge in pairwise(edges))


@eqx.filter_jit
def call(labels, method, *given):
    return getattr(labels, method)(*given)


@BOTH
def test_moments_of_the_chance_agree_with_quadrature(link):
    labels, chance = BernoulliLikelihood(link), LINKS[link]
    found = call(labels, "outcome_moments", MEANS, SPREADS**2)
    first = [expectation(chance, *both) for both in zip(MEANS, SPREADS, strict=True)]
    second = [
        expectation(lambda f: chance(f) ** 2, *both)
        for both in zip(MEANS, SPREADS, strict=True)
    ]
    # As stated beside the number of nodes; probit turns faster than logit.
    tolerance = 2e-5 if link == "logit" else 1e-3
    assert_allclose(found[0], first, atol=tolerance)
    assert_allclose(found[1], np.array(second) - np.array(first) ** 2, atol=tolerance)


@BOTH
def test_the_information_of_a_label_is_the_variance_of_its_score(link):
    labels = BernoulliLikelihood(link)
    scores = jax.vmap(jax.grad(labels.log_prob, argnums=1), in_axes=(None, 0))
    score = lambda label: np.asarray(jax.jit(scores)(label, MEANS))
    chance = LINKS[link](MEANS)
    by_hand = chance * score(1.0) ** 2 + (1 - chance) * score(0.0) ** 2
    assert_allclose(call(labels, "information", MEANS), by_hand, rtol=1e-9)


@BOTH
def test_a_reading_tells_as_much_as_a_label_does_on_average(link):
    labels = BernoulliLikelihood(link)
    mean, spread = MEANS[:3], SPREADS[:3]
    slope = stats.logistic.pdf if link == "logit" else stats.norm.pdf
    information = lambda f: slope(f) ** 2 / (LINKS[link](f) * LINKS[link](-f))
    by_hand = [1 / expectation(information, *both) for both in zip(mean, spread, strict=True)]
    found = call(labels, "reading_noise", mean, spread**2)
    assert_allclose(found, by_hand, rtol=1e-3)


@BOTH
def test_the_probabilities_of_both_labels_sum_to_one(link):
    labels = BernoulliLikelihood(link)
    one, zero = (
        np.exp(np.asarray(call(labels, "log_prob", np.full(4, y), MEANS))) for y in (1.0, 0.0)
    )
    assert_allclose(one, LINKS[link](MEANS), rtol=1e-12)
    assert_allclose(one + zero, 1.0, rtol=1e-12)


@BOTH
def test_the_inverse_finds_the_function_value_that_has_a_chance(link):
    found = call(BernoulliLikelihood(link), "inverse", LINKS[link](MEANS))
    assert_allclose(found, MEANS, rtol=0, atol=1e-12)


def test_gaussian_labels_are_normal_around_the_function():
    labels, f = GaussianLikelihood(jnp.asarray(0.3)), MEANS
    expected = stats.norm.logpdf(f + 0.2, f, np.sqrt(0.3))
    assert_allclose(call(labels, "log_prob", f + 0.2, f), expected, rtol=1e-12)
    assert_allclose(call(labels, "reading_noise", f, f**2), 0.3)
    assert_allclose(call(labels, "outcome_moments", f, f**2)[1], f**2)


def test_the_absolute_error_is_that_of_a_folded_normal():
    labels = GaussianLikelihood(jnp.asarray(0.3))
    found = call(labels, "absolute_error", MEANS, np.full(4, 0.2))
    folded = stats.foldnorm.mean(np.abs(MEANS - 0.2) / np.sqrt(0.3), scale=np.sqrt(0.3))
    assert_allclose(found, folded, rtol=1e-9)
