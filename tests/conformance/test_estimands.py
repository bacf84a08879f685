"""What every estimand must do: values, exact moments, and sense under its own expansion."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.estimands.moments import exact_moments, sampled_moments, sampled_values
from labelwise.likelihoods import BernoulliLikelihood, GaussianLikelihood
from tests.conformance.cases import BELIEFS, ESTIMANDS, QUADRATIC, SEVERAL, numbers, rows
from tests.marks import but_slow

TARGET = rows(3, 5)
LINES = 21  # of functions looked at together: two for each of ten rows, and one between
DRAWS = 20_000
EVERY = ESTIMANDS | SEVERAL
# One of each form; all have tests of their own beside.
FIRST = {"mean-squared-error-weighted", "treatment-effect", "recall", "difference-of-recalls"}
LAWS = {"gaussian": lambda: GaussianLikelihood(jnp.asarray(0.1)), "binary": BernoulliLikelihood}


@cache
def belief():
    return BELIEFS["gp-rbf"].condition(rows(0, 6), numbers(1, 6))


@cache
def made(name):
    return EVERY[name](TARGET)


@pytest.fixture(params=EVERY, ids=str)
def every(request):
    return made(request.param)


@pytest.fixture(params=but_slow(ESTIMANDS, EVERY.keys() - FIRST))
def estimand(request):
    return made(request.param)


@pytest.fixture(params=but_slow(QUADRATIC, EVERY.keys() - FIRST))
def quadratic(request):
    return made(request.param)


@pytest.fixture(params=LAWS, ids=str)
def labels(request):
    return LAWS[request.param]()


def looked_at(estimand, functions, labels):
    """Values and slopes at each line of functions; empty lines make up for fewer."""
    functions = np.asarray(functions)
    padded = np.concatenate([functions, np.tile(functions[:1], (LINES - len(functions), 1))])
    found = _looked_at(estimand, jax.device_put(padded), labels)
    return [np.asarray(part)[: len(functions)] for part in found]


@eqx.filter_jit
def _looked_at(estimand, functions, labels):
    value = lambda f: estimand.value(f, labels)  # of several, a vector
    return jax.vmap(lambda f: (value(f), jax.jacrev(value)(f)))(functions)


def values(estimand, functions, labels):
    return looked_at(estimand, functions, labels)[0]


@eqx.filter_jit
def expand(estimand, mean, labels):
    return estimand.expand(mean, labels)


def test_the_value_of_a_draw_is_a_finite_number(estimand):
    """Called as users do."""
    value = estimand.value(numbers(4, estimand.x.shape[0]), LAWS["gaussian"]())
    assert value.shape == ()
    assert np.isfinite(value)


def test_the_masses_sum_to_one(every):
    assert_allclose(np.asarray(every.mass).sum(), 1.0, rtol=1e-12)


def test_the_expansion_is_exact(quadratic):
    size, labels = quadratic.x.shape[0], LAWS["gaussian"]()
    mean, step = np.asarray(numbers(5, size)), np.asarray(numbers(6, size))
    found = jax.tree.map(np.asarray, expand(quadratic, jnp.asarray(mean), labels))
    expanded = found.value + found.slope @ step + found.curvature @ step**2
    moved = values(quadratic, (mean + step)[None], labels)[0]
    assert_allclose(expanded, moved, rtol=1e-12)


def test_the_slope_is_the_gradient(quadratic):
    mean, labels = numbers(5, quadratic.x.shape[0]), LAWS["gaussian"]()
    found = expand(quadratic, mean, labels).slope
    slope = looked_at(quadratic, np.asarray(mean)[None], labels)[1][0]
    assert_allclose(found, slope, rtol=1e-12)


def test_the_gradient_agrees_with_finite_differences(estimand, labels):
    size, step = estimand.x.shape[0], 1e-5
    # Away from 0 and 1, where ratios are cut.
    f = 0.5 + 0.3 * np.tanh(np.asarray(numbers(5, size)))
    around = np.concatenate([f + step * np.eye(size), f - step * np.eye(size), f[None]])
    nearby, slopes = looked_at(estimand, around, labels)
    (up, down), found = np.split(nearby[:-1], 2), slopes[-1]
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
    functions = belief().sample(key, estimand.x, LINES)
    drawn = values(estimand, functions, belief().likelihood)
    sampled = sampled_moments(key, belief(), estimand, LINES)
    assert_allclose(sampled.mean, drawn.mean(), rtol=1e-12)
    assert_allclose(sampled.variance, np.var(drawn, ddof=1), rtol=1e-12)


BY_PLACE = ("mean-squared-error-weighted", "mean-outcome-weighted", "smoothed-recall")


@pytest.mark.parametrize(
    "name", but_slow(sorted(EVERY.keys() - BY_PLACE), EVERY.keys() - FIRST - SEVERAL.keys())
)
def test_the_order_of_target_rows_does_not_matter(name, labels):
    """Where rows differ by their features only, and by neither mass nor noise of their own."""
    once, mirrored = made(name), EVERY[name](np.asarray(TARGET)[::-1])
    f_of = lambda x: (np.sin(x[:, 0]) + 0.5 * x[:, 1])[None]
    mine = values(once, f_of(np.asarray(once.x)), labels)
    assert_allclose(mine, values(mirrored, f_of(np.asarray(mirrored.x)), labels))
