"""Outside data: what is accepted, and the exact sentence that refuses the rest."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from labelwise.errors import InvalidInput, LabelwiseError, NumericalError
from labelwise.inputs import (
    as_array,
    as_fractions,
    as_matrix,
    as_scalar,
    as_shares,
    as_vector,
    check_same_features,
    is_traced,
    rows,
)


@pytest.mark.parametrize(
    "table",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], np.int32),
        np.array([[1, 2], [3, 4]], np.float32),
        jnp.array([[1.0, 2.0], [3.0, 4.0]]),
        pd.DataFrame({"a": [1, 3], "b": [2.0, 4.0]}),
    ],
    ids=["lists", "int32", "float32", "jax", "pandas"],
)
def test_tables_of_numbers_of_any_kind_become_64_bit_arrays(table):
    array = as_matrix("x", table)
    assert isinstance(array, jax.Array)
    assert array.dtype == jnp.float64
    np.testing.assert_array_equal(array, [[1.0, 2.0], [3.0, 4.0]])


def test_truth_values_count_as_zero_and_one():
    np.testing.assert_array_equal(as_vector("y", [True, False], 2, "x"), [1.0, 0.0])


@pytest.mark.parametrize(
    "offset",
    [
        0,
        8,
    ],
)
def test_the_table_given_is_not_changed_nor_shared(offset):
    memory = np.zeros(160, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    table = memory[start : start + 32].view(float).reshape(2, 2)
    table[:] = 1.0
    array = as_matrix("x", table)
    table[0, 0] = 7.0
    np.testing.assert_array_equal(array, np.ones((2, 2)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, None])
@pytest.mark.parametrize(
    ("at", "named"),
    [
        ([3], "row 3"),
        ([1, 4], "rows 1, 4"),
        (range(2, 9), "rows 2, 3, 4, 5, 6 and 2 more"),
    ],
)
def test_missing_values_are_refused_by_row(bad, at, named):
    table = np.zeros((10, 2), object)
    table[list(at), 1] = bad
    message = rf"^features is NaN or infinite in {named}; drop or impute before planning\.$"
    with pytest.raises(InvalidInput, match=message):
        as_matrix("features", table)
    with pytest.raises(InvalidInput, match=message):
        as_vector("features", table[:, 1], 10, "x")


def test_a_missing_number_is_refused_without_naming_a_row():
    with pytest.raises(
        InvalidInput, match=r"^noise is NaN or infinite; give a finite number\.$"
    ):
        as_scalar("noise", np.nan)


@pytest.mark.parametrize(
    "table", [[["a", "b"]], [[1.0, "b"]], [[object(), 1.0]], pd.DataFrame({"a": ["low"]})]
)
def test_text_is_refused(table):
    message = r"^x must hold numbers only; convert text and missing values first\.$"
    with pytest.raises(InvalidInput, match=message):
        as_matrix("x", table)


@pytest.mark.parametrize(
    ("value", "ndim", "message"),
    [
        ([1.0, 2.0], 2, r"^x must have two axes \(rows, features\); it has shape \(2,\)\."),
        (3.0, 2, r"^x must have two axes \(rows, features\); it has shape \(\)\."),
        (np.ones((2, 1)), 1, r"^x must have one axis \(a value a row\); it has shape \(2, 1\)"),
        (np.ones(1), 0, r"^x must have no axes \(one number\); it has shape \(1,\)\."),
    ],
)
def test_a_wrong_number_of_axes_is_refused(value, ndim, message):
    with pytest.raises(InvalidInput, match=message):
        as_array("x", value, ndim)
    with pytest.raises(InvalidInput, match=message):  # shapes are known while tracing, too
        jax.eval_shape(lambda value: as_array("x", value, ndim), jnp.asarray(value))


@pytest.mark.parametrize(("given", "stated"), [(2, 3), (4, 3), (0, 3)])
def test_a_vector_of_another_length_is_refused(given, stated):
    message = f"^y has {given} values but pool x has {stated} rows; give one value a row\\.$"
    with pytest.raises(InvalidInput, match=message):
        as_vector("y", np.zeros(given), stated, "pool x")


@pytest.mark.parametrize(
    ("value", "low", "strict", "message"),
    [
        (-0.5, 0.0, False, r"^noise must be at least 0; it is -0\.5\.$"),
        (0.0, 0.0, True, r"^noise must be greater than 0; it is 0\.$"),
        (1.0, 1.5, True, r"^noise must be greater than 1\.5; it is 1\.$"),
    ],
)
def test_a_number_out_of_range_is_refused(value, low, strict, message):
    with pytest.raises(InvalidInput, match=message):
        as_scalar("noise", value, low=low, strict=strict)


def test_a_number_at_its_bound_is_accepted_unless_the_bound_is_strict():
    assert as_scalar("noise", 0, low=0.0) == 0.0
    assert as_scalar("noise", 1e-300, low=0.0, strict=True) == 1e-300
    assert as_scalar("level", -1e9) == -1e9


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([0.5, 1.5, 1.0], r"^weight must lie between 0 and 1; row 1 holds 1\.5\.$"),
        ([-0.1, 1.0, 2.0], r"^weight must lie between 0 and 1; rows 0, 2 hold -0\.1\.$"),
    ],
)
def test_fractions_outside_zero_to_one_are_refused_by_row(weight, message):
    with pytest.raises(InvalidInput, match=message):
        as_fractions("weight", weight, 3, "x")


def test_fractions_at_zero_and_one_are_accepted():
    np.testing.assert_array_equal(as_fractions("weight", [0, 0.5, 1], 3, "x"), [0.0, 0.5, 1.0])


def test_shares_are_scaled_to_sum_to_one():
    np.testing.assert_allclose(as_shares("w", [1, 0, 3], 3, "x"), [0.25, 0.0, 0.75])
    np.testing.assert_allclose(as_shares("w", None, 4, "x"), np.full(4, 0.25))


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ([1.0, -1.0, -2.0], r"^w must not be negative; see rows 1, 2\.$"),
        ([0.0, 0.0, 0.0], r"^w is zero on every row of target x; give some row a share\.$"),
        ([1.0, 2.0], r"^w has 2 values but target x has 3 rows; give one value a row\.$"),
    ],
)
def test_shares_that_cannot_be_scaled_are_refused(shares, message):
    with pytest.raises(InvalidInput, match=message):
        as_shares("w", shares, 3, "target x")


def test_tables_with_other_columns_are_refused():
    message = r"^x has 2 features but the pool has 3; give the same columns to both\.$"
    with pytest.raises(InvalidInput, match=message):
        check_same_features("x", jnp.zeros((4, 2)), "the pool", 3)
    check_same_features("x", jnp.zeros((4, 3)), "the pool", 3)


@pytest.mark.parametrize(
    ("indices", "named"),
    [
        ([3], "row 3"),
        ([3, 7], "rows 3, 7"),
        ([0, 1, 2, 3, 4], "rows 0, 1, 2, 3, 4"),
        (np.arange(45), "rows 0, 1, 2, 3, 4 and 40 more"),
    ],
)
def test_rows_are_named_five_at_most(indices, named):
    assert rows(indices) == named


def test_traced_values_pass_without_a_look_at_their_numbers():
    told = []

    def watch(value):
        told.append(is_traced(value, 1.0))
        vector = as_fractions("weight", value, 2, "x")
        return as_shares("w", vector, 2, "x") + as_scalar("noise", value[0], low=0.0)

    jax.jit(watch)(jnp.array([-1.0, 3.0]))  # refused outside, see above
    assert told == [True]
    assert not is_traced(jnp.ones(2), np.ones(2), 1.0, None, "text")


@pytest.mark.usefixtures("in_32_bits")
def test_32_bits_are_refused_with_the_remedy():
    message = (
        r"^JAX was set back to 32 bits after Labelwise was imported; "
        r'call jax\.config\.update\("jax_enable_x64", True\)\.$'
    )
    with pytest.raises(NumericalError, match=message):
        as_matrix("x", [[1.0]])


@pytest.mark.parametrize(
    ("error", "builtin"), [(InvalidInput, ValueError), (NumericalError, ArithmeticError)]
)
def test_every_error_is_a_labelwise_error_and_a_builtin_one(error, builtin):
    assert issubclass(error, LabelwiseError)
    assert issubclass(error, builtin)
