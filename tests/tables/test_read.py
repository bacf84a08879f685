"""Tables of every format come in alike; what cannot be read is told apart by its reason."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from labelwise.errors import InvalidInput
from labelwise.tables.numbers import are_empty, as_numbers
from labelwise.tables.read import (
    file_format,
    parse_json,
    parse_rows,
    read_columns,
    read_json,
    read_table,
)

TABLE = pd.DataFrame(
    {"id": ["007", "a,b", 'q"q'], "x": [1.5, np.nan, -2.0], "t": ["é", "", "z"]}
)


def written(folder, ending):
    path = folder / f"table{ending}"
    kind = ending.removesuffix(".gz")
    if kind in (".parquet", ".pq"):
        TABLE.to_parquet(path)
    elif kind == ".xlsx":
        TABLE.to_excel(path, index=False)
    elif kind == ".json":
        TABLE.to_json(path, orient="records")
    elif kind in (".jsonl", ".ndjson"):
        TABLE.to_json(path, orient="records", lines=True)
    else:
        TABLE.to_csv(path, index=False, sep="\t" if kind == ".tsv" else ",")
    return path


ENDINGS = [".csv", ".CSV", ".tsv", ".json", ".jsonl", ".ndjson"]
ENDINGS += [f"{ending}.gz" for ending in ENDINGS if ending != ".CSV"]
ENDINGS += [".parquet", ".pq", ".xlsx"]


@pytest.mark.parametrize("ending", ENDINGS)
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


AWKWARD = {
    "byte order mark": b"\xef\xbb\xbfid,y\n01,0.5\n",
    "Windows": b"id,y\r\n01,0.5\r\n\r\n02,1\r\n",
    "old Macs": b"id,y\r01,0.5\r02,1\r",
    "blank lines": b"\n\nid,y\n\n1,2\n   \n2,3\n\t\n",
    "a line of blank cells": b"id,y\n1,2\n , \n",
    "semicolons": b"id;y\n1;2\n",
    "quoted": b'"id","y"\n"a,b","0.5"\n"q""q",1\n"two\nlines",0\n"crlf\r\nin",1\n',
    "text after a quotation": b'id,y\n"a"b,1\n',
    "a quotation mark inside": b'id,y\na"b,1\n',
    "a quotation after a blank": b'id,y\n1, "0.5"\n',
    "short lines": b"id,x,y\n1,2,3\n4,5\n6\n",
    "a comma at every end": b"id,y,\n1,2,\n",
    "one column": b'y\n1\n""\n\n2\n',
    "true and false": b"id,y\n1,True\n2,\n3,false\n4,TRUE\n",
    "true among numbers": b"id,y\n1,True\n2,1\n",
    "words for nothing": b"id,y\nNA,NA\n1,n/a\n2, \n3,nan\nnull,\n",
    "a word for nothing after a blank": b"id,y\n1, NA\n",
    "infinite": b"id,y\n1,inf\n2,-Infinity\n3,1e400\n",
    "blanks": b"id,y\n 1 , 0.5 \n",
    "ways to write numbers": b"id,y\n1,+5\n2,.5\n3,5.\n4,1E-3\n5,-0\n6,007\n",
    "no numbers": "id,y\n1,1_000\n2,0x10\n3,1e\n4,yes\n5,１\n6,2024-01-01\n".encode(),
    "thousands": b'id,y\n1,"1,000"\n',
    "a long number": b"id,y\n1,123456789012345678901234567890\n",
    "guards": b"id,y\n'=1,2\n=1,3\n",
    "leading zeros": b"id,y\n007,007\n7,7\n0.10,0.10\n",
    "no end of line": b'id,y\n1,"2"',
    "other line ends": "id,y\na\u2028b,1\nc\x85d,2\ne\x0bf,3\n".encode(),
    "names alone": b"id,y\n",
    "columns without a name": b",y,\n1,2,3\n",
    "a long text": b"id,y,t\n1,2," + b"x" * 300_000 + b"\n",
    "nothing": b"",
    "nothing but lines": b"\n\n",
    "a name twice": b"y, y\n1,2\n",
    "a long line": b"id,y\n1,2\n3,4,5\n",
    "a long first line": b"id,y\n1,2,3\n3,4,5\n",
    "commas at the ends of rows alone": b"id,y\n1,2,\n3,4,\n",
    "an open quotation": b'id,y\n"a,1\n2,3\n',
    "other bytes": b"id,y\n\xff,1\n",
    "NUL": b"id,y\n1,\x002\n",
}


@pytest.mark.parametrize("content", AWKWARD.values(), ids=AWKWARD)
def test_labels_are_read_as_pandas_would(content, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    frame, columns = (told(read, path) for read in (read_table, read_columns))
    assert columns == frame


def told(read, path):
    """Ids as texts and everything else as numbers, or that the file is refused."""
    try:
        table = read(path, "labels", ("id",))
    except InvalidInput as error:
        return error.where, error.remedy
    ids = [str(cell).strip() for cell in table["id"]] if "id" in table else None
    others = [column for column in table if column != "id"]
    return ids, {column: list(map(str, _numbers(table[column]))) for column in others}


def _numbers(cells):
    """NaN where there is none, and nothing at all where the cell is empty."""
    numbers = zip(as_numbers(cells), are_empty(cells), strict=True)
    return ["" if empty else float(number) for number, empty in numbers]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet", ".json", ".jsonl"])
def test_every_format_gives_the_same_columns(ending, tmp_path):
    columns = read_columns(written(tmp_path, ending), "labels", ("id",))
    assert list(columns) == ["id", "x", "t"]
    assert list(columns["id"]) == list(TABLE["id"])
    np.testing.assert_array_equal(as_numbers(columns["x"]), TABLE["x"])


def test_a_folder_is_no_table(tmp_path, refused):
    (tmp_path / "labels.csv").mkdir()
    for read in (read_table, read_columns):
        with refused(where="<tmp>/labels.csv", remedy="give the path of a file in it"):
            read(tmp_path / "labels.csv", "labels")


class FromTheHub:
    """A data set as Hugging Face's library has them: no frame, but it can become one."""

    column_names: tuple[str, ...] = tuple(TABLE.columns)

    def to_pandas(self):
        return TABLE


