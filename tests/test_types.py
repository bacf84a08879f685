"""The shared records, and what they refuse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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


BAD = {
    "no rows": ("pool x", lambda: Pool(np.zeros((0, 2)))),
    "a missing feature": ("pool x", lambda: Pool([[1.0, np.nan]])),
    "marks of another length": ("pool available", lambda: Pool(X, [True] * 3)),
    "marks that are numbers": ("pool available", lambda: Pool(X, [0.5, 1.0, 1.0, 1.0])),
    "fractions pending": ("pool pending", lambda: Pool(X, pending=[0.5, 1.0])),
    "marks pending": ("pool pending", lambda: Pool(X, pending=[True, False, True, False])),
    "a table pending": ("pool pending", lambda: Pool(X, pending=[[0, 1]])),
    "pending beyond the pool": ("pool pending", lambda: Pool(X, pending=[1, 4, -1])),
    "pending before the pool": ("pool pending", lambda: Pool(X, pending=[-2, 1])),
    "pending twice": ("pool pending", lambda: Pool(X, pending=[3, -1, 3, -1])),
    "free labels": ("pool cost", lambda: Pool(X, cost=[1.0, 0.0, 2.0, -1.0])),
    "costs of other rows": ("pool cost", lambda: Pool(X, cost=[1.0, 2.0])),
    "units of other rows": ("pool unit", lambda: Pool(X, unit=[0, 1])),
    "chances of other units": (
        "assignment chance",
        lambda: Pool(X, assignment=Assignment(1, 0.5, 3)),
    ),
    "a treatment elsewhere": (
        "assignment column",
        lambda: Pool(X, assignment=Assignment(2, 0.5, 4)),
    ),
    "rows that are not there": ("indices", lambda: Pool(X).without([4])),
    "a batch too large": ("k", lambda: Pool(X, pending=[0]).check_can_give(4)),
    "a batch of a used-up pool": ("k", lambda: Pool(X, [False] * 4).check_can_give(1)),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_pool_is_refused(name, refused):
    where, action = BAD[name]
    with refused(where=where):
        action()
