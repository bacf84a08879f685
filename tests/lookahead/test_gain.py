"""The gain and what one more row adds to it; and that planning never builds pool × pool."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import ClosedJaxpr, Jaxpr
from numpy.testing import assert_allclose

from labelwise.estimands.moments import exact_moments
from labelwise.lookahead.gain import Slots, added_gain, batch_gain, remaining
from labelwise.lookahead.outlook import look, look_at_variance
from labelwise.lookahead.prospect import ExactProspect
from labelwise.numerics import in_blocks
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.offer import Offer, Spending
from labelwise.policies.search import _pair_gains, greedy
from labelwise.types import Pool
from tests.lookahead.problems import expected_variance_by_hand, random_problem

see = eqx.filter_jit(look)
gain_of = eqx.filter_jit(lambda *both: batch_gain(*both)[0])


def slots_with(outlook, rows, k):
    """Slots of size k with these rows, and gaps among them."""
    slots = Slots.empty(outlook, k)
    for place, row in zip(range(k - len(rows), k), rows, strict=True):
        row = jnp.asarray(row)
        slots = slots.put(jnp.asarray(place), row, outlook.columns(row[None]))
    return slots


@pytest.mark.parametrize("seed", range(4))
def test_the_gain_is_the_fall_of_the_expected_variance(seed):
    belief, estimand, pool_x = random_problem(seed)
    outlook = see(belief, estimand, pool_x)
    now = float(exact_moments(belief, estimand).variance)
    for rows in ([0], [3, 1], [5, 2, 4], [0, 1, 2, 3, 4, 5]):
        by_hand = now - expected_variance_by_hand(belief, estimand, pool_x, rows)
        assert_allclose(gain_of(outlook, jnp.array(rows)), by_hand, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("known", [[], [2], [4, 1]])
def test_what_a_row_adds_is_the_difference_of_two_gains(seed, known):
    outlook = see(*random_problem(seed))
    left = remaining(outlook, slots_with(outlook, known, 3))
    added = added_gain(outlook, left)[0]
    before = gain_of(outlook, jnp.array(known, int)) if known else 0.0
    assert_allclose(left.gain[0], before, rtol=1e-9, atol=1e-14)
    for row in set(range(6)) - set(known):
        after = gain_of(outlook, jnp.array([*known, row]))
        assert_allclose(added[row], after - before, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_what_two_rows_add_is_the_difference_of_two_gains(seed):
    outlook = see(*random_problem(seed))
    left = remaining(outlook, slots_with(outlook, [3], 2))
    rows = jnp.array([0, 5, 2, 1])
    pairs = _pair_gains(outlook, left, rows)
    for i, j in ((0, 1), (3, 2), (1, 3)):
        after = gain_of(outlook, jnp.array([3, rows[i], rows[j]]))
        assert_allclose(left.gain[0] + pairs[0, i, j], after, rtol=1e-8)
        assert_allclose(pairs[0, i, j], pairs[0, j, i], rtol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_greedy_takes_the_rows_of_the_plain_formula_in_the_same_order(seed):
    belief, estimand, pool_x = random_problem(seed, pool=9)
    chosen: list[int] = []
    for _ in range(4):
        others = [row for row in range(9) if row not in chosen]
        cost = lambda row: expected_variance_by_hand(belief, estimand, pool_x, [*chosen, row])
        chosen.append(min(others, key=cost))
    outlook = see(belief, estimand, pool_x)
    slots = greedy(ExactProspect(outlook), Offer.of(Pool(pool_x)), 4)
    assert np.asarray(slots.rows).tolist() == chosen


def test_reducing_the_mean_variance_counts_each_target_row_by_its_mass():
    belief, estimand, pool_x = random_problem(0)
    outlook = eqx.filter_jit(look_at_variance)(belief, estimand, pool_x)
    before = belief.variance(estimand.x) @ estimand.mass
    for row in range(6):
        after = belief.condition(pool_x[row : row + 1], jnp.zeros(1)).variance(estimand.x)
        fall = outlook.spread[0, row] / (outlook.variance[row] + outlook.noise[row])
        assert_allclose(fall, before - after @ estimand.mass, rtol=1e-9)


def test_working_in_blocks_changes_nothing():
    belief = random_problem(1)[0]
    x = jnp.asarray(np.random.default_rng(5).normal(size=(23, 2)))
    whole = lambda x: (belief.mean(x), belief.embed(x))
    for mine, yours in zip(
        jax.tree.leaves(in_blocks(whole, x, block=5)), jax.tree.leaves(whole(x)), strict=True
    ):
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
