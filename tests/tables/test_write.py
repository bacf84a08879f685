"""Files are replaced whole, open safely in a spreadsheet, and come back as they went."""

import gzip
import io
import json
import os
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labelwise.campaign.campaign import Campaign
from labelwise.campaign.store.appearing import appearing
from labelwise.tables.leftovers import take_away_all
from labelwise.tables.read import read_table
from labelwise.tables.text import guard, listed, unguard
from labelwise.tables.write import (
    check_writable,
    format_table,
    replacing,
    write_json,
    write_table,
    write_text,
)
from tests.campaign import small

SIGNS = ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]
NUMBERS = ["-5", "+5", "-1.5e3", "-0", "+.5", "-inf"]


@pytest.mark.parametrize("sign", SIGNS)
def test_whatever_starts_a_formula_is_guarded(sign):
    for text in (sign, f"{sign}1+cmd|'/C calc'!A0", f"{sign}SUM(A1)", f"{sign}-"):
        assert guard(text) == f"'{text}"
        assert unguard(guard(text)) == text


@pytest.mark.parametrize("text", [*NUMBERS, "a=b", "", " =1", "'quoted", "1-2", "a\n=b"])
def test_numbers_and_plain_texts_are_left_alone(text):
    assert guard(text) == text
    assert unguard(guard(text)) == text


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
@pytest.mark.parametrize("kind", [object, "str", "category"])
def test_no_cell_and_no_header_starts_a_formula(ending, kind):
    cells = pd.Series([f"{sign}x" for sign in SIGNS], dtype=kind)
    frame = pd.DataFrame({f"{sign}head": cells for sign in SIGNS} | {"n": -1.5})
    text = format_table(frame, ending)
    separator = "\t" if ending == ".tsv" else ","
    found = pd.read_csv(io.StringIO(text, newline=""), sep=separator, dtype=str)
    for cell in [*found.columns[:-1], *found.iloc[:, :-1].to_numpy().ravel()]:
        assert cell.startswith("'")
    assert set(found["n"]) == {"-1.5"}


def test_numbers_keep_every_digit(tmp_path):
    values = [0.1 + 0.2, 1e-17, -1 / 3, np.pi * 1e20]
    frame = pd.DataFrame({"x": values})
    for ending in (".csv", ".csv.gz", ".tsv", ".json", ".jsonl.gz", ".parquet"):
        write_table(frame, tmp_path / f"t{ending}")
        assert list(read_table(tmp_path / f"t{ending}", "t")["x"]) == values, ending


