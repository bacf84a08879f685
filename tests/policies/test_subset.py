"""K-subset draws: probabilities against enumeration, limits against closed forms."""

from itertools import combinations, permutations
from math import comb, lgamma

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.errors import InvalidInput
from labelwise.policies.subset import hard_batch, sequence_log_prob, set_log_prob, soft_batch
from labelwise.types import EXCLUDED

LOGITS = np.array([1.0, -0.5, 0.3, 2.0, 0.0])
K = 3
SEQUENCES = np.array(list(permutations(range(5), K)))
SETS = np.array(list(combinations(range(5), K)))
ROWS = np.array([3, 0, 2])
STEP = 1e-5  # of finite differences


def with_first(value):
    return np.concatenate([[value], LOGITS[1:]])


@jax.jit
def sequence_probs(logits, rows):
    return jnp.exp(jax.vmap(sequence_log_prob, (None, 0))(logits, rows))


set_log_probs = jax.jit(jax.vmap(set_log_prob, (None, 0)))
set_log_prob_and_slope = jax.jit(jax.value_and_grad(set_log_prob))


@jax.jit
def draw(keys, logits, temperature):
    """Hard batches, and soft ones of the same keys."""
    hard = jax.vmap(lambda key: hard_batch(key, logits, K))(keys)
    return hard, jax.vmap(lambda key: soft_batch(key, logits, K, temperature))(keys)


@pytest.fixture
def keys(getkey):
    return jax.random.split(getkey(), 50)


def test_probabilities_of_every_sequence_sum_to_one():
    assert_allclose(np.sum(sequence_probs(LOGITS, SEQUENCES)), 1.0, rtol=1e-12)


def test_hard_batches_come_with_the_stated_probability(getkey):
    draws = 20_000
    keys = jax.random.split(getkey(), draws)
    drawn = np.asarray(draw(keys, LOGITS, 0.5)[0])
    seen = (drawn[:, None] == SEQUENCES[None]).all(-1).mean(0)
    probs = np.asarray(sequence_probs(LOGITS, SEQUENCES))
    assert (np.abs(seen - probs) < 5 * np.sqrt(probs * (1 - probs) / draws)).all()


@pytest.mark.parametrize("shift", [0.0, 300.0, -300.0])
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_a_set_is_as_likely_as_all_its_orders_together(scale, shift):
    logits = scale * LOGITS
    by_order = np.asarray(sequence_probs(logits, SEQUENCES))
    orders = (np.sort(SEQUENCES)[None] == SETS[:, None]).all(axis=-1)
    log_probs = set_log_probs(logits + shift, SETS)
    assert_allclose(log_probs, np.log(orders @ by_order), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("pool", "k"), [(500, 20), (500, 5), (40, 39), (7, 1)])
def test_under_equal_logits_every_set_is_equally_likely(pool, k):
    log_sets = lgamma(pool + 1) - lgamma(k + 1) - lgamma(pool - k + 1)
    log_prob = jax.jit(set_log_prob)(np.full(pool, -2.7), np.arange(k))
    assert_allclose(log_prob, -log_sets, rtol=1e-10)
    assert comb(7, 1) == round(np.exp(lgamma(8) - lgamma(2) - lgamma(7)))


def test_the_whole_pool_is_drawn_for_certain():
    assert float(jax.jit(set_log_prob)(LOGITS, np.arange(5))) == 0.0


def test_excluded_rows_count_for_nothing():
    logits = np.append(LOGITS, EXCLUDED)
    assert_allclose(
        set_log_probs(logits, ROWS[None]), set_log_probs(LOGITS, ROWS[None]), rtol=1e-12
    )
    assert float(jax.jit(set_log_prob)(logits, np.arange(5))) == 0.0


