"""What a mixture says of an estimand: total moments by hand, and draws that agree with them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gp import GaussianProcess
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

X, Y, TARGET = rows(0, 6), numbers(1, 6), rows(3, 5)
# Noises that differ a lot: a squared error has them in its value.
SETTINGS = [(0.8, 0.05, 0.3), (1.5, 0.5, -0.3), (1.0, 3.0, 0.0)]
PARTS = [
    GaussianProcess(RBF(scale, 1.3), noise, ConstantMean(mean)).condition(X, Y)
    for scale, noise, mean in SETTINGS
]
MIXTURE = Mixture.of(PARTS, [0.0, 0.5, 2.0])
CHANCES = Mixture.of([GaussianProcessClassifier(RBF(scale)) for scale in (0.7, 1.4)])
DRAWS = 12_000
NAMES = ["mean-squared-error", "mean-outcome-weighted", "brier-score"]


@pytest.mark.parametrize("name", NAMES)
def test_exact_moments_are_the_total_ones(name):
    estimand = ESTIMANDS[name](TARGET)
    each = np.array([exact_moments(one, estimand) for one in PARTS])
    weight = np.asarray(MIXTURE.weight)
    assert weight.min() > 0.05
    mean = weight @ each[:, 0]
    found = exact_moments(MIXTURE, estimand)
    assert_allclose(found.mean, mean, rtol=1e-10)
    variance = weight @ (each[:, 1] + (each[:, 0] - mean) ** 2)
    assert_allclose(found.variance, variance, rtol=1e-10)


def test_several_estimands_have_the_moments_of_each():
    several = SEVERAL["several-sum"](TARGET)
    found = exact_moments(MIXTURE, several)
    for index, part in enumerate(several.parts):
        alone = exact_moments(MIXTURE, part)
        assert_allclose(found.mean[index], alone.mean, rtol=1e-12)
        assert_allclose(found.variance[index], alone.variance, rtol=1e-12)
    assert sampled_values(jax.random.key(0), MIXTURE, several, 7).shape == (7, 2)


@pytest.mark.parametrize("name", NAMES)
def test_draws_have_the_exact_moments(name, getkey):
    """Of a squared error, only if each draw has the noise of its own component."""
    estimand = ESTIMANDS[name](TARGET)
    exact = exact_moments(MIXTURE, estimand)
    values = np.asarray(sampled_values(getkey(), MIXTURE, estimand, DRAWS))
    assert abs(values.mean() - exact.mean) < 4 * values.std() / np.sqrt(DRAWS)
    squares = (values - values.mean()) ** 2
    assert abs(squares.mean() - exact.variance) < 4 * squares.std() / np.sqrt(DRAWS)
    if name == "mean-squared-error":
        # One law of labels for all draws would miss the variance between the noises.
        noises = np.array([setting[1] for setting in SETTINGS])
        between = MIXTURE.weight @ (noises - MIXTURE.weight @ noises) ** 2
        assert between > 4 * squares.std() / np.sqrt(DRAWS)


def test_no_draw_is_used_twice_where_one_component_weighs_all():
    """Repeated draws would make the variance of a few of them too small."""
    certain = Mixture.of(PARTS, [0.0, -500.0, -500.0])
    estimand = ESTIMANDS["mean-squared-error"](TARGET)
    values = sampled_values(jax.random.key(0), certain, estimand, 31)
    assert len(np.unique(values)) == 31


def test_the_same_key_gives_the_same_values():
    estimand = ESTIMANDS["recall"](TARGET)
    first, again = (sampled_values(jax.random.key(3), MIXTURE, estimand, 20) for _ in range(2))
    assert (first == again).all()


def test_moments_are_exact_where_they_can_be():
    quadratic, general = ESTIMANDS["mean-squared-error"](TARGET), ESTIMANDS["recall"](TARGET)
    assert has_exact_moments(MIXTURE, quadratic)
    assert has_exact_moments(PARTS[0], quadratic)
    assert not has_exact_moments(MIXTURE, general)
    assert not has_exact_moments(CHANCES, quadratic)
    assert not has_closed_form(MIXTURE, quadratic)  # expected variances are another matter
    key = jax.random.key(1)
    assert moments_of(key, MIXTURE, quadratic, 5) == exact_moments(MIXTURE, quadratic)
    drawn = sampled_moments(key, MIXTURE, general, 50)
    assert_allclose(moments_of(key, MIXTURE, general, 50), drawn, rtol=1e-12)


def test_what_plans_with_one_gaussian_gets_the_heaviest():
    heaviest = int(np.argmax(MIXTURE.weight))
    assert_allclose(as_latent(MIXTURE).mean(TARGET), PARTS[heaviest].mean(TARGET), rtol=1e-12)
    lighter = jnp.delete(jnp.arange(3), heaviest)
    for index in lighter:
        assert not np.allclose(as_latent(MIXTURE).mean(TARGET), PARTS[index].mean(TARGET))
