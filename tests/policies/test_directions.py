"""Averaging the directions of gradients: lengths by hand, and who does it by default."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.estimands.named import MeanOutcome
from labelwise.policies import pathwise
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.constraints import Spending
from labelwise.policies.estimator import mean_gradient
from labelwise.policies.optimise import Training
from labelwise.policies.subset import soft_batch
from labelwise.types import Pool
from tests.conformance.cases import BELIEFS, NEURAL, rows

LOGITS, K, ROLLOUTS = np.array([0.3, -0.2, 0.8, 0.0]), 2, 5
PRICES = np.array([1.0, -2.0, 0.5, 3.0])


def plain(key, weight):
    """A cost that differs from roll-out to roll-out."""
    return weight @ (PRICES + jax.random.normal(key, (4,)))


def roll_outs():
    """A key for each, as `along` splits its own."""
    return jax.random.split(jax.random.key(2), ROLLOUTS)


@eqx.filter_jit
def slopes(logits):
    """The gradient of each roll-out, alone."""

    def soft(logits, key):
        batch_key, cost_key = jax.random.split(key)
        return plain(cost_key, soft_batch(batch_key, logits, K, 0.5))

    return jax.vmap(jax.grad(soft), (None, 0))(logits, roll_outs())


@eqx.filter_jit
def _gradient(logits, directions, scale, blow_up):
    first = jax.random.key_data(jax.random.split(roll_outs()[0])[1])

    def cost(key, weight):
        mine = (jax.random.key_data(key) == first).all()
        return scale * jnp.where(mine, blow_up, 1.0) * plain(key, weight)

    batch = lambda key, logits: soft_batch(key, logits, K, 0.5)
    run = pathwise.along(batch, cost, directions)
    return mean_gradient(run, jax.random.key(2), logits, ROLLOUTS)


def gradient(directions, scale=1.0, blow_up=1.0):
    """With the costs of all roll-outs multiplied, and that of the first once more."""
    return np.asarray(_gradient(LOGITS, directions, np.asarray(scale), np.asarray(blow_up)))


def test_it_is_the_mean_of_directions_and_else_of_gradients():
    each = np.asarray(slopes(LOGITS))
    lengths = np.linalg.norm(each, axis=1, keepdims=True)
    assert lengths.max() > 1.5 * lengths.min()
    assert_allclose(gradient(True), (each / lengths).mean(axis=0), rtol=1e-9)
    assert_allclose(gradient(False), each.mean(axis=0), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_scale_of_the_cost_does_not_matter(scale):
    assert_allclose(gradient(True, scale), gradient(True), rtol=1e-9)


def test_one_roll_out_that_blew_up_counts_as_one():
    """Its direction is kept, its length is not."""
    assert_allclose(gradient(True, blow_up=1e120), gradient(True), rtol=1e-9)
    assert np.abs(gradient(False, blow_up=1e120)).max() > 1e100


def test_no_slope_has_no_direction():
    assert (gradient(True, scale=0.0) == 0.0).all()


@pytest.mark.parametrize(
    ("belief", "option", "expected"),
    [
        ("ensemble", None, True),
        ("epinet", None, True),
        ("ensemble", False, False),
        ("last-layer", None, False),
        ("gp-rbf", None, False),
        ("gp-rbf", True, True),
        ("mixture-gp", None, False),
    ],
)
def test_only_networks_that_learn_by_steps_do_so_by_default(
    monkeypatch, belief, option, expected
):
    asked = []
    nothing = lambda key, logits, count: jnp.zeros((count, logits.size))
    note = lambda batch, cost, directions: asked.append(directions) or nothing
    monkeypatch.setattr(pathwise, "along", note)
    monkeypatch.setattr(pathwise, "soft_cost", lambda *_: None)
    belief = NEURAL[belief] if belief in NEURAL else BELIEFS[belief]
    training = Training(objective="exact", rollouts=ROLLOUTS, steps=1)
    choice, pool = SmoothedAutodiff(training, directions=option), Pool(rows(7, 4))
    choice.choose(jax.random.key(0), belief, MeanOutcome(rows(3, 3)), pool, K, Spending())
    assert set(asked) == {expected}
