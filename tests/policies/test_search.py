"""Search over the exact gain: what each stage promises, by enumeration."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.errors import InvalidInput
from labelwise.lookahead.gain import batch_gain
from labelwise.lookahead.outlook import look
from labelwise.lookahead.prospect import ExactProspect
from labelwise.policies import lookahead
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.offer import Offer, Spending
from labelwise.policies.search import beam, greedy, net_gain, pair_swap, swap
from labelwise.types import Pool
from tests.lookahead.problems import random_problem, subsets

POOL, K = 10, 3
FREE = jnp.arange(POOL) != 4
OFFER = Offer(FREE, None, None, Spending())
SEEDS = pytest.mark.parametrize("seed", range(6))
see = eqx.filter_jit(look)
every_gain = eqx.filter_jit(jax.vmap(lambda *both: batch_gain(*both)[0], (None, 0)))
run_greedy = eqx.filter_jit(lambda outlook: greedy(ExactProspect(outlook), OFFER, K))
run_swap = eqx.filter_jit(lambda outlook, slots: swap(ExactProspect(outlook), OFFER, slots))
run_pairs = eqx.filter_jit(lambda outlook, slots: pair_swap(outlook, FREE, slots))
run_beam = eqx.filter_jit(lambda outlook, width: beam(outlook, FREE, K, width))


def lawful_subsets(k=K):
    every = subsets(POOL, k)
    return jnp.asarray(every[~(every == 4).any(axis=1)])


def gain_of(outlook, slots):
    rows = np.asarray(slots.rows)
    assert len(set(rows.tolist())) == len(rows)
    assert 4 not in rows
    gain = every_gain(outlook, slots.rows[None, :])[0]
    # Its columns are in step.
    assert_allclose(net_gain(ExactProspect(outlook), OFFER, slots), gain, rtol=1e-8)
    return float(gain)


@SEEDS
def test_no_single_swap_helps_after_swaps(seed):
    outlook = see(*random_problem(seed, pool=POOL))
    slots = run_swap(outlook, run_greedy(outlook))
    mine = gain_of(outlook, slots)
    rows = set(np.asarray(slots.rows).tolist())
    near = [s for s in lawful_subsets().tolist() if len(rows & set(s)) == K - 1]
    assert every_gain(outlook, jnp.array(near)).max() <= mine * (1 + 1e-8)


@SEEDS
def test_no_pair_of_swaps_helps_after_pair_swaps(seed):
    outlook = see(*random_problem(seed, pool=POOL))
    slots = run_pairs(outlook, run_greedy(outlook))
    mine = gain_of(outlook, slots)
    rows = set(np.asarray(slots.rows).tolist())
    near = [s for s in lawful_subsets().tolist() if len(rows & set(s)) >= K - 2]
    assert every_gain(outlook, jnp.array(near)).max() <= mine * (1 + 1e-8)


@SEEDS
def test_a_beam_of_one_is_greedy(seed):
    outlook = see(*random_problem(seed, pool=POOL))
    assert set(np.asarray(run_beam(outlook, 1).rows)) == set(
        np.asarray(run_greedy(outlook).rows)
    )


@SEEDS
def test_a_beam_as_wide_as_all_pairs_finds_the_best_batch(seed):
    outlook = see(*random_problem(seed, pool=POOL))
    best = every_gain(outlook, lawful_subsets()).max()
    assert_allclose(gain_of(outlook, run_beam(outlook, 45)), best, rtol=1e-9)


@SEEDS
def test_each_stage_is_at_least_as_good_as_the_one_before(seed):
    outlook = see(*random_problem(seed, pool=POOL))
    first = run_greedy(outlook)
    second = run_swap(outlook, first)
    third = run_pairs(outlook, second)
    gains = [gain_of(outlook, slots) for slots in (first, second, third)]
    assert gains == sorted(gains)


@pytest.mark.parametrize("k", [1, 2, POOL - 1])
def test_lookahead_finds_the_best_batch_where_pairs_reach_every_batch(k):
    belief, estimand, pool_x = random_problem(3, pool=POOL)
    batch = Lookahead().propose(jax.random.key(0), belief, estimand, Pool(pool_x, FREE), k)
    outlook = see(belief, estimand, pool_x)
    best = every_gain(outlook, lawful_subsets(k)).max()
    assert_allclose(every_gain(outlook, batch.indices[None, :])[0], best, rtol=1e-9)


def test_swaps_in_a_shortlist_keep_or_improve_the_greedy_batch(monkeypatch):
    monkeypatch.setattr(lookahead, "SHORTLIST", 6)
    belief, estimand, pool_x = random_problem(1, pool=POOL)
    outlook, pool, key = see(belief, estimand, pool_x), Pool(pool_x, FREE), jax.random.key(0)
    propose = lambda effort: Lookahead(effort=effort).propose(key, belief, estimand, pool, K)
    gain = lambda batch: every_gain(outlook, batch.indices[None, :])[0]
    assert gain(propose("swaps")) >= gain(propose("greedy"))


def test_scores_are_what_each_row_would_gain_alone():
    belief, estimand, pool_x = random_problem(0, pool=POOL)
    batch = Lookahead().propose(jax.random.key(0), belief, estimand, Pool(pool_x), 1)
    alone = every_gain(see(belief, estimand, pool_x), jnp.arange(POOL)[:, None])
    assert_allclose(batch.scores, alone, rtol=1e-9)


@pytest.mark.usefixtures("unchecked")
def test_unknown_effort_is_refused():
    with pytest.raises(InvalidInput, match="effort must be auto, greedy, swaps or thorough"):
        Lookahead(effort="hard")  # pyright: ignore


def test_a_beam_without_width_is_refused():
    with pytest.raises(InvalidInput, match="width must be at least 1; it is 0"):
        Lookahead(width=0)
