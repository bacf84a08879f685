"""Files that are read in pieces: which, in which order, and what is refused of them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from labelwise.pools.source import is_large, open_source, require_columns
from tests.pools.tables import ROWS, columns, write


def read(source):
    parts = [rows for piece in source.pieces for rows in source.batches(piece)]
    return pa.concat_tables(parts)


def test_a_directory_is_read_in_the_order_of_its_paths(tmp_path):
    source = open_source(write(tmp_path / "pool"), "pool")
    assert source.rows == ROWS
    assert [piece.number for piece in source.pieces] == list(range(len(source.pieces)))
    assert len(source.pieces) == 9  # three files of 2000 rows, in groups of up to 700
    np.testing.assert_array_equal(read(source)["id"].to_numpy(), np.arange(ROWS))


def test_only_the_columns_asked_for_are_read(tmp_path):
    source = open_source(write(tmp_path / "pool"), "pool").only(["score", "id"])
    assert read(source).column_names == ["id", "score"]


@pytest.mark.parametrize("address", ["pool", "pool/*.parquet", "pool/part-[012].parquet"])
def test_a_directory_and_globs_of_it_are_the_same_rows(tmp_path, monkeypatch, address):
    write(tmp_path / "pool")
    monkeypatch.chdir(tmp_path)
    assert is_large(address)
    assert open_source(address, "pool").rows == ROWS


def test_partitions_become_columns(tmp_path):
    for year, place in ((2023, "north"), (2024, "south")):
        write(tmp_path / f"year={year}" / f"place={place}", files=1)
    source = open_source(tmp_path, "pool")
    rows = read(source)
    assert source.columns[-2:] == ("year", "place")
    assert rows["year"].to_pylist() == [2023] * ROWS + [2024] * ROWS
    assert set(rows["place"].to_pylist()) == {"north", "south"}


def test_files_that_hold_notes_are_left_out(tmp_path):
    folder = write(tmp_path / "pool")
    (folder / "_SUCCESS").write_text("")
    (folder / "_metadata.parquet").write_text("no table")
    assert open_source(folder, "pool").rows == ROWS


def test_a_file_with_another_column_is_named(tmp_path, refused):
    folder = write(tmp_path / "pool")
    strange = folder / "part-1.parquet"
    pq.write_table(pa.table(columns(10)).drop_columns(["a"]), strange)
    with refused(where=str(strange)) as error:
        open_source(folder, "pool")
    assert "part-1.parquet" in error.value.what


def test_a_file_with_texts_for_numbers_is_named(tmp_path, refused):
    folder = write(tmp_path / "pool")
    strange = folder / "part-2.parquet"
    pq.write_table(pa.table(columns(10) | {"a": ["many"] * 10}), strange)
    with refused(where=str(strange)):
        open_source(folder, "pool")


def test_a_truncated_file_is_named(tmp_path, refused):
    folder = write(tmp_path / "pool")
    cut = folder / "part-1.parquet"
    cut.write_bytes(cut.read_bytes()[:-100])
    with refused(where=str(cut)):
        open_source(folder, "pool")


def test_a_file_that_is_damaged_inside_is_named_when_it_is_read(tmp_path, refused):
    folder = write(tmp_path / "pool", files=1)
    file = folder / "part-0.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:100] + b"\xff" * 4000 + whole[4100:])
    source = open_source(folder, "pool")
    with refused(where=str(file)):
        read(source)


def test_a_directory_without_tables_is_refused(tmp_path, refused):
    with refused(where=str(tmp_path)):
        open_source(tmp_path, "pool")


def test_a_column_that_there_is_not_is_refused(tmp_path, refused):
    source = open_source(write(tmp_path / "pool"), "pool")
    with refused(where="pool.price"):
        require_columns(source, ["price"])


def test_frames_and_other_files_are_not_for_a_pass(tmp_path):
    assert not is_large(pa.table(columns(3)))
    assert not is_large(tmp_path / "pool.csv")
    assert not is_large(None)


def test_paths_are_written_as_hive_writes_them(tmp_path):
    for place in ("place=New%20York", "place=__HIVE_DEFAULT_PARTITION__"):
        write(tmp_path / "year=2023" / place, files=1)
    write(tmp_path / "year=__HIVE_DEFAULT_PARTITION__" / "place=a%2Fb", files=1)
    rows = read(open_source(tmp_path, "pool"))
    assert rows["year"].to_pylist() == [2023] * (2 * ROWS) + [None] * ROWS
    assert rows["place"].to_pylist() == ["New York"] * ROWS + [None] * ROWS + ["a/b"] * ROWS


def test_texts_coded_in_one_file_or_absent_there_are_texts(tmp_path):
    texts, kind = ["north", "south"], pa.large_string()
    held = [pa.nulls(2), pa.array(texts, kind), pa.array(texts).dictionary_encode()]
    for number, place in enumerate(held):
        pq.write_table(pa.table({"id": [1, 2], "place": place}), tmp_path / f"{number}.parquet")
    source = open_source(tmp_path, "pool")
    assert source.kinds["place"] == "texts"
    assert read(source)["place"].type == kind
    assert read(source)["place"].to_pylist() == [None, None, *texts, *texts]


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us", "UTC"), pa.duration("s")])
def test_dates_of_another_kind_are_named(tmp_path, refused, kind):
    for number, one in enumerate((pa.timestamp("us"), kind)):
        pq.write_table(pa.table({"when": pa.nulls(2, one)}), tmp_path / f"{number}.parquet")
    with refused(where=str(tmp_path / "1.parquet")) as error:
        open_source(tmp_path, "pool")
    assert "'when'" in error.value.what


@pytest.mark.parametrize("names", [["a", "a"], ["a", "labelwise key"]])
def test_names_of_columns_that_cannot_be_told_apart_are_refused(tmp_path, refused, names):
    file = tmp_path / "0.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names), file)
    with refused(where=str(file)):
        open_source(tmp_path, "pool")