def test_json_is_plain(tmp_path):
    frame = pd.DataFrame(
        {
            "id": ["=a", "é"],
            "n": pd.array([1, None], "Int64"),
            "x": [np.nan, 2.5],
            "day": pd.to_datetime(["2024-01-31", None]),
        }
    )
    expected = [
        {"id": "=a", "n": 1, "x": None, "day": "2024-01-31 00:00:00"},
        {"id": "é", "n": None, "x": 2.5, "day": None},
    ]
    write_table(frame, tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text("utf-8")) == expected
    write_table(frame, tmp_path / "t.jsonl")
    lines = (tmp_path / "t.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == expected


def test_a_gzipped_file_is_gzipped_and_the_same_each_time(tmp_path):
    frame = pd.DataFrame({"x": [1, 2]})
    write_table(frame, tmp_path / "t.csv.gz")
    content = (tmp_path / "t.csv.gz").read_bytes()
    assert gzip.decompress(content) == b"x\n1\n2\n"
    write_table(frame, tmp_path / "t.csv.gz")
    assert (tmp_path / "t.csv.gz").read_bytes() == content


def test_the_callers_frame_is_not_changed(tmp_path):
    frame = pd.DataFrame({"=x": ["=1", "-"]})
    before = frame.copy()
    write_table(frame, tmp_path / "t.csv")
    pd.testing.assert_frame_equal(frame, before)


AWKWARD = [
    "=1+1",
    "+x",
    "-x",
    "@x",
    "＝x",
    "007",
    "1e5",
    "-5",
    "+5",
    "a,b",
    'q"q',
    "é",
    "'=y",
    "NA",
    "None",
]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".json", ".jsonl", ".parquet"])
@pytest.mark.parametrize("label", ["y", "=y", "-y"])
def test_awkward_ids_go_out_and_come_back(ending, label, tmp_path, asked):
    folder, batch = asked(label)
    campaign = Campaign.open(shutil.copytree(folder, tmp_path / "campaign"))
    assert sorted(batch["id"]) == sorted(AWKWARD)
    path = tmp_path / f"batch{ending}"
    write_table(batch.assign(**{label: 0.5}), path)
    told = campaign.tell(path)
    assert (told.new, told.empty) == (len(AWKWARD), 0)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A campaign whose pool has the awkward ids, and its first batch, all of them."""

    @cache
    def ask(label):
        tables = small.make_tables()
        tables["pool"] = tables["pool"].head(len(AWKWARD)).assign(id=AWKWARD)
        tables["labelled"] = tables["labelled"].rename(columns={"y": label})
        folder = tmp_path_factory.mktemp("asked") / "campaign"
        campaign = small.make(folder, label=label, **tables)
        return folder, campaign.ask(len(AWKWARD))

    return ask


def test_a_file_is_replaced_only_when_all_went_well(tmp_path):
    path = tmp_path / "t.txt"
    write_text("old", path)

    def half_done():
        with replacing(path) as temporary:
            temporary.write_text("half")
            assert path.read_text() == "old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half_done()
    assert path.read_text() == "old"
    write_json({"é": 1}, path)
    assert path.read_text("utf-8") == '{\n  "é": 1\n}\n'
    assert [one.name for one in tmp_path.iterdir()] == ["t.txt"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_place_is_checked_before_work_is_done(tmp_path, refused):
    check_writable(tmp_path / "t.txt")
    assert list(tmp_path.iterdir()) == []
    with refused(where="<tmp>", remedy="give the name of a file in it"):
        check_writable(tmp_path)
    with refused(where="<tmp>/no"):
        check_writable(tmp_path / "no" / "t.txt")


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([], ""),
        ([1], "1"),
        (list("abcde"), "a, b, c, d, e"),
        (range(7), "0, 1, 2, 3, 4 and 2 more"),
    ],
)
def test_long_lists_are_cut(ids, text):
    assert listed(ids) == text


def test_a_sheet_holds_no_formula_and_comes_back(tmp_path):
    import openpyxl

    when = pd.to_datetime(["2024-03-01", None], utc=True)
    frame = pd.DataFrame({"=head": ["=1+1", "plain"], "n": [1.5, np.nan], "on": when})
    write_table(frame, tmp_path / "t.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").worksheets[0]
    cells = [cell for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} <= {"s", "n", "d"}  # f would be a formula
    found = read_table(tmp_path / "t.xlsx", "pool")
    assert found["'=head"].map(unguard).tolist() == ["=1+1", "plain"]
    np.testing.assert_array_equal(found["n"], [1.5, np.nan])
    assert found["on"][0] == pd.Timestamp("2024-03-01")


def test_no_instant_leaves_a_file_in_the_making_behind(tmp_path, monkeypatch):
    """A signal may come as soon as the file is there."""
    opened = os.open

    def interrupted(*args):
        os.close(opened(*args))
        take_away_all()
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", interrupted)
    for write in (lambda path: write_text("all", path), check_writable):
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / "rows.csv")
        assert list(tmp_path.iterdir()) == []


def test_no_instant_leaves_a_folder_in_the_making_behind(tmp_path, monkeypatch):
    made = Path.mkdir

    def interrupted(self, *args, **kwargs):
        made(self, *args, **kwargs)
        if self.parent == tmp_path:
            take_away_all()
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt), appearing(tmp_path / "audit"):
        pass
    assert list(tmp_path.iterdir()) == []
