"""What every estimand must do: values, exact moments, and sense under its own expansion."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.labels import GaussianLabels
from labelwise.errors import InvalidInput
from labelwise.estimands.moments import exact_moments, sampled_moments
from tests.conformance.cases import BELIEFS, ESTIMANDS, numbers, rows

TARGET = rows(3, 5)
BELIEF = BELIEFS["gp-rbf"].condition(rows(0, 6), numbers(1, 6))
LABELS = GaussianLabels(jnp.asarray(0.1))
DRAWS = 20_000


@pytest.fixture(params=ESTIMANDS, ids=str)
def make(request):
    return ESTIMANDS[request.param]


@pytest.fixture
def estimand(make):
    return make(TARGET)


def test_the_value_of_a_draw_is_a_finite_number(estimand):
    value = estimand.value(numbers(4, 5), LABELS)
    assert value.shape == ()
    assert jnp.isfinite(value)


def test_the_masses_sum_to_one(estimand):
    assert_allclose(estimand.mass.sum(), 1.0, rtol=1e-12)


def test_the_expansion_is_exact(estimand):
    mean, step = numbers(5, 5), numbers(6, 5)
    expansion = estimand.expand(mean, LABELS)
    expanded = expansion.value + expansion.slope @ step + expansion.curvature @ step**2
    assert_allclose(expanded, estimand.value(mean + step, LABELS), rtol=1e-12)


def test_the_slope_is_the_gradient(estimand):
    mean = numbers(5, 5)
    assert_allclose(
        estimand.expand(mean, LABELS).slope,
        jax.grad(estimand.value)(mean, LABELS),
        rtol=1e-12,
    )


def test_exact_moments_agree_with_draws(estimand, getkey):
    exact = exact_moments(BELIEF, estimand)
    values = jax.vmap(lambda f: estimand.value(f, BELIEF.labels))(
        BELIEF.sample(getkey(), TARGET, DRAWS)
    )
    assert abs(values.mean() - exact.mean) < 4 * values.std() / np.sqrt(DRAWS)
    spread = ((values - values.mean()) ** 2).std() / np.sqrt(DRAWS)
    assert abs(values.var() - exact.variance) < 4 * spread


def test_sampled_moments_come_from_draws(estimand, getkey):
    key = getkey()
    values = jax.vmap(lambda f: estimand.value(f, BELIEF.labels))(
        BELIEF.sample(key, TARGET, 50)
    )
    sampled = sampled_moments(key, BELIEF, estimand, 50)
    assert_allclose(sampled.mean, values.mean(), rtol=1e-12)
    assert_allclose(sampled.variance, np.var(values, ddof=1), rtol=1e-12)


def test_the_order_of_target_rows_does_not_matter(make):
    twice = make(jnp.concatenate([TARGET, TARGET[::-1]]))
    assert twice.x.shape == (10, 2)
    once, mirrored = (
        exact_moments(BELIEF, make(TARGET)),
        exact_moments(BELIEF, make(TARGET[::-1])),
    )
    if np.allclose(make(TARGET).mass, 0.2):
        assert_allclose(once.mean, mirrored.mean, rtol=1e-12)
        assert_allclose(once.variance, mirrored.variance, rtol=1e-12)


def test_an_empty_target_is_refused(make):
    with pytest.raises(InvalidInput, match="The target is empty"):
        make(jnp.zeros((0, 2)))


def test_a_target_with_missing_values_is_refused(make):
    with pytest.raises(InvalidInput, match="target x is NaN or infinite in row 1"):
        make(TARGET.at[1, 0].set(jnp.nan))
