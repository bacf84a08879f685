"""Outside data: what is accepted, and what the rest is refused with."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from labelwise.errors import InvalidInput, LabelwiseError, NumericalError, StoreError
from labelwise.inputs import (
    as_array,
    as_count,
    as_fractions,
    as_indices,
    as_key,
    as_matrix,
    as_scalar,
    as_shares,
    as_vector,
    check_is,
    check_same_features,
    is_traced,
)
from labelwise.tables.text import name_rows


@pytest.mark.parametrize(
    "table",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], np.int32),
        np.array([[1, 2], [3, 4]], np.float32),
        jax.device_put(np.array([[1.0, 2.0], [3.0, 4.0]])),
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
def test_missing_values_are_refused_by_row(bad, refused):
    table = np.zeros((10, 2), object)
    table[2:9, 1] = bad
    with refused(where="features", remedy="drop or impute before planning"):
        as_matrix("features", table)


def test_a_missing_number_is_refused_without_naming_a_row(refused):
    with refused(where="noise", what="noise is NaN or infinite"):
        as_scalar("noise", np.nan)


@pytest.mark.parametrize(
    "table",
    [[["a", "b"]], [[1.0, "b"]], [[object(), 1.0]], pd.DataFrame({"a": ["low"]})],
    ids=["texts", "a text", "an object", "pandas"],
)
def test_text_is_refused(table, refused):
    with refused(where="x", remedy="convert text and missing values first"):
        as_matrix("x", table)


@pytest.mark.parametrize(
    ("value", "ndim"),
    [([1.0, 2.0], 2), (3.0, 2), (np.ones((2, 1)), 1), (np.ones(1), 0)],
    ids=["a list for a table", "a number for a table", "a column", "a list for a number"],
)
def test_a_wrong_number_of_axes_is_refused(value, ndim, refused):
    with refused(where="x"):
        as_array("x", value, ndim)
    with refused(where="x"):  # shapes are known while tracing, too
        jax.eval_shape(lambda value: as_array("x", value, ndim), jnp.asarray(value))


@pytest.mark.parametrize(("given", "stated"), [(2, 3), (4, 3), (0, 3)])
def test_a_vector_of_another_length_is_refused(given, stated, refused):
    with refused(where="y", remedy="give one value a row"):
        as_vector("y", np.zeros(given), stated, "pool x")


@pytest.mark.parametrize(
    ("value", "low", "strict"), [(-0.5, 0.0, False), (0.0, 0.0, True), (1.0, 1.5, True)]
)
def test_a_number_out_of_range_is_refused(value, low, strict, refused):
    with refused(where="noise", what=f"it is {value:g}"):
        as_scalar("noise", value, low=low, strict=strict)


def test_a_number_at_its_bound_is_accepted_unless_the_bound_is_strict():
    assert as_scalar("noise", 0, low=0.0) == 0.0
    assert as_scalar("noise", 1e-300, low=0.0, strict=True) == 1e-300
    assert as_scalar("level", -1e9) == -1e9


@pytest.mark.parametrize(
    "weight", [[0.5, 1.5, 1.0], [-0.1, 1.0, 2.0]], ids=["one row", "two rows"]
)
def test_fractions_outside_zero_to_one_are_refused_by_row(weight, refused):
    with refused(where="weight", remedy="must lie between 0 and 1"):
        as_fractions("weight", weight, 3, "x")


def test_fractions_at_zero_and_one_are_accepted():
    np.testing.assert_array_equal(as_fractions("weight", [0, 0.5, 1], 3, "x"), [0.0, 0.5, 1.0])


def test_shares_are_scaled_to_sum_to_one():
    np.testing.assert_allclose(as_shares("w", [1, 0, 3], 3, "x"), [0.25, 0.0, 0.75])
    np.testing.assert_allclose(as_shares("w", None, 4, "x"), np.full(4, 0.25))


@pytest.mark.parametrize(
    "shares",
    [[1.0, -1.0, -2.0], [0.0, 0.0, 0.0], [1.0, 2.0]],
    ids=["negative", "all zero", "too few"],
)
def test_shares_that_cannot_be_scaled_are_refused(shares, refused):
    with refused(where="w"):
        as_shares("w", shares, 3, "target x")


def test_tables_with_other_columns_are_refused(refused):
    with refused(where="x", remedy="give the same columns to both"):
        check_same_features("x", jnp.zeros((4, 2)), "the pool", 3)
    check_same_features("x", jnp.zeros((4, 3)), "the pool", 3)


@pytest.mark.parametrize("value", [0, -3, 2.5, 1e3, "3", True, None])
def test_a_count_is_a_whole_number_of_at_least_one(value, refused):
    with refused(where="k", what=f"it is {value!r}"):
        as_count("k", value)
    assert as_count("k", np.int64(3)) == 3
    assert as_count("k", 0, least=0) == 0


@pytest.mark.parametrize(
    "given",
    [[0.5], [True, False], [[0, 1]], [0, 4], [-1]],
    ids=["fractions", "marks", "a table", "beyond", "before"],
)
def test_row_numbers_point_at_rows(given, refused):
    with refused(where="indices"):
        as_indices("indices", given, 4, "the pool")
    assert as_indices("indices", [3, 0], 4, "the pool").tolist() == [3, 0]
    assert as_indices("indices", [], 4, "the pool").shape == (0,)


@pytest.mark.parametrize("key", ["seven", 0.5, 2**70, None])
def test_a_key_is_a_key_or_a_whole_number(key, refused):
    with refused(where="key"):
        as_key(key)
    assert as_key(7) == jax.random.key(7)
    assert as_key(jax.random.key(7)) == jax.random.key(7)


def test_an_object_of_another_kind_is_refused(refused):
    with refused(where="kernel", remedy="must be a float", what="it is a str"):
        check_is("kernel", "rbf", float)
    check_is("kernel", 1.0, float)


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
    assert name_rows(indices) == named


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
def test_32_bits_are_refused_with_the_remedy(refused):
    remedy = 'call jax.config.update("jax_enable_x64", True)'
    with refused(where="jax_enable_x64", error=NumericalError, remedy=remedy):
        as_matrix("x", [[1.0]])


@pytest.mark.parametrize(
    ("error", "builtin"), [(InvalidInput, ValueError), (NumericalError, ArithmeticError)]
)
def test_every_error_is_a_labelwise_error_and_a_builtin_one(error, builtin):
    assert issubclass(error, LabelwiseError)
    assert issubclass(error, builtin)


def test_the_sentence_is_made_of_the_fields():
    error = InvalidInput("The pool is empty", "give a row", where="pool")
    assert (error.what, error.where, error.remedy) == (
        "The pool is empty",
        "pool",
        "give a row",
    )
    assert str(error) == "The pool is empty; give a row."
    must = InvalidInput.must("k", "be positive", "it is 0", name="The number k")
    assert (must.what, must.where, must.remedy) == ("it is 0", "k", "must be positive")
    assert str(must) == "The number k must be positive; it is 0."


def test_errors_cross_processes_whole():
    error = StoreError.must("k", "be positive", "it is 0")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is StoreError
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_whole_numbers_become_real_ones_inside_jit_too():
    found = jax.jit(lambda value: as_array("x", value, 1))(np.array([1, 2]))
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 2.0]
