"""Averaging the directions of gradients: lengths by hand, and who does it by default."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.estimands.outcome import MeanOutcome
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.offer import Spending
from labelwise.policies.subset import soft_batch
from labelwise.policies.training import Training
from labelwise.types import Pool
from tests.conformance.cases import BELIEFS, NEURAL, rows

LOGITS, K, ROLLOUTS = jnp.array([0.3, -0.2, 0.8, 0.0]), 2, 5
PRICES = jnp.array([1.0, -2.0, 0.5, 3.0])
KEYS = jax.random.split(jax.random.key(2), ROLLOUTS)  # as `gradient` splits its own


def policy(**options):
    training = Training(objective="exact", rollouts=ROLLOUTS, steps=1)
    return SmoothedAutodiff(training, temperature=0.5, **options)


def plain(key, weight):
    """A cost that differs from roll-out to roll-out."""
    return weight @ (PRICES + jax.random.normal(key, (4,)))


def slopes(cost):
    """The gradient of each roll-out, alone."""

    def soft(logits, key):
        batch_key, cost_key = jax.random.split(key)
        return cost(cost_key, soft_batch(batch_key, logits, K, 0.5))

    one = jax.jit(jax.grad(soft))
    return np.array([one(LOGITS, key) for key in KEYS])


def gradient(cost, directions):
    of = jax.jit(lambda key: policy().gradient(key, LOGITS, K, cost, directions))
    return np.asarray(of(jax.random.key(2)))


def test_it_is_the_mean_of_directions_and_else_of_gradients():
    each = slopes(plain)
    lengths = np.linalg.norm(each, axis=1, keepdims=True)
    assert lengths.max() > 1.5 * lengths.min()
    assert_allclose(gradient(plain, True), (each / lengths).mean(axis=0), rtol=1e-9)
    assert_allclose(gradient(plain, False), each.mean(axis=0), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_scale_of_the_cost_does_not_matter(scale):
    scaled = lambda key, weight: scale * plain(key, weight)
    assert_allclose(gradient(scaled, True), gradient(plain, True), rtol=1e-9)


def test_one_roll_out_that_blew_up_counts_as_one():
    """Its direction is kept, its length is not."""
    first = jax.random.key_data(jax.random.split(KEYS[0])[1])

    def wild(key, weight):
        mine = (jax.random.key_data(key) == first).all()
        return jnp.where(mine, 1e120, 1.0) * plain(key, weight)

    assert_allclose(gradient(wild, True), gradient(plain, True), rtol=1e-9)
    assert np.abs(gradient(wild, False)).max() > 1e100


def test_no_slope_has_no_direction():
    flat = lambda key, weight: 0.0 * weight.sum()
    assert (gradient(flat, True) == 0.0).all()


@pytest.mark.parametrize(
    ("belief", "option", "expected"),
    [
        (NEURAL["ensemble"], None, True),
        (NEURAL["epinet"], None, True),
        (NEURAL["ensemble"], False, False),
        (NEURAL["last-layer"], None, False),
        (BELIEFS["gp-rbf"], None, False),
        (BELIEFS["gp-rbf"], True, True),
        (BELIEFS["mixture-gp"], None, False),
    ],
)
def test_only_networks_that_learn_by_steps_do_so_by_default(
    monkeypatch, belief, option, expected
):
    asked = []

    def spy(self, key, logits, k, cost, directions=False):
        asked.append(directions)
        return jnp.zeros_like(logits)

    monkeypatch.setattr(SmoothedAutodiff, "gradient", spy)
    monkeypatch.setattr(SmoothedAutodiff, "cost", lambda *_: None)
    choice, pool = policy(directions=option), Pool(rows(7, 4))
    choice.choose(jax.random.key(0), belief, MeanOutcome(rows(3, 3)), pool, K, Spending())
    assert set(asked) == {expected}
