"""The shared records, and what they refuse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from labelwise.errors import InvalidInput
from labelwise.estimands.loss import MeanSquaredError
from labelwise.estimands.outcome import MeanOutcome
from labelwise.types import Assignment, Pool

X = np.arange(8.0).reshape(4, 2)


def test_a_pool_starts_with_every_row_available():
    assert Pool(X).available.all()
    assert Pool(X.tolist()).size == 4


def test_rows_leave_a_copy_of_the_pool():
    pool = Pool(X)
    smaller = pool.without(jnp.array([2, 0]))
    assert np.asarray(smaller.available).tolist() == [False, True, False, True]
    assert pool.available.all()


def test_nothing_is_pending_unless_said():
    assert Pool(X).pending.shape == (0,)
    assert Pool(X, pending=[]).pending.shape == (0,)


def test_pending_rows_are_not_available():
    pool = Pool(X, [True, True, True, False], pending=[2, -1, 0])
    assert np.asarray(pool.pending).tolist() == [2, -1, 0]
    assert np.asarray(pool.available).tolist() == [False, True, False, False]


def test_unused_places_take_no_row_away():
    assert Pool(X, pending=[-1, -1]).available.all()


def test_rows_that_leave_the_pool_leave_pending_as_it_is():
    pool = Pool(X, pending=[2, -1]).without([1])
    assert np.asarray(pool.pending).tolist() == [2, -1]
    assert np.asarray(pool.available).tolist() == [True, False, False, True]


def test_of_a_unit_one_row_at_most_is_left():
    pool = Pool(X, unit=["a", "b", "a", "c"])
    assert pool.count_left() == 3
    assert np.asarray(pool.without([2]).available).tolist() == [False, True, False, True]
    assert pool.without([2]).count_left() == 2
    assert Pool(X, pending=[0, -1], unit=pool.unit).count_left() == 2


def test_some_rows_of_a_pool_keep_what_is_pending_beside_them():
    pool = Pool(X, pending=[1, -1], cost=[1.0, 2.0, 3.0, 4.0], unit=["a", "b", "a", "c"])
    some = pool.take(jnp.array([3, 0]))
    assert np.asarray(some.x)[:3].tolist() == X[[3, 0, 1]].tolist()
    assert np.asarray(some.available).tolist() == [True, True, False, False]
    assert np.asarray(some.pending).tolist() == [2, -1]
    assert np.asarray(some.cost)[:3].tolist() == [4.0, 1.0, 2.0]


def test_the_arms_of_a_pool_are_its_units_untreated_then_treated():
    arms = np.asarray(Pool(X, assignment=Assignment(-1, 0.5, 4)).arms)
    assert arms[:, 0].tolist() == [*X[:, 0], *X[:, 0]]
    assert arms[:, 1].tolist() == [0.0] * 4 + [1.0] * 4


def test_a_pool_can_be_made_inside_a_compiled_function():
    made = jax.jit(lambda pending: Pool(X, pending=pending).available)(jnp.array([3, -1]))
    assert np.asarray(made).tolist() == [True, True, True, False]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Pool(np.zeros((0, 2))), "The pool is empty; give at least one row"),
        (lambda: Pool([[1.0, np.nan]]), "pool x is NaN or infinite in row 0"),
        (lambda: Pool(np.zeros(3)), r"pool x must have two axes \(rows, features\)"),
        (lambda: Pool([["a", "b"]]), "pool x must hold numbers only"),
        (lambda: Pool(X, [True] * 3), r"pool available has shape \(3,\) but pool x has 4 rows"),
        (
            lambda: Pool(X, pending=[0.5, 1.0]),
            r"pool pending must be a list of whole row numbers of pool x, -1 for an unused "
            r"place; it holds float64 of shape \(2,\)",
        ),
        (
            lambda: Pool(X, pending=[True, False, True, False]),
            r"pool pending must be a list of .* it holds bool of shape \(4,\)",
        ),
        (lambda: Pool(X, pending=[[0, 1]]), r"it holds int64 of shape \(1, 2\)"),
        (
            lambda: Pool(X, pending=[1, 4, -1]),
            r"pool pending must point at the 4 rows of pool x \(0 to 3\), or be -1 for an "
            "unused place; its rows range from 1 to 4",
        ),
        (lambda: Pool(X, pending=[-2, 1]), "its rows range from -2 to 1"),
        (
            lambda: Pool(X, pending=[3, -1, 3, -1]),
            "pool pending holds row 3 more than once; give each pending row once",
        ),
        (
            lambda: MeanSquaredError(X, np.zeros(3)),
            "prediction has 3 values but target x has 4",
        ),
        (
            lambda: MeanSquaredError(X, [0, 1, np.nan, 2]),
            "prediction is NaN or infinite in row 2",
        ),
        (lambda: MeanOutcome(X, [1, -1, 1, 1]), "target mass must not be negative; see row 1"),
        (lambda: MeanOutcome(X, np.zeros(4)), "target mass is zero on every row of target x"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