def test_a_runaway_logit_does_not_spoil_the_probability_of_a_set():
    # Row 0 is certain; then it is a draw of two from four.
    rest = np.sum(sequence_probs(LOGITS[1:], np.array([[0, 2], [2, 0]])))
    log_prob, _ = set_log_prob_and_slope(with_first(500.0), np.array([0, 1, 3]))
    assert_allclose(log_prob, np.log(rest), rtol=1e-9)


@eqx.filter_jit
def slope_and_differences(value, logits, *others):
    """Derivatives in the logits, by reverse mode and by central differences."""
    moves = STEP * jnp.concatenate([jnp.eye(logits.size), -jnp.eye(logits.size)])
    moved = jax.vmap(lambda move: value(logits + move, *others))(moves)
    above, below = jnp.split(moved, 2)
    slope = jax.jacrev(value)(logits, *others)
    return slope, jnp.moveaxis(above - below, 0, -1) / (2.0 * STEP)


@pytest.mark.parametrize("log_prob", [sequence_log_prob, set_log_prob])
def test_gradients_of_log_probabilities_agree_with_finite_differences(log_prob):
    slope, differences = slope_and_differences(log_prob, LOGITS, ROWS)
    assert_allclose(slope, differences, rtol=1e-6, atol=1e-6)


def test_the_mean_score_is_zero():
    """Σ_S P(S) ∇ log P(S) = ∇ 1 = 0, over all sets."""
    total = jax.grad(lambda logits: jnp.exp(set_log_probs(logits, SETS)).sum())
    assert_allclose(jax.jit(total)(LOGITS), np.zeros(5), atol=1e-10)


@pytest.mark.parametrize("temperature", [0.05, 0.5, 5.0])
def test_soft_weights_sum_to_k(keys, temperature):
    weights = np.asarray(draw(keys, LOGITS, temperature)[1])
    assert (weights >= 0).all()
    assert_allclose(weights.sum(axis=1), K, rtol=1e-10)


def test_soft_tends_to_hard_under_the_same_key(keys):
    rows, weights = draw(keys, LOGITS, 1e-4)
    drawn = (np.asarray(rows)[:, :, None] == np.arange(5)).sum(axis=1)
    assert_allclose(weights, drawn, atol=1e-3)


@pytest.mark.parametrize("runaway", [50.0, 500.0, 5e4])
def test_a_runaway_logit_is_drawn_once(keys, runaway):
    weights = np.asarray(draw(keys, with_first(runaway), 0.1)[1])
    assert_allclose(weights[:, 0], 1.0, atol=1e-3)
    assert_allclose(weights.sum(axis=1), K, rtol=1e-10)


@jax.jit
def soft_and_slope(key, logits):
    weights = lambda logits: soft_batch(key, logits, K, 0.5)
    return weights(logits), jax.grad(lambda logits: (weights(logits) ** 2).sum())(logits)


def test_excluded_rows_get_no_weight_and_no_gradient(getkey):
    weights, slope = map(np.asarray, soft_and_slope(getkey(), np.append(LOGITS, EXCLUDED)))
    assert weights[5] == 0.0
    assert slope[5] == 0.0
    assert np.isfinite(slope).all()


def soft(logits, key):
    return soft_batch(key, logits, K, 0.5)


def test_the_soft_gradient_agrees_with_finite_differences(getkey):
    slope, differences = slope_and_differences(soft, LOGITS, getkey())
    assert_allclose(slope, differences, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("k", [0, 6])
@pytest.mark.parametrize("draw", [hard_batch, lambda *args: soft_batch(*args, 0.1)])
def test_an_impossible_batch_size_is_refused(getkey, k, draw):
    with pytest.raises(InvalidInput, match=f"Cannot draw k={k} rows from a pool of 5"):
        draw(getkey(), jnp.asarray(LOGITS), k)


@pytest.mark.parametrize("runaway", [800.0, -800.0])
def test_the_gradient_of_a_runaway_logit_is_finite(runaway):
    _, slope = set_log_prob_and_slope(with_first(runaway), np.array([0, 1, 3]))
    assert np.isfinite(slope).all()
