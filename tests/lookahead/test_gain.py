"""The gain and what one more row adds to it; and that planning never builds pool × pool."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import ClosedJaxpr, Jaxpr
from numpy.testing import assert_allclose

from labelwise.estimands.moments import exact_moments
from labelwise.lookahead.gain import Slots, added_gain, batch_gain, remaining
from labelwise.lookahead.posterior_view import exact_view, variance_view
from labelwise.lookahead.scorers.base import ExactScorer
from labelwise.numerics import in_blocks
from labelwise.policies.constraints import Candidates, Spending
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.search import _pair_gains, greedy
from labelwise.types import Pool
from tests.lookahead.problems import expected_variance_by_hand, random_problem

POOL = 9
BATCHES = ([0], [3, 1], [5, 2, 4], [0, 1, 2, 3, 4, 5])
KNOWN = ([], [2], [4, 1])
PAIRED = np.array([0, 5, 2, 1])
SEEDS = pytest.mark.parametrize("seed", range(4))


def slots_with(view, rows, k):
    """Slots of size k with these rows, and gaps among them."""
    slots = Slots.empty(view, k)
    for place, row in zip(range(k - len(rows), k), rows, strict=True):
        row = jnp.asarray(row)
        slots = slots.put(jnp.asarray(place), row, view.columns(row[None]))
    return slots


@eqx.filter_jit
def gains_of(belief, estimand, pool):
    """Of all that is asked for below, in one program for each kind of problem."""
    view = exact_view(belief, estimand, pool.x)
    batches = [batch_gain(view, jnp.array(rows))[0] for rows in BATCHES]
    left = [remaining(view, slots_with(view, rows, 3)) for rows in KNOWN]
    added = [added_gain(view, each)[0] for each in left]
    one = remaining(view, slots_with(view, [3], 2))
    pairs = one.gain[0], _pair_gains(view, one, jnp.asarray(PAIRED))[0]
    chosen = greedy(ExactScorer(view), Candidates.of(pool), 4).rows
    now = exact_moments(belief, estimand).variance
    return now, batches, [each.gain[0] for each in left], added, pairs, chosen


@cache
def found(seed):
    belief, estimand, x = random_problem(seed, pool=POOL)
    return jax.tree.map(np.asarray, gains_of(belief, estimand, Pool(x)))


def left_by_hand(seed, rows):
    return expected_variance_by_hand(*random_problem(seed, pool=POOL), rows)


@SEEDS
def test_the_gain_is_the_fall_of_the_expected_variance(seed):
    now, gains, *_ = found(seed)
    for rows, gain in zip(BATCHES, gains, strict=True):
        by_hand = now - left_by_hand(seed, rows)
        assert_allclose(gain, by_hand, rtol=1e-9, atol=1e-12, err_msg=str(rows))


@SEEDS
@pytest.mark.parametrize("case", range(len(KNOWN)), ids=map(str, KNOWN))
def test_what_a_row_adds_is_the_difference_of_two_gains(seed, case):
    now, _, before, added, *_ = found(seed)
    known, before, added = KNOWN[case], before[case], added[case]
    assert_allclose(before, now - left_by_hand(seed, known), rtol=1e-9, atol=1e-14)
    for row in set(range(POOL)) - set(known):
        after = now - left_by_hand(seed, [*known, row])
        assert_allclose(added[row], after - before, rtol=1e-8, atol=1e-12)


@SEEDS
def test_what_two_rows_add_is_the_difference_of_two_gains(seed):
    now, *_, (before, pairs), _ = found(seed)
    for i, j in ((0, 1), (3, 2), (1, 3)):
        after = now - left_by_hand(seed, [3, PAIRED[i], PAIRED[j]])
        assert_allclose(before + pairs[i, j], after, rtol=1e-8)
        assert_allclose(pairs[i, j], pairs[j, i], rtol=1e-8)


@SEEDS
def test_greedy_takes_the_rows_of_the_plain_formula_in_the_same_order(seed):
    chosen: list[int] = []
    for _ in range(4):
        others = [row for row in range(POOL) if row not in chosen]
        chosen.append(min(others, key=lambda row: left_by_hand(seed, [*chosen, row])))
    assert found(seed)[-1].tolist() == chosen


@eqx.filter_jit
def falls_of_the_variance(belief, estimand, x):
    """By the view; and by conditioning on each row in turn."""
    view = variance_view(belief, estimand, x)
    known = lambda row: belief.condition(row[None], jnp.zeros(1)).variance(estimand.x)
    after = jax.lax.map(known, x)
    by_hand = (belief.variance(estimand.x)[None, :] - after) @ estimand.mass
    return view.spread[0] / (view.variance + view.noise), by_hand


def test_reducing_the_mean_variance_counts_each_target_row_by_its_mass():
    fall, by_hand = falls_of_the_variance(*random_problem(0, pool=POOL))
    assert_allclose(fall, by_hand, rtol=1e-9)


@eqx.filter_jit
def in_blocks_and_whole(belief, x):
    whole = lambda x: (belief.mean(x), belief.embed(x))
    return in_blocks(whole, x, block=5), whole(x)


def test_working_in_blocks_changes_nothing():
    x = np.random.default_rng(5).normal(size=(23, 2))
    both = in_blocks_and_whole(random_problem(1, pool=POOL)[0], jnp.asarray(x))
    for mine, yours in zip(*map(jax.tree.leaves, both), strict=True):
        assert_allclose(mine, yours, atol=1e-12)


def test_no_array_is_pool_by_pool_or_target_by_target_by_pool():
    pool, target = 6000, 50
    belief, estimand, x = random_problem(0, pool=pool, target=target)
    policy, key = Lookahead(), jax.random.key(0)
    choose = lambda x: policy.choose(key, belief, estimand, Pool(x), 4, Spending()).indices
    traced = jax.make_jaxpr(choose)(x)
    largest = max(np.prod(shape, dtype=float) for shape in every_shape(traced.jaxpr))
    assert pool * target <= largest < target**2 * pool / 2


def every_shape(jaxpr: Jaxpr):
    for equation in jaxpr.eqns:
        yield from (variable.aval.shape for variable in equation.outvars)  # pyright: ignore
        for parameter in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda leaf: isinstance(leaf, ClosedJaxpr)
        ):
            if isinstance(parameter, ClosedJaxpr):
                yield from every_shape(parameter.jaxpr)
            elif isinstance(parameter, Jaxpr):
                yield from every_shape(parameter)
