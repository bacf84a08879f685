"""What every estimand must do: values, exact moments, and sense under its own expansion."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.labels import BernoulliLabels, GaussianLabels
from labelwise.estimands.moments import exact_moments, sampled_moments, sampled_values
from tests.conformance.cases import BELIEFS, ESTIMANDS, QUADRATIC, SEVERAL, numbers, rows

TARGET = rows(3, 5)
DRAWS = 20_000
EVERY = ESTIMANDS | SEVERAL
LAWS = {"gaussian": lambda: GaussianLabels(jnp.asarray(0.1)), "binary": BernoulliLabels}


@cache
def belief():
    return BELIEFS["gp-rbf"].condition(rows(0, 6), numbers(1, 6))


@pytest.fixture(params=EVERY, ids=str)
def make(request):
    return EVERY[request.param]


@pytest.fixture(params=ESTIMANDS, ids=str)
def estimand(request):
    return ESTIMANDS[request.param](TARGET)


@pytest.fixture(params=QUADRATIC, ids=str)
def quadratic(request):
    return QUADRATIC[request.param](TARGET)


@pytest.fixture(params=LAWS, ids=str)
def labels(request):
    return LAWS[request.param]()


@eqx.filter_jit
def values(estimand, functions, labels):
    """Of each line of functions."""
    return jax.vmap(lambda f: estimand.value(f, labels))(functions)


@eqx.filter_jit
def slope(estimand, f, labels):
    return jax.grad(estimand.value)(f, labels)


@eqx.filter_jit
def expand(estimand, mean, labels):
    return estimand.expand(mean, labels)


def test_the_value_of_a_draw_is_a_finite_number(estimand):
    """Called as users do."""
    value = estimand.value(numbers(4, estimand.x.shape[0]), LAWS["gaussian"]())
    assert value.shape == ()
    assert np.isfinite(value)


def test_the_masses_sum_to_one(make):
    assert_allclose(np.asarray(make(TARGET).mass).sum(), 1.0, rtol=1e-12)


def test_the_expansion_is_exact(quadratic):
    size, labels = quadratic.x.shape[0], LAWS["gaussian"]()
    mean, step = np.asarray(numbers(5, size)), np.asarray(numbers(6, size))
    found = jax.tree.map(np.asarray, expand(quadratic, jnp.asarray(mean), labels))
    expanded = found.value + found.slope @ step + found.curvature @ step**2
    moved = values(quadratic, jnp.asarray(mean + step)[None, :], labels)[0]
    assert_allclose(expanded, moved, rtol=1e-12)


def test_the_slope_is_the_gradient(quadratic):
    mean, labels = numbers(5, quadratic.x.shape[0]), LAWS["gaussian"]()
    found = expand(quadratic, mean, labels).slope
    assert_allclose(found, slope(quadratic, mean, labels), rtol=1e-12)


def test_the_gradient_agrees_with_finite_differences(estimand, labels):
    size, step = estimand.x.shape[0], 1e-5
    # Away from 0 and 1, where ratios are cut.
    f = 0.5 + 0.3 * np.tanh(np.asarray(numbers(5, size)))
    found = np.asarray(slope(estimand, jnp.asarray(f), labels))
    around = np.concatenate([f + step * np.eye(size), f - step * np.eye(size)])
    up, down = np.split(np.asarray(values(estimand, jnp.asarray(around), labels)), 2)
    # A central difference errs by the step squared times a third derivative.
    assert_allclose(found, (up - down) / (2 * step), rtol=0, atol=1e-7)
    assert np.abs(found).max() > 1e-4


def test_exact_moments_agree_with_draws(quadratic, getkey):
    exact = exact_moments(belief(), quadratic)
    drawn = np.asarray(sampled_values(getkey(), belief(), quadratic, DRAWS))
    assert abs(drawn.mean() - exact.mean) < 4 * drawn.std() / np.sqrt(DRAWS)
    spread = ((drawn - drawn.mean()) ** 2).std() / np.sqrt(DRAWS)
    assert abs(drawn.var() - exact.variance) < 4 * spread


def test_sampled_moments_come_from_draws(estimand, getkey):
    key = getkey()
    functions = belief().sample(key, estimand.x, 50)
    drawn = np.asarray(values(estimand, functions, belief().labels))
    sampled = sampled_moments(key, belief(), estimand, 50)
    assert_allclose(sampled.mean, drawn.mean(), rtol=1e-12)
    assert_allclose(sampled.variance, np.var(drawn, ddof=1), rtol=1e-12)


BY_PLACE = ("mean-squared-error-weighted", "mean-outcome-weighted", "smoothed-recall")


@pytest.mark.parametrize("name", sorted(EVERY.keys() - BY_PLACE))
def test_the_order_of_target_rows_does_not_matter(name, labels):
    """Where rows differ by their features only, and by neither mass nor noise of their own."""
    once, mirrored = EVERY[name](TARGET), EVERY[name](np.asarray(TARGET)[::-1])
    f_of = lambda x: jnp.asarray(np.sin(x[:, 0]) + 0.5 * x[:, 1])[None, :]
    mine = values(once, f_of(np.asarray(once.x)), labels)
    assert_allclose(mine, values(mirrored, f_of(np.asarray(mirrored.x)), labels))
