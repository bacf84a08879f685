"""Tables of every format come in alike; what cannot be read is told apart by its reason."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from labelwise.tables.read import file_format, parse_json, parse_rows, read_json, read_table

TABLE = pd.DataFrame(
    {"id": ["007", "a,b", 'q"q'], "x": [1.5, np.nan, -2.0], "t": ["é", "", "z"]}
)


def written(folder, ending):
    path = folder / f"table{ending}"
    if ending in (".parquet", ".pq"):
        TABLE.to_parquet(path)
    elif ending == ".json":
        TABLE.to_json(path, orient="records")
    elif ending == ".jsonl":
        TABLE.to_json(path, orient="records", lines=True)
    else:
        TABLE.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    return path


@pytest.mark.parametrize(
    "ending", [".csv", ".CSV", ".csv.gz", ".tsv", ".parquet", ".pq", ".json", ".jsonl"]
)
def test_every_format_gives_the_same_table(ending, tmp_path):
    path = written(tmp_path, ending.lower())
    path = path.rename(tmp_path / f"table{ending}")
    for source in (path, str(path)):
        found = read_table(source, "pool", ("id",))
        assert list(found.columns) == ["id", "x", "t"]
        assert list(found["id"]) == list(TABLE["id"])
        np.testing.assert_array_equal(found["x"], TABLE["x"])
        assert list(found["t"].fillna("")) == list(TABLE["t"])


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_byte_order_marks_and_line_ends_of_other_systems_are_fine(mark, end, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(mark + end.join(["id,x", "01,2", "02,3", ""]).encode())
    found = read_table(path, "pool", ("id",))
    assert found.to_dict("list") == {"id": ["01", "02"], "x": [2, 3]}


def test_quoted_cells_may_hold_line_ends(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b'id,t\n1,"two\nlines"\n')
    assert list(read_table(path, "pool", ("id",))["t"]) == ["two\nlines"]


def test_a_number_that_only_looks_like_an_id_stays_a_number(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,x\n007,007\n")
    assert read_table(path, "pool", ("id",)).iloc[0].to_dict() == {"id": "007", "x": 7}


def test_names_are_stripped_and_become_text():
    found = read_table(pd.DataFrame({" a ": [1], 3: [2]}), "pool")
    assert list(found.columns) == ["a", "3"]


def test_an_index_with_a_name_is_a_column():
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.Index(["p", "q"], name="id"))
    assert read_table(frame, "pool").to_dict("list") == {"id": ["p", "q"], "x": [1, 2]}


def test_the_callers_frame_is_not_changed():
    frame = pd.DataFrame({" a ": [1, 2]}, index=[5, 6])
    before = frame.copy()
    assert list(read_table(frame, "pool").index) == [0, 1]
    pd.testing.assert_frame_equal(frame, before)


def test_text_from_a_pipe_is_read_like_a_file(refused):
    found = parse_rows("\ufeffid,x\n01,2\n", "labels", ("id",))
    assert found == [{"id": "01", "x": "2"}]
    with refused(where="labels", what="labels is empty"):
        parse_rows("", "labels")
    with refused(where="labels", what="labels has two columns named 'x'"):
        parse_rows("x,x\n1,2\n", "labels")


def test_json_is_told_from_csv_by_its_first_sign(refused):
    assert parse_json('\ufeff [{"id": 1}]', "labels") == [{"id": 1}]
    assert parse_json('{"id": 1}\n{"id": 2}\n', "labels") == [{"id": 1}, {"id": 2}]
    assert parse_json("id,y\n", "labels") is None
    with refused(where="labels"):
        parse_json("[1,", "labels")


def test_one_object_is_a_list_of_one(tmp_path):
    path = tmp_path / "one.json"
    path.write_text(json.dumps({"id": 1}))
    assert read_json(path) == [{"id": 1}]


def test_endings_are_recognised_whatever_their_case(tmp_path, refused):
    assert file_format(tmp_path / "A.CSV.GZ") == ".csv.gz"
    assert file_format(tmp_path / "a.b.Parquet") == ".parquet"
    with refused(where="<tmp>/table.gz"):
        file_format(tmp_path / "table.gz")


def test_short_lines_end_in_empty_cells(tmp_path):
    """Some spreadsheets leave out the empty cells at the end of a line."""
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"id,x,y\n1,2,3\n4,5\n"))
    assert read_table(path, "pool")["y"].isna().tolist() == [False, True]


def test_any_text_may_be_an_id_but_not_a_number(tmp_path):
    path = tmp_path / "table.csv"
    texts = ["NA", "None", "null", "nan", "1e5", "007", "True"]
    path.write_text(" id ,x\n" + "".join(f"{text},{text}\n" for text in texts))
    found = read_table(path, "pool", ("id",))
    assert list(found["id"]) == texts
    assert found["x"].isna().tolist() == [True] * 4 + [False] * 3


def test_columns_without_a_name_get_one(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(",x,\n0,1,2\n")
    assert list(read_table(path, "pool").columns) == ["Unnamed: 0", "x", "Unnamed: 2"]
