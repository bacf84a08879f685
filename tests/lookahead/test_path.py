"""Variances along a list of rows: every beginning as if it were a batch of its own."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.estimands.moments import exact_moments
from labelwise.estimands.named import MeanOutcome, MeanSquaredError
from labelwise.lookahead.path import variance_along
from tests.lookahead.problems import conditioned, expected_variance_by_hand

RNG = np.random.default_rng(3)
POOL = RNG.normal(size=(12, 2))
TARGET = RNG.normal(size=(9, 2))
SEEN = RNG.normal(size=(4, 2)), RNG.normal(size=4)
MASS = RNG.uniform(size=9)


@cache
def belief():
    return conditioned(GaussianProcess(RBF(0.9, 1.3), 0.2), *SEEN)


@cache
def estimand(name):
    return MeanSquaredError(TARGET, 0.4, MASS) if name == "mse" else MeanOutcome(TARGET)


def paths(name, orders):
    orders = jnp.asarray(orders)
    found = variance_along(
        jax.random.key(0), belief(), estimand(name), jnp.asarray(POOL), orders
    )
    return np.asarray(found)[:, 0]


@pytest.mark.parametrize("name", ["mse", "mean"])
def test_every_beginning_is_a_batch_of_its_own(name):
    orders = [[3, 7, 1, 11], [0, 2, 4, 6]]
    found = paths(name, orders)
    assert found.shape == (2, 5)
    for order, path in zip(orders, found, strict=True):
        for size in range(5):
            alone = expected_variance_by_hand(belief(), estimand(name), POOL, order[:size])
            assert path[size] == pytest.approx(alone, rel=1e-10)


def test_an_empty_place_teaches_nothing():
    with_gaps, without = paths("mse", [[3, -1, 7, -1], [3, 7, -1, -1]])
    np.testing.assert_allclose(with_gaps, without[[0, 1, 1, 2, 2]], rtol=1e-12)


def test_a_path_starts_at_the_present_and_never_rises():
    order = np.random.default_rng(0).permutation(12)
    path = paths("mse", order[None])[0]
    now = exact_moments(belief(), estimand("mse")).variance
    assert path[0] == pytest.approx(float(now))
    assert (np.diff(path) < 0).all()
