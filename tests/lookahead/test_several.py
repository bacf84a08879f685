"""Several estimands planned for together: part by part as if alone, then weighed by hand."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.estimands.combine import TIE_BREAK, Several
from labelwise.estimands.named import Accuracy, MeanOutcome, MeanSquaredError
from labelwise.lookahead.gain import Slots, added_gain, batch_gain, remaining
from labelwise.lookahead.path import variance_along
from labelwise.lookahead.posterior_view import exact_view
from labelwise.lookahead.scorers.base import ExactScorer
from labelwise.lookahead.soft import Heaviest, soft_variance
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.search import _pair_gains
from labelwise.types import Pool
from tests.lookahead.problems import expected_variance_by_hand, random_problem, subsets

WEIGHTS = np.array([1.0, 2.0, 0.5, 1.5])
SOFT = np.array([0.9, 0.0, 0.35, 1.0, 0.6, 0.1])
BATCHES = ([2], [5, 0, 3])
BOTH = pytest.mark.parametrize(
    "combine", ["sum", pytest.param("worst", marks=pytest.mark.slow)]
)


def belief():
    return random_problem(0)[0]


def pool_x():
    return random_problem(0)[2]


@cache
def parts():
    """A linear one stands before the curved ones, so that the rows of the two kinds differ."""
    x = random_problem(0)[1].x
    return (
        MeanOutcome(x, where=[1, 1, 0, 0, 1]),
        MeanSquaredError(x, 0.4, where=[0, 1, 1, 1, 0]),
        Accuracy(x, [0.1, 0.9, 0.2, 0.7, 0.6]),
        MeanSquaredError(x, -0.5),
    )


@cache
def several(combine="sum"):
    return Several(parts(), WEIGHTS, combine)


def left_by_hand(rows):
    left = lambda part: expected_variance_by_hand(belief(), part, pool_x(), rows)
    return np.array([left(part) for part in parts()])


@cache
def now():
    return left_by_hand([])


def total_by_hand(variances, combine):
    """Weighted shares of the present variances that are left: their sum, or the largest."""
    shares = WEIGHTS * variances / now()
    return shares.sum() if combine == "sum" else shares.max() + TIE_BREAK * shares.mean()


def slots_with(view, rows):
    slots = Slots.empty(view, 3)
    for place, row in enumerate(rows):
        row = jnp.asarray(row)
        slots = slots.put(jnp.asarray(place), row, view.columns(row[None]))
    return slots


@eqx.filter_jit
def batches_of(belief, aim, pool_x, weight):
    """Gains of hard batches, and what a soft one leaves."""
    view, covariance = exact_view(belief, aim, pool_x), belief.covariance(aim.x)
    gains = [batch_gain(view, jnp.array(rows)) for rows in BATCHES]
    heaviest = Heaviest(jnp.arange(6), jnp.asarray(weight))
    return gains, soft_variance(view, heaviest, covariance)


@cache
def together():
    return jax.tree.map(np.asarray, batches_of(belief(), several(), pool_x(), SOFT))


@cache
def alone():
    of = lambda part: batches_of(belief(), part, pool_x(), SOFT)
    return [jax.tree.map(np.asarray, of(part)) for part in parts()]


def test_each_part_gains_as_if_it_were_alone():
    for number, (rows, found) in enumerate(zip(BATCHES, together()[0], strict=True)):
        assert_allclose(found, now() - left_by_hand(rows), rtol=1e-9)
        for one, gain in zip(alone(), found, strict=True):
            assert_allclose(one[0][number], [gain], rtol=1e-9)


@eqx.filter_jit
def added_to(belief, aim, pool_x):
    """What rows add to rows 4 and 1, and what pairs of the rows 0, 5 and 2 add to row 4."""
    view = exact_view(belief, aim, pool_x)
    left = remaining(view, slots_with(view, [4, 1]))
    one = remaining(view, slots_with(view, [4]))
    pairs = _pair_gains(view, one, jnp.array([0, 5, 2]))
    return left.gain, added_gain(view, left), pairs


@cache
def added():
    return [np.asarray(one) for one in added_to(belief(), several(), pool_x())]


def test_what_a_row_adds_is_known_for_each_part():
    gain, rows, _ = added()
    assert_allclose(gain, now() - left_by_hand([4, 1]), rtol=1e-9)
    for row in (0, 2, 3, 5):
        fall = left_by_hand([4, 1]) - left_by_hand([4, 1, row])
        assert_allclose(rows[:, row], fall, rtol=1e-8, atol=1e-12)


def test_what_two_rows_add_is_known_for_each_part():
    pairs = added()[2]
    assert pairs.shape == (4, 3, 3)
    for i, j, rows in ((0, 1, [4, 0, 5]), (2, 1, [4, 2, 5])):
        fall = left_by_hand([4]) - left_by_hand(rows)
        assert_allclose(pairs[:, i, j], fall, rtol=1e-8, atol=1e-12)


@eqx.filter_jit
def prospect_with_row_3(belief, aim, pool_x):
    view = exact_view(belief, aim, pool_x)
    return ExactScorer(view).gains(slots_with(view, [3]))


@BOTH
def test_the_prospect_weighs_the_parts_together(combine):
    found = prospect_with_row_3(belief(), several(combine), pool_x())
    gain, added = map(np.asarray, found)
    begin = total_by_hand(now(), combine)
    assert gain == pytest.approx(begin - total_by_hand(left_by_hand([3]), combine))
    for row in (0, 1, 2, 4, 5):
        after = begin - total_by_hand(left_by_hand([3, row]), combine)
        assert gain + added[row] == pytest.approx(after, rel=1e-8)


def test_a_soft_batch_leaves_each_part_what_it_would_leave_it_alone():
    assert_allclose(together()[1], [one[1][0] for one in alone()], rtol=1e-9)


def test_along_a_path_every_part_is_followed():
    orders = jnp.array([[3, -1, 0, 5]])
    found = variance_along(jax.random.key(0), belief(), several(), pool_x(), orders)
    assert found.shape == (1, 4, 5)
    expected = [now(), *(left_by_hand(rows) for rows in ([3], [3], [3, 0], [3, 0, 5]))]
    assert_allclose(np.asarray(found)[0], np.transpose(expected), rtol=1e-8)


def shapes(aim):
    """Which parts are curved, and the shapes of what a view keeps for them."""
    seen = eqx.filter_eval_shape(exact_view, belief(), aim, pool_x())
    columns = eqx.filter_eval_shape(lambda seen: seen.columns(jnp.array([1, 2])), seen)
    return seen.parts.curved, seen.spread.shape, columns.product.shape


def test_linear_parts_carry_no_products():
    linear = Several([parts()[0], parts()[2]])
    assert shapes(linear) == ((), (0, 6), (0, 2, 6))
    assert shapes(several()) == ((1, 3), (2, 6), (2, 2, 6))


@BOTH
def test_lookahead_finds_the_best_batch_for_all_parts(combine):
    key, aim = jax.random.key(0), several(combine)
    batch = Lookahead().propose(key, belief(), aim, Pool(pool_x()), 2)
    left = lambda rows: total_by_hand(left_by_hand(rows), combine)
    best = min(left(rows) for rows in subsets(6, 2))
    assert left(np.asarray(batch.indices)) == pytest.approx(best, rel=1e-9)


@pytest.mark.slow
def test_of_one_part_it_plans_as_for_that_part():
    policy, one = Lookahead(effort="greedy"), parts()[1]

    def plan(aim):
        batch = policy.propose(jax.random.key(0), belief(), aim, Pool(pool_x()), 2)
        return set(np.asarray(batch.indices).tolist())

    for combine in ("sum", "worst"):
        assert plan(one) == plan(Several([one], combine=combine)), combine
