"""K-subset draws: probabilities against enumeration, limits against closed forms."""

from itertools import combinations, permutations
from math import comb, lgamma

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from numpy.testing import assert_allclose

from labelwise.errors import InvalidInput
from labelwise.policies.subset import hard_batch, sequence_log_prob, set_log_prob, soft_batch
from labelwise.types import EXCLUDED

LOGITS = jnp.array([1.0, -0.5, 0.3, 2.0, 0.0])
K = 3
SEQUENCES = jnp.array(list(permutations(range(5), K)))
SETS = list(combinations(range(5), K))
sequence_probs = jax.jit(
    lambda logits: jnp.exp(jax.vmap(sequence_log_prob, (None, 0))(logits, SEQUENCES))
)
set_log_probs = jax.jit(jax.vmap(set_log_prob, (None, 0)))
soft = jax.jit(soft_batch, static_argnums=2)


def test_probabilities_of_every_sequence_sum_to_one():
    assert_allclose(sequence_probs(LOGITS).sum(), 1.0, rtol=1e-12)


def test_hard_batches_come_with_the_stated_probability(getkey):
    draws = 20_000
    keys = jax.random.split(getkey(), draws)
    drawn = jax.jit(jax.vmap(lambda key: hard_batch(key, LOGITS, K)))(keys)
    seen = (drawn[:, None] == SEQUENCES[None]).all(-1).mean(0)
    probs = sequence_probs(LOGITS)
    assert (jnp.abs(seen - probs) < 5 * jnp.sqrt(probs * (1 - probs) / draws)).all()


@pytest.mark.parametrize("shift", [0.0, 300.0, -300.0])
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_a_set_is_as_likely_as_all_its_orders_together(scale, shift):
    logits = scale * LOGITS
    by_order = sequence_probs(logits)
    for rows in SETS:
        orders = np.array([set(row) == set(rows) for row in np.asarray(SEQUENCES).tolist()])
        log_prob = set_log_probs(logits + shift, jnp.array([rows]))[0]
        assert_allclose(log_prob, np.log(by_order[orders].sum()), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("pool", "k"), [(500, 20), (500, 5), (40, 39), (7, 1)])
def test_under_equal_logits_every_set_is_equally_likely(pool, k):
    log_sets = lgamma(pool + 1) - lgamma(k + 1) - lgamma(pool - k + 1)
    log_prob = jax.jit(set_log_prob)(jnp.full(pool, -2.7), jnp.arange(k))
    assert_allclose(log_prob, -log_sets, rtol=1e-10)
    assert comb(7, 1) == round(np.exp(lgamma(8) - lgamma(2) - lgamma(7)))


def test_the_whole_pool_is_drawn_for_certain():
    assert set_log_prob(LOGITS, jnp.arange(5)) == 0.0


def test_excluded_rows_count_for_nothing():
    logits = jnp.append(LOGITS, EXCLUDED)
    rows = jnp.array([3, 0, 2])
    assert_allclose(set_log_prob(logits, rows), set_log_prob(LOGITS, rows), rtol=1e-12)
    assert set_log_prob(logits, jnp.arange(5)) == 0.0


def test_a_runaway_logit_does_not_spoil_the_probability_of_a_set():
    logits = LOGITS.at[0].set(500.0)  # row 0 is certain; then it is a draw of two from four
    rest = jnp.exp(
        jax.vmap(sequence_log_prob, (None, 0))(LOGITS[1:], jnp.array([[0, 2], [2, 0]]))
    )
    assert_allclose(set_log_prob(logits, jnp.array([0, 1, 3])), jnp.log(rest.sum()), rtol=1e-9)


@pytest.mark.parametrize("log_prob", [sequence_log_prob, set_log_prob])
def test_gradients_of_log_probabilities_agree_with_finite_differences(log_prob):
    rows = jnp.array([3, 0, 2])
    check_grads(
        jax.jit(lambda logits: log_prob(logits, rows)),
        (LOGITS,),
        1,
        ["rev"],
        eps=1e-5,
        rtol=1e-6,
    )


def test_the_mean_score_is_zero():
    """Σ_S P(S) ∇ log P(S) = ∇ 1 = 0, over all sets."""
    rows = jnp.array(SETS)
    total = jax.jit(jax.grad(lambda logits: jnp.exp(set_log_probs(logits, rows)).sum()))(LOGITS)
    assert_allclose(total, np.zeros(5), atol=1e-10)


@pytest.mark.parametrize("temperature", [0.05, 0.5, 5.0])
def test_soft_weights_sum_to_k(getkey, temperature):
    weights = soft(getkey(), LOGITS, K, temperature)
    assert (weights >= 0).all()
    assert_allclose(weights.sum(), K, rtol=1e-10)


def test_soft_tends_to_hard_under_the_same_key(getkey):
    keys = jax.random.split(getkey(), 50)
    weights = jax.jit(jax.vmap(lambda key: soft_batch(key, LOGITS, K, 1e-4)))(keys)
    rows = jax.vmap(lambda key: hard_batch(key, LOGITS, K))(keys)
    assert_allclose(weights, jax.nn.one_hot(rows, 5).sum(axis=1), atol=1e-3)


@pytest.mark.parametrize("runaway", [50.0, 500.0, 5e4])
def test_a_runaway_logit_is_drawn_once(getkey, runaway):
    weights = soft(getkey(), LOGITS.at[0].set(runaway), K, 0.1)
    assert_allclose(weights[0], 1.0, atol=1e-3)
    assert_allclose(weights.sum(), K, rtol=1e-10)


def test_excluded_rows_get_no_weight_and_no_gradient(getkey):
    logits, key = jnp.append(LOGITS, EXCLUDED), getkey()
    weights = soft(key, logits, K, 0.5)
    slope = jax.jit(jax.grad(lambda logits: (soft_batch(key, logits, K, 0.5) ** 2).sum()))(
        logits
    )
    assert weights[5] == 0.0
    assert slope[5] == 0.0
    assert jnp.isfinite(slope).all()


def test_the_soft_gradient_agrees_with_finite_differences(getkey):
    key = getkey()
    check_grads(
        jax.jit(lambda logits: soft_batch(key, logits, K, 0.5)),
        (LOGITS,),
        1,
        ["rev"],
        eps=1e-5,
        rtol=1e-6,
    )


@pytest.mark.parametrize("k", [0, 6])
@pytest.mark.parametrize("draw", [hard_batch, lambda *args: soft_batch(*args, 0.1)])
def test_an_impossible_batch_size_is_refused(getkey, k, draw):
    with pytest.raises(InvalidInput, match=f"Cannot draw k={k} rows from a pool of 5"):
        draw(getkey(), LOGITS, k)


@pytest.mark.parametrize("runaway", [800.0, -800.0])
def test_the_gradient_of_a_runaway_logit_is_finite(runaway):
    slope = jax.jit(jax.grad(set_log_prob))(LOGITS.at[0].set(runaway), jnp.array([0, 1, 3]))
    assert jnp.isfinite(slope).all()
