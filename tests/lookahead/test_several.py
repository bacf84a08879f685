"""Several estimands planned for together: part by part as if alone, then weighed by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.estimands.classification import Accuracy
from labelwise.estimands.loss import MeanSquaredError
from labelwise.estimands.moments import exact_moments
from labelwise.estimands.outcome import MeanOutcome
from labelwise.estimands.several import TIE_BREAK, Several
from labelwise.lookahead.gain import Slots, added_gain, batch_gain, remaining
from labelwise.lookahead.outlook import look
from labelwise.lookahead.path import variance_along
from labelwise.lookahead.prospect import ExactProspect
from labelwise.lookahead.soft import Heaviest, soft_variance
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.search import _pair_gains
from labelwise.types import Pool
from tests.lookahead.problems import expected_variance_by_hand, random_problem, subsets

BELIEF, _, POOL = random_problem(0)
X = random_problem(0)[1].x
# A linear part stands before the curved ones, so that the rows of the two kinds differ.
PARTS = (
    MeanOutcome(X, where=[1, 1, 0, 0, 1]),
    MeanSquaredError(X, 0.4, where=[0, 1, 1, 1, 0]),
    Accuracy(X, [0.1, 0.9, 0.2, 0.7, 0.6]),
    MeanSquaredError(X, -0.5),
)
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.5])
BOTH = pytest.mark.parametrize("combine", ["sum", "worst"])
see = eqx.filter_jit(look)
gain_of = eqx.filter_jit(batch_gain)
NOW = np.array([float(exact_moments(BELIEF, part).variance) for part in PARTS])


def several(combine="sum"):
    return Several(PARTS, WEIGHTS, combine)


def left_by_hand(rows):
    return np.array([expected_variance_by_hand(BELIEF, part, POOL, rows) for part in PARTS])


def total_by_hand(variances, combine):
    """Weighted shares of the present variances that are left: their sum, or the largest."""
    shares = WEIGHTS * variances / NOW
    return shares.sum() if combine == "sum" else shares.max() + TIE_BREAK * shares.mean()


@eqx.filter_jit
def slots_with(outlook, rows):
    slots = Slots.empty(outlook, 3)
    for place, row in enumerate(rows):
        row = jnp.asarray(row)
        slots = slots.put(jnp.asarray(place), row, outlook.columns(row[None]))
    return slots


def test_each_part_gains_as_if_it_were_alone():
    outlook = see(BELIEF, several(), POOL)
    for rows in ([2], [5, 0, 3]):
        found = gain_of(outlook, jnp.array(rows))
        assert_allclose(found, NOW - left_by_hand(rows), rtol=1e-9)
        for part, gain in zip(PARTS, found, strict=True):
            alone = gain_of(see(BELIEF, part, POOL), jnp.array(rows))
            assert_allclose(alone, [gain], rtol=1e-9)


def test_what_a_row_adds_is_known_for_each_part():
    outlook = see(BELIEF, several(), POOL)
    left = eqx.filter_jit(remaining)(outlook, slots_with(outlook, [4, 1]))
    assert_allclose(left.gain, NOW - left_by_hand([4, 1]), rtol=1e-9)
    added = eqx.filter_jit(added_gain)(outlook, left)
    for row in (0, 2, 3, 5):
        fall = left_by_hand([4, 1]) - left_by_hand([4, 1, row])
        assert_allclose(added[:, row], fall, rtol=1e-8, atol=1e-12)


def test_what_two_rows_add_is_known_for_each_part():
    outlook = see(BELIEF, several(), POOL)
    left = eqx.filter_jit(remaining)(outlook, slots_with(outlook, [4]))
    pairs = eqx.filter_jit(_pair_gains)(outlook, left, jnp.array([0, 5, 2]))
    assert pairs.shape == (4, 3, 3)
    for i, j, rows in ((0, 1, [4, 0, 5]), (2, 1, [4, 2, 5])):
        fall = left_by_hand([4]) - left_by_hand(rows)
        assert_allclose(pairs[:, i, j], fall, rtol=1e-8, atol=1e-12)


@BOTH
def test_the_prospect_weighs_the_parts_together(combine):
    outlook = see(BELIEF, several(combine), POOL)
    gain, added = eqx.filter_jit(ExactProspect.gains)(
        ExactProspect(outlook), slots_with(outlook, [3])
    )
    begin = total_by_hand(NOW, combine)
    assert float(gain) == pytest.approx(begin - total_by_hand(left_by_hand([3]), combine))
    for row in (0, 1, 2, 4, 5):
        after = begin - total_by_hand(left_by_hand([3, row]), combine)
        assert float(gain + added[row]) == pytest.approx(after, rel=1e-8)


def test_a_soft_batch_leaves_each_part_what_it_would_leave_it_alone():
    weight = Heaviest(jnp.arange(6), jnp.array([0.9, 0.0, 0.35, 1.0, 0.6, 0.1]))
    covariance = BELIEF.covariance(X)
    soft = eqx.filter_jit(lambda outlook: soft_variance(outlook, weight, covariance))
    together = soft(see(BELIEF, several(), POOL))
    alone = [soft(see(BELIEF, part, POOL))[0] for part in PARTS]
    assert_allclose(together, alone, rtol=1e-9)


def test_along_a_path_every_part_is_followed():
    orders = jnp.array([[3, -1, 0, 5]])
    path = variance_along(jax.random.key(0), BELIEF, several(), POOL, orders)[0]
    assert path.shape == (4, 5)
    expected = [NOW, *(left_by_hand(rows) for rows in ([3], [3], [3, 0], [3, 0, 5]))]
    assert_allclose(path, np.transpose(expected), rtol=1e-8)


def test_linear_parts_carry_no_products():
    linear = Several([PARTS[0], PARTS[2]])
    outlook = see(BELIEF, linear, POOL)
    assert outlook.parts.curved == ()
    assert outlook.spread.shape == (0, 6)
    assert outlook.columns(jnp.array([1, 2])).product.shape == (0, 2, 6)
    mixed = see(BELIEF, several(), POOL)
    assert mixed.parts.curved == (1, 3)
    assert mixed.columns(jnp.array([1, 2])).product.shape == (2, 2, 6)


@BOTH
def test_lookahead_finds_the_best_batch_for_all_parts(combine):
    batch = Lookahead().propose(jax.random.key(0), BELIEF, several(combine), Pool(POOL), 2)
    left = lambda rows: total_by_hand(left_by_hand(rows), combine)
    best = min(left(rows) for rows in subsets(6, 2))
    assert left(np.asarray(batch.indices)) == pytest.approx(best, rel=1e-9)


def test_of_one_part_it_plans_as_for_that_part():
    alone, key, policy = PARTS[1], jax.random.key(0), Lookahead(effort="greedy")
    for combine in ("sum", "worst"):
        plan = lambda aim: policy.propose(key, BELIEF, aim, Pool(POOL), 2)
        one, same = plan(alone).indices, plan(Several([alone], combine=combine))
        assert set(np.asarray(one).tolist()) == set(np.asarray(same.indices).tolist())
