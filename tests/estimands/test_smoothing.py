"""The paper's smoothed recall: its limit, its bias by quadrature, and hard cases."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit, logit
from sklearn.metrics import recall_score

from labelwise.errors import InvalidInput
from labelwise.estimands.smoothing import SmoothedRecall
from labelwise.likelihoods import BernoulliLikelihood
from tests.estimands.chances import BERNOULLI, CHANCE, MASS, SCORE, X, function_of


def test_as_the_temperature_falls_it_is_the_recall_of_drawn_labels():
    """The same noise, read as in the Gumbel-max trick: a 1 where logit p + noise > 0."""
    estimand = SmoothedRecall(X, SCORE, 0.4, temperature=1e-5, key=3, replicates=20, mass=MASS)
    labels = logit(CHANCE)[None, :] + np.asarray(estimand.noise) > 0
    called = SCORE >= 0.4
    hard = [recall_score(y, called, sample_weight=MASS, zero_division=0) for y in labels]
    found = estimand.value(function_of(CHANCE), BERNOULLI)
    assert float(found) == pytest.approx(np.mean(hard), rel=1e-6)


def soft_mean(p, temperature):
    """E[Y^τ] = ∫ sigmoid((logit p + r) / τ) dr under the logistic law, by quadrature."""
    density = lambda r: expit(r) * expit(-r)
    soft = lambda r: expit((logit(p) + r) / temperature) * density(r)
    middle = -logit(p)  # where the integrand turns
    return quad(soft, -60.0, middle)[0] + quad(soft, middle, 60.0)[0]


# E[Y^τ] where p = 0.1, to four digits: at τ = 1 the chance is nearly doubled.
BIAS = {0.1: 0.1012, 0.5: 0.1275, 1.0: 0.1840}


@pytest.mark.parametrize("temperature", BIAS)
def test_soft_labels_are_drawn_towards_one_half(temperature):
    replicates = 20_000
    estimand = SmoothedRecall(X[:2], 1.0, temperature=temperature, replicates=replicates, key=1)
    f = function_of(np.array([0.1, 0.9]))
    soft = np.asarray(estimand.soft_labels(f, BernoulliLikelihood()))
    error = 4 * soft.std(axis=0) / np.sqrt(replicates)
    by_hand = soft_mean(0.1, temperature)
    assert (np.abs(soft.mean(axis=0) - [by_hand, 1 - by_hand]) < error).all()
    assert by_hand == pytest.approx(BIAS[temperature], abs=5e-5)


def test_where_no_label_is_one_recall_is_zero_and_has_a_slope():
    """Soft labels fall below the smallest number: nothing may be divided by them."""
    estimand = SmoothedRecall(X, SCORE, temperature=1e-3)
    f = jnp.full(12, -50.0)
    found, slope = jax.value_and_grad(estimand.value)(f, BERNOULLI)
    assert found == 0.0
    assert jnp.isfinite(slope).all()


def test_the_key_decides_the_noise_which_is_kept():
    build = lambda key: SmoothedRecall(X, SCORE, key=key, replicates=3)
    assert_allclose(build(5).noise, build(5).noise, rtol=0)
    assert (build(5).noise != build(6).noise).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.0}, "temperature must be greater than 0; it is 0"),
        ({"temperature": np.inf}, "temperature is NaN or infinite"),
        ({"replicates": 0}, "replicates must be at least 1; it is 0"),
        ({"threshold": np.nan}, "threshold is NaN or infinite"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(options, message):
    with pytest.raises(InvalidInput, match=message):
        SmoothedRecall(X, SCORE, **options)
