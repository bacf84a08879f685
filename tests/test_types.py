"""The shared records, and what they refuse."""

import jax.numpy as jnp
import numpy as np
import pytest

from labelwise.errors import InvalidInput
from labelwise.estimands.loss import MeanSquaredError
from labelwise.estimands.outcome import MeanOutcome
from labelwise.types import Pool

X = np.arange(8.0).reshape(4, 2)


def test_a_pool_starts_with_every_row_available():
    assert Pool(X).available.all()
    assert Pool(X.tolist()).size == 4


def test_rows_leave_a_copy_of_the_pool():
    pool = Pool(X)
    smaller = pool.without(jnp.array([2, 0]))
    assert np.asarray(smaller.available).tolist() == [False, True, False, True]
    assert pool.available.all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Pool(np.zeros((0, 2))), "The pool is empty; give at least one row"),
        (lambda: Pool([[1.0, np.nan]]), "pool x is NaN or infinite in row 0"),
        (lambda: Pool(np.zeros(3)), r"pool x must have two axes \(rows, features\)"),
        (lambda: Pool([["a", "b"]]), "pool x must hold numbers only"),
        (lambda: Pool(X, [True] * 3), r"pool available has shape \(3,\) but pool x has 4 rows"),
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
