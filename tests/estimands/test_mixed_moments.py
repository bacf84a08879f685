"""What a mixture says of an estimand: total moments by hand, and draws that agree with them."""

from functools import cache

import equinox as eqx
import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.mixture import Mixture
from labelwise.estimands.moments import (
    as_latent,
    exact_moments,
    has_closed_form,
    has_exact_moments,
    moments_of,
    sampled_moments,
    sampled_values,
)
from tests.conformance.cases import ESTIMANDS, SEVERAL, numbers, rows
from tests.lookahead.problems import conditioned

# Noises that differ a lot: a squared error has them in its value.
SETTINGS = [(0.8, 0.05, 0.3), (1.5, 0.5, -0.3), (1.0, 3.0, 0.0)]
DRAWS = 12_000
NAMES = ["mean-squared-error", "mean-outcome-weighted", "brier-score"]


@cache
def parts():
    of = lambda scale, noise, mean: conditioned(
        GaussianProcess(RBF(scale, 1.3), noise, ConstantMean(mean)), rows(0, 6), numbers(1, 6)
    )
    return [of(*setting) for setting in SETTINGS]


@cache
def mixture():
    return Mixture.of(parts(), [0.0, 0.5, 2.0])


@cache
def estimand_of(name):
    return ESTIMANDS[name](rows(3, 5))


weight_of = eqx.filter_jit(lambda mixture: mixture.weight)
mean_at = eqx.filter_jit(lambda belief, x: belief.mean(x))


@cache
def weight():
    return np.asarray(weight_of(mixture()))


def exact(belief, estimand):
    """Mean and variance."""
    return np.array(jax.tree.map(np.asarray, exact_moments(belief, estimand)))


@pytest.mark.parametrize("name", NAMES)
def test_exact_moments_are_the_total_ones(name):
    estimand = estimand_of(name)
    each = np.array([exact(one, estimand) for one in parts()])
    assert weight().min() > 0.05
    mean = weight() @ each[:, 0]
    variance = weight() @ (each[:, 1] + (each[:, 0] - mean) ** 2)
    assert_allclose(exact(mixture(), estimand), [mean, variance], rtol=1e-10)


def test_several_estimands_have_the_moments_of_each():
    several = SEVERAL["several-sum"](rows(3, 5))
    found = exact(mixture(), several)
    for index, part in enumerate(several.parts):
        assert_allclose(found[:, index], exact(mixture(), part), rtol=1e-12)
    values = lambda key: sampled_values(key, mixture(), several, 7)
    assert jax.eval_shape(values, jax.random.key(0)).shape == (7, 2)


@pytest.mark.parametrize("name", NAMES)
def test_draws_have_the_exact_moments(name, getkey):
    """Of a squared error, only if each draw has the noise of its own component."""
    estimand = estimand_of(name)
    mean, variance = exact(mixture(), estimand)
    values = np.asarray(sampled_values(getkey(), mixture(), estimand, DRAWS))
    assert abs(values.mean() - mean) < 4 * values.std() / np.sqrt(DRAWS)
    squares = (values - values.mean()) ** 2
    assert abs(squares.mean() - variance) < 4 * squares.std() / np.sqrt(DRAWS)
    if name == "mean-squared-error":
        # One law of labels for all draws would miss the variance between the noises.
        noises = np.array([setting[1] for setting in SETTINGS])
        between = weight() @ (noises - weight() @ noises) ** 2
        assert between > 4 * squares.std() / np.sqrt(DRAWS)


def test_no_draw_is_used_twice_where_one_component_weighs_all():
    """Repeated draws would make the variance of a few of them too small."""
    certain = Mixture.of(parts(), [0.0, -500.0, -500.0])
    estimand = estimand_of("mean-squared-error")
    values = sampled_values(jax.random.key(0), certain, estimand, 31)
    assert len(np.unique(values)) == 31


def test_the_same_key_gives_the_same_values():
    of = lambda: sampled_values(jax.random.key(3), mixture(), estimand_of("recall"), 50)
    assert (np.asarray(of()) == np.asarray(of())).all()


def test_moments_are_exact_where_they_can_be():
    quadratic, general = estimand_of("mean-squared-error"), estimand_of("recall")
    chances = Mixture.of([GaussianProcessClassifier(RBF(scale)) for scale in (0.7, 1.4)])
    assert has_exact_moments(mixture(), quadratic)
    assert has_exact_moments(parts()[0], quadratic)
    assert not has_exact_moments(mixture(), general)
    assert not has_exact_moments(chances, quadratic)
    assert not has_closed_form(mixture(), quadratic)  # expected variances are another matter
    key = jax.random.key(1)
    found = moments_of(key, mixture(), quadratic, 5)
    assert (np.array(jax.tree.map(np.asarray, found)) == exact(mixture(), quadratic)).all()
    drawn = sampled_moments(key, mixture(), general, 50)
    assert_allclose(moments_of(key, mixture(), general, 50), drawn, rtol=1e-12)


def test_what_plans_with_one_gaussian_gets_the_heaviest():
    at, heaviest = rows(3, 5), int(np.argmax(weight()))
    found = mean_at(as_latent(mixture()), at)
    assert_allclose(found, mean_at(parts()[heaviest], at), rtol=1e-12)
    for index in set(range(3)) - {heaviest}:
        assert not np.allclose(found, mean_at(parts()[index], at))
