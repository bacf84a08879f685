"""What the first line of a file says of its columns, and what is left to reading it."""

import gzip

import pytest

from labelwise.evaluation.spec import Tables
from labelwise.tables.columns import Columns
from labelwise.tables.headers import check_columns, header_of

COLUMNS = Columns(id="id", label="cost", prediction="score")


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "labelled.csv").write_text("\ufeffid, cost ,age,score\n1,2,3,4\n", "utf-8")
    (tmp_path / "pool.tsv").write_text('id\tage\t"score"\n1\t2\t3\n')
    with gzip.open(tmp_path / "target.csv.gz", "wt") as file:
        file.write("\nage,score\n1,2\n")
    return [tmp_path / name for name in ("labelled.csv", "pool.tsv", "target.csv.gz")]


def test_names_stand_in_the_first_line(tables):
    found = [header_of(table) for table in tables]
    assert found == [["id", "cost", "age", "score"], ["id", "age", "score"], ["age", "score"]]


@pytest.mark.parametrize("name", ["absent.csv", "pool.parquet", "latin.csv", "empty.csv"])
def test_what_cannot_be_told_at_once_is_left_to_reading(name, tmp_path):
    (tmp_path / "latin.csv").write_bytes("größe".encode("latin-1"))
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "pool.parquet").write_text("a,b")
    assert header_of(tmp_path / name) is None
    assert header_of([{"id": 1}]) is None
    check_columns([tmp_path / name] * 2, {"id": "key", "label": 7})


@pytest.mark.parametrize("given", [list, lambda each: Tables(*each), lambda each: each[:2]])
def test_columns_that_are_there_pass(given, tables):
    check_columns(given(tables), COLUMNS)


@pytest.mark.parametrize(
    ("part", "column", "where"),
    [
        ("label", "costs", "labelled.costs"),
        ("id", "ids", "pool.ids"),
        ("prediction", "scores", "target.scores"),
        ("weight", "w", "target.w"),
    ],
)
def test_a_misspelt_column_is_refused_with_the_nearest(part, column, where, tables, refused):
    with refused(where=where):
        check_columns(tables, {"id": "id", "label": "cost", part: column})


def test_without_a_target_the_pool_is_asked(tables, refused):
    with refused(where="pool.minutes"):
        check_columns(tables[:2], {"id": "id", "label": "cost", "cost": "minutes"})
    with refused(where="target.scor"):
        check_columns(tables[:2], {"id": "id", "label": "cost", "prediction": "scor"})
