"""An id is one text, however it was typed."""

import numpy as np
import pandas as pd
import pytest

from labelwise.tables.cells import check_guards
from labelwise.tables.ids import as_ids, as_text, check_distinct


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (7.0, "7"),
        (np.int64(7), "7"),
        (np.float32(7), "7"),
        ("7", "7"),
        (" 7 ", "7"),
        ("007", "007"),
        (7.5, "7.5"),
        (True, "True"),
        (np.bool_(False), "False"),
        (2.0**60, str(2**60)),
        (pd.Timestamp("2024-01-31"), "2024-01-31 00:00:00"),
        ("é", "é"),
    ],
)
def test_the_same_row_has_the_same_text(value, text):
    assert as_text(value) == text
    assert as_ids([value], "here", "here") == [text]


def test_what_a_spreadsheet_made_of_a_whole_number_is_undone():
    texts = ["7.0", "-3.00", "7.50", "07.0"]
    assert as_ids(texts, "here", "here") == ["7", "-3", "7.50", "07.0"]


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        ("r1", ["r1"]),
        (5, ["5"]),
        (["a", 2, 3.0], ["a", "2", "3"]),
        (("a", "b"), ["a", "b"]),
        (np.array([3, 1]), ["3", "1"]),
        (pd.Series(["x", "y"], index=[4, 9]), ["x", "y"]),
        (pd.Index([1, 2]), ["1", "2"]),
        ({"b", "a"}, ["a", "b"]),
        (pd.array([1, 2], "Int64"), ["1", "2"]),
    ],
)
def test_ids_come_in_many_shapes(values, ids):
    assert as_ids(values, "here", "here") == ids


@pytest.mark.parametrize("blank", [None, np.nan, pd.NA, pd.NaT, "", " \t"])
def test_a_blank_id_is_refused(blank, refused):
    with refused(where="pool.id", what="The pool table has no id in row 2 and 1 more"):
        as_ids(["a", blank, "b", blank], "The pool table", "pool.id")


@pytest.mark.parametrize(
    "values", [pd.DataFrame({"id": ["a"]}), {"a": 1}], ids=["a frame", "a mapping"]
)
def test_a_table_is_not_a_list_of_ids(values, refused):
    with refused(where="ids", remedy="give its id column"):
        as_ids(values, "skip", "ids")


def test_repeated_ids_are_listed_once(refused):
    ids = [str(number % 7) for number in range(21)]
    with refused(where="pool.id", remedy="give every row its own id"):
        check_distinct(ids, "The pool table", "pool.id")
    check_distinct(ids[:7], "The pool table", "pool.id")


def test_ids_that_only_a_spreadsheets_guard_tells_apart_are_refused(refused):
    with refused(where="id", remedy="change one"):
        check_guards(["=1", "'=1"])
    check_guards(["=1", "'1", "'=2", "-3", "'-3"])
