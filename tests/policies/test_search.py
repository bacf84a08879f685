"""Search over the exact gain: what each stage promises, by enumeration."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.errors import InvalidInput
from labelwise.lookahead.posterior_view import exact_view
from labelwise.lookahead.scorers.base import ExactScorer
from labelwise.policies import lookahead
from labelwise.policies.baselines import Random
from labelwise.policies.constraints import Candidates, Spending
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.search import beam, greedy, net_gain, pair_swap, swap
from labelwise.types import Pool
from tests.lookahead.problems import Gains, random_problem, subsets

POOL, K = 10, 3
FREE = np.arange(POOL) != 4
# Curved and linear: problems of each differ in their numbers only.
LINEAR = [pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 8, 14)]
SEEDS = pytest.mark.parametrize("seed", [1, 3, 7, *LINEAR])


@cache
def problem(seed):
    return random_problem(seed, pool=POOL)


@cache
def gains(seed):
    return Gains.of(*problem(seed))


@eqx.filter_jit
def run_stages(belief, estimand, pool_x, free):
    """The rows and the gain that each stage ends with."""
    view, candidates = (
        exact_view(belief, estimand, pool_x),
        Candidates(free, None, None, Spending()),
    )
    scorer = ExactScorer(view)
    first = greedy(scorer, candidates, K)
    second = swap(scorer, candidates, first)
    found = {
        "greedy": first,
        "swap": second,
        "pairs": pair_swap(view, free, first),
        "swap and pairs": pair_swap(view, free, second),
        "beam of 1": beam(view, free, K, 1),
        "beam of 45": beam(view, free, K, 45),  # as wide as all pairs
    }
    return {
        name: (slots.rows, net_gain(scorer, candidates, slots)) for name, slots in found.items()
    }


@cache
def stages(seed):
    """The rows of each stage: lawful ones, whose columns are in step with them."""
    found = {}
    for name, (rows, gain) in run_stages(*problem(seed), jnp.asarray(FREE)).items():
        found[name] = sorted(np.asarray(rows).tolist())
        assert len(set(found[name])) == K
        assert 4 not in found[name]
        assert_allclose(gain, gains(seed)(found[name]), rtol=1e-8)
    return found


def lawful_subsets(k=K):
    every = subsets(POOL, k)
    return every[~(every == 4).any(axis=1)]


def best_near(seed, rows, swaps):
    """The largest gain that some swaps of single rows reach."""
    every = lawful_subsets()
    return gains(seed)(every[np.isin(every, rows).sum(axis=1) >= K - swaps]).max()


@SEEDS
def test_no_single_swap_helps_after_swaps(seed):
    rows = stages(seed)["swap"]
    assert best_near(seed, rows, 1) <= gains(seed)(rows) * (1 + 1e-8)


@SEEDS
def test_no_pair_of_swaps_helps_after_pair_swaps(seed):
    rows = stages(seed)["pairs"]
    assert best_near(seed, rows, 2) <= gains(seed)(rows) * (1 + 1e-8)


@SEEDS
def test_a_beam_of_one_is_greedy(seed):
    assert set(stages(seed)["beam of 1"]) == set(stages(seed)["greedy"])


@SEEDS
def test_a_beam_as_wide_as_all_pairs_finds_the_best_batch(seed):
    best = gains(seed)(lawful_subsets()).max()
    assert_allclose(gains(seed)(stages(seed)["beam of 45"]), best, rtol=1e-9)


@SEEDS
def test_each_stage_is_at_least_as_good_as_the_one_before(seed):
    found = [gains(seed)(stages(seed)[name]) for name in ("greedy", "swap", "swap and pairs")]
    assert found == sorted(found)


def propose(policy, seed, k, available=FREE):
    belief, estimand, pool_x = problem(seed)
    pool = Pool(pool_x, available)
    return policy.propose(jax.random.key(0), belief, estimand, pool, k)


@pytest.mark.parametrize("k", [1, 2, pytest.param(POOL - 1, marks=pytest.mark.slow)])
def test_lookahead_finds_the_best_batch_where_pairs_reach_every_batch(k):
    batch, best = propose(Lookahead(), 3, k), gains(3)(lawful_subsets(k)).max()
    assert_allclose(gains(3)(batch.indices), best, rtol=1e-9)


def test_swaps_in_a_shortlist_keep_or_improve_the_greedy_batch(monkeypatch):
    monkeypatch.setattr(lookahead, "SHORTLIST", 6)
    gain = lambda effort: gains(1)(propose(Lookahead(effort=effort), 1, K).indices)
    assert gain("swaps") >= gain("greedy")


def test_scores_are_what_each_row_would_gain_alone():
    batch = propose(Lookahead(), 3, 1, np.ones(POOL, bool))
    assert_allclose(batch.scores, gains(3)(np.arange(POOL)[:, None]), rtol=1e-9)


@pytest.mark.parametrize("k", [1, K])
def test_without_a_search_scores_are_the_same_and_the_largest_are_taken(k):
    batch, full = propose(Lookahead(effort="scores"), 3, k), propose(Lookahead(), 3, k)
    alone = gains(3)(np.arange(POOL)[:, None])
    assert_allclose(batch.scores, alone, rtol=1e-9)
    assert_allclose(batch.logits, full.logits, rtol=1e-9)
    best = [row for row in np.argsort(-np.asarray(alone)) if FREE[row]][:k]
    assert np.asarray(batch.indices).tolist() == best
    assert not np.asarray(batch.drawn).any()


def test_draws_need_no_search_unless_one_was_asked_for():
    assert lookahead.for_draws(Lookahead()) == Lookahead(effort="scores")
    assert lookahead.for_draws(Lookahead(effort="swaps")) == Lookahead(effort="swaps")
    assert lookahead.for_draws(Random()) == Random()


@pytest.mark.usefixtures("unchecked")
def test_unknown_effort_is_refused():
    rule = "effort must be auto, greedy, swaps, thorough or scores"
    with pytest.raises(InvalidInput, match=rule):
        Lookahead(effort="hard")  # pyright: ignore


def test_a_beam_without_width_is_refused():
    with pytest.raises(InvalidInput, match="width must be at least 1; it is 0"):
        Lookahead(width=0)
