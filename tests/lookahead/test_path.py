"""Variances along a list of rows: every beginning as if it were a batch of its own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from labelwise.beliefs.gp import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.estimands.loss import MeanSquaredError
from labelwise.estimands.moments import exact_moments
from labelwise.estimands.outcome import MeanOutcome
from labelwise.lookahead.expected import expected_variance
from labelwise.lookahead.path import variance_along

RNG = np.random.default_rng(3)
POOL = jnp.asarray(RNG.normal(size=(12, 2)))
TARGET = jnp.asarray(RNG.normal(size=(9, 2)))
PRIOR = GaussianProcess(RBF(0.9, 1.3), 0.2)
KEY = jax.random.key(0)
BELIEF = PRIOR.condition(RNG.normal(size=(4, 2)), RNG.normal(size=4))
ESTIMANDS = {
    "mse": MeanSquaredError(TARGET, 0.4, RNG.uniform(size=9)),
    "mean": MeanOutcome(TARGET),
}


@pytest.mark.parametrize("name", ESTIMANDS)
def test_every_beginning_is_a_batch_of_its_own(name):
    estimand = ESTIMANDS[name]
    orders = jnp.asarray([[3, 7, 1, 11], [0, 2, 4, 6]])
    found = variance_along(KEY, BELIEF, estimand, POOL, orders)[:, 0]
    assert found.shape == (2, 5)
    for order, path in zip(orders, found, strict=True):
        for size in range(5):
            alone = expected_variance(BELIEF, estimand, POOL, order[:size])
            assert path[size] == pytest.approx(float(alone), rel=1e-10)


def test_an_empty_place_teaches_nothing():
    with_gaps = variance_along(
        KEY, BELIEF, ESTIMANDS["mse"], POOL, jnp.asarray([[3, -1, 7, -1]])
    )[:, 0]
    without = variance_along(KEY, BELIEF, ESTIMANDS["mse"], POOL, jnp.asarray([[3, 7]]))[:, 0]
    np.testing.assert_allclose(with_gaps[0], without[0, np.array([0, 1, 1, 2, 2])], rtol=1e-12)


def test_a_path_starts_at_the_present_and_never_rises():
    orders = jax.random.permutation(jax.random.key(0), jnp.arange(12))[None, :]
    path = np.asarray(variance_along(KEY, BELIEF, ESTIMANDS["mse"], POOL, orders)[0, 0])
    assert path[0] == pytest.approx(float(exact_moments(BELIEF, ESTIMANDS["mse"]).variance))
    assert (np.diff(path) < 0).all()
