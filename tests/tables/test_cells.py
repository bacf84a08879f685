"""Columns are found by name, and their numbers checked cell by cell."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from labelwise.evaluation.spec import read_part
from labelwise.tables.cells import read_numbers, resolve
from labelwise.tables.columns import Columns


def tables(**more):
    base = {"id": ["1", "2"], "a": [1.0, 2.0], "b": [3.0, 4.0], "p": [0.0, 1.0]}
    labelled = pd.DataFrame({**base, "y": [0.0, 1.0], "only": [1, 2]})
    return {
        "labelled": labelled,
        "pool": pd.DataFrame(base),
        "target": pd.DataFrame(base),
        **more,
    }


def test_features_are_what_all_tables_share_and_nothing_else_uses():
    assert resolve(Columns("id", "y", prediction="p"), tables()).features == ("a", "b")
    assert resolve(Columns("id", "y"), tables()).features == ("a", "b", "p")


def test_named_features_are_kept_in_their_order():
    assert resolve(Columns("id", "y", features=("b", "a")), tables()).features == ("b", "a")


def test_the_labelled_table_needs_no_ids():
    without = tables()["labelled"].drop(columns="id")
    assert resolve(Columns("id", "y"), tables(labelled=without)).features == ("a", "b", "p")


def test_columns_survive_storage():
    columns = Columns("id", "y", "p", "w", "c", features=("a", "b"))
    stored = json.loads(json.dumps(asdict(columns)))
    assert read_part(Columns, stored, "columns") == columns
    assert set(columns.roles().values()) == {"id", "y", "p", "w", "c"}


@pytest.mark.parametrize(
    "values",
    [
        [1, 2],
        ["1", " 2 "],
        [1.0, "2"],
        pd.array([1, 2], "Int64"),
        pd.array([True, True], "boolean").astype("Int64") + pd.array([0, 1], "Int64"),
        pd.Categorical([1, 2]),
    ],
)
def test_numbers_are_read_from_any_type(values):
    found = read_numbers(pd.DataFrame({"x": values}), "x", "pool")
    assert found.dtype == float
    np.testing.assert_array_equal(found, [1.0, 2.0])


@pytest.mark.parametrize("blank", [None, np.nan, pd.NA, "", "  "])
def test_blank_cells_pass_only_if_they_may(blank, refused):
    table = pd.DataFrame({"x": pd.Series([1.0, blank], dtype=object)})
    np.testing.assert_array_equal(read_numbers(table, "x", "pool", missing=True), [1.0, np.nan])
    with refused(where="pool.x", remedy="fill it in"):
        read_numbers(table, "x", "pool")


@pytest.mark.parametrize(
    "wrong",
    ["one", [1, 2], {"a": 1}, pd.Timestamp("2024-01-31"), "1,5", "long " * 20],
    ids=["text", "list", "mapping", "date", "comma", "long text"],
)
def test_what_is_no_number_is_shown(wrong, refused):
    table = pd.DataFrame({"x": pd.Series([1.0, wrong], dtype=object)})
    with refused(where="labels.x", remedy="mend the cell"):
        read_numbers(table, "x", "labels", said="tell", missing=True)


def test_a_column_of_dates_holds_no_numbers(refused):
    table = pd.DataFrame({"x": pd.to_datetime(["2024-01-31"])})
    with refused(where="pool.x"):
        read_numbers(table, "x", "pool")


def test_infinite_numbers_are_refused_by_row(refused):
    table = pd.DataFrame({"x": [1.0, np.inf, -np.inf]})
    with refused(where="pool.x", remedy="mend the cell"):
        read_numbers(table, "x", "pool")


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, None), (None, 1.0)])
def test_bounds_are_part_of_the_range(low, high, refused):
    inside = [value for value in (low, high) if value is not None]
    read_numbers(pd.DataFrame({"x": inside}), "x", "pool", low=low, high=high)
    for wrong in [
        value + step for value, step in ((low, -1e-9), (high, 1e-9)) if value is not None
    ]:
        with refused(where="pool.x", remedy="mend the cell"):
            read_numbers(
                pd.DataFrame({"x": [0.5, wrong]}),
                "x",
                "pool",
                low=low,
                high=high,
                ids=["p", "q"],
            )
