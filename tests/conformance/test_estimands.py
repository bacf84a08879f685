"""What every estimand must do: values, exact moments, and sense under its own expansion."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.labels import BernoulliLabels, GaussianLabels
from labelwise.errors import InvalidInput
from labelwise.estimands.moments import exact_moments, sampled_moments, sampled_values
from tests.conformance.cases import BELIEFS, ESTIMANDS, QUADRATIC, SEVERAL, numbers, rows

TARGET = rows(3, 5)
BELIEF = BELIEFS["gp-rbf"].condition(rows(0, 6), numbers(1, 6))
LABELS = GaussianLabels(jnp.asarray(0.1))
DRAWS = 20_000


@pytest.fixture(params=ESTIMANDS | SEVERAL, ids=str)
def make(request):
    return (ESTIMANDS | SEVERAL)[request.param]


@pytest.fixture(params=ESTIMANDS, ids=str)
def estimand(request):
    return ESTIMANDS[request.param](TARGET)


@pytest.fixture(params=QUADRATIC, ids=str)
def quadratic(request):
    return QUADRATIC[request.param](TARGET)


def somewhere(estimand, seed=5):
    """A value of the function at each target row, away from 0 and 1 where ratios are cut."""
    return 0.5 + 0.3 * jnp.tanh(numbers(seed, estimand.x.shape[0]))


def test_the_value_of_a_draw_is_a_finite_number(estimand):
    value = estimand.value(numbers(4, estimand.x.shape[0]), LABELS)
    assert value.shape == ()
    assert jnp.isfinite(value)


def test_the_masses_sum_to_one(make):
    assert_allclose(make(TARGET).mass.sum(), 1.0, rtol=1e-12)


def test_the_expansion_is_exact(quadratic):
    size = quadratic.x.shape[0]
    mean, step = numbers(5, size), numbers(6, size)
    expansion = quadratic.expand(mean, LABELS)
    expanded = expansion.value + expansion.slope @ step + expansion.curvature @ step**2
    assert_allclose(expanded, quadratic.value(mean + step, LABELS), rtol=1e-12)


def test_the_slope_is_the_gradient(quadratic):
    mean = numbers(5, quadratic.x.shape[0])
    assert_allclose(
        quadratic.expand(mean, LABELS).slope,
        jax.grad(quadratic.value)(mean, LABELS),
        rtol=1e-12,
    )


@pytest.mark.parametrize("labels", [LABELS, BernoulliLabels()], ids=["gaussian", "binary"])
def test_the_gradient_agrees_with_finite_differences(estimand, labels):
    value = jax.jit(lambda f: estimand.value(f, labels))
    f, step = somewhere(estimand), 1e-5
    slope = np.asarray(jax.jit(jax.grad(value))(f))
    for place, found in enumerate(slope):
        up, down = f.at[place].add(step), f.at[place].add(-step)
        # A central difference errs by the step squared times a third derivative.
        assert abs(found - (value(up) - value(down)) / (2 * step)) < 1e-7
    assert np.abs(slope).max() > 1e-4


def test_exact_moments_agree_with_draws(quadratic, getkey):
    exact = exact_moments(BELIEF, quadratic)
    values = sampled_values(getkey(), BELIEF, quadratic, DRAWS)
    assert abs(values.mean() - exact.mean) < 4 * values.std() / np.sqrt(DRAWS)
    spread = ((values - values.mean()) ** 2).std() / np.sqrt(DRAWS)
    assert abs(values.var() - exact.variance) < 4 * spread


def test_sampled_moments_come_from_draws(estimand, getkey):
    key = getkey()
    values = jax.vmap(lambda f: estimand.value(f, BELIEF.labels))(
        BELIEF.sample(key, estimand.x, 50)
    )
    sampled = sampled_moments(key, BELIEF, estimand, 50)
    assert_allclose(sampled.mean, values.mean(), rtol=1e-12)
    assert_allclose(sampled.variance, np.var(values, ddof=1), rtol=1e-12)


BY_PLACE = ("mean-squared-error-weighted", "mean-outcome-weighted", "smoothed-recall")


@pytest.mark.parametrize("name", sorted((ESTIMANDS | SEVERAL).keys() - BY_PLACE))
def test_the_order_of_target_rows_does_not_matter(name):
    """Where rows differ by their features only, and by neither mass nor noise of their own."""
    make = (ESTIMANDS | SEVERAL)[name]
    once, mirrored = make(TARGET), make(TARGET[::-1])
    f_of = lambda x: jnp.sin(x[:, 0]) + 0.5 * x[:, 1]
    for labels in (LABELS, BernoulliLabels()):
        assert_allclose(
            once.value(f_of(once.x), labels), mirrored.value(f_of(mirrored.x), labels)
        )


def test_an_empty_target_is_refused(make):
    with pytest.raises(InvalidInput, match="The target is empty"):
        make(jnp.zeros((0, 2)))


def test_a_target_with_missing_values_is_refused(make):
    with pytest.raises(InvalidInput, match="target x is NaN or infinite in row 1"):
        make(TARGET.at[1, 0].set(jnp.nan))