def other_frames():
    import polars
    import pyarrow

    arrow = pyarrow.Table.from_pandas(TABLE)
    return {
        "polars": polars.from_arrow(arrow),
        "lazy": polars.from_arrow(arrow).lazy(),
        "arrow": arrow,
        "stream": pyarrow.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches()),
        "hub": FromTheHub(),
    }


@pytest.mark.parametrize("kind", ["polars", "lazy", "arrow", "stream", "hub"])
def test_frames_of_other_libraries_are_the_same_table(kind):
    found = read_table(other_frames()[kind], "pool", ("id",))
    assert list(found["id"]) == list(TABLE["id"])
    np.testing.assert_array_equal(found["x"], TABLE["x"])
    assert list(found["t"].fillna("")) == list(TABLE["t"])


@pytest.mark.parametrize("ending", [".csv.gz", ".jsonl.gz", ".xlsx"])
def test_labels_come_back_in_any_file(ending, tmp_path):
    """As columns of cells, which is what `tell` reads."""
    found = read_columns(written(tmp_path, ending), "pool", ("id",))
    assert list(found["id"]) == list(TABLE["id"])
    np.testing.assert_array_equal(as_numbers(found["x"]), TABLE["x"])


def test_a_sheet_may_begin_late_and_have_dates_truths_and_gaps(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    when = pd.Timestamp("2024-03-01").to_pydatetime()
    for line in (
        [],
        ["id", "on", "yes", "n"],
        [7, when, True, "NA"],
        [],
        [8, None, False, 2.5],
    ):
        sheet.append(line)
    book.save(tmp_path / "table.xlsx")
    found = read_table(tmp_path / "table.xlsx", "pool", ("id",))
    assert found["id"].tolist() == [7, 8]
    assert found["on"].tolist() == [pd.Timestamp("2024-03-01"), pd.NaT]
    assert found["yes"].tolist() == [True, False]
    np.testing.assert_array_equal(as_numbers(found["n"]), [np.nan, 2.5])


def test_a_sheet_with_nothing_in_it_is_refused(tmp_path, refused):
    import openpyxl

    openpyxl.Workbook().save(tmp_path / "table.xlsx")
    with refused(where=str(tmp_path / "table.xlsx")):
        read_table(tmp_path / "table.xlsx", "pool")


def test_excel_without_openpyxl_says_what_to_install(tmp_path, monkeypatch, refused):
    path = written(tmp_path, ".xlsx")
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with refused(where=str(path)):
        read_table(path, "pool")
