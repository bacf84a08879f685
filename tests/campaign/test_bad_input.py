"""Bad input gets one sentence that says what, where and what to do, and changes nothing."""

import gzip
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from labelwise.errors import InvalidInput, StoreError
from labelwise.estimands.registry import ESTIMANDS
from tests.campaign import small

pytestmark = pytest.mark.usefixtures("unchecked")


class Case(NamedTuple):
    """What is done, and the whole sentence that must come of it."""

    id: str
    action: Callable[..., Any]
    sentence: str
    error: type[Exception] = InvalidInput


def by_id(cases: list[Case]):
    return pytest.mark.parametrize("case", cases, ids=[case.id for case in cases])


def check_sentence(error: Exception, sentence: str, names: dict[str, str]) -> None:
    """`<name>` stands for that text, `...` for words of another library."""
    for name, text in names.items():
        sentence = sentence.replace(f"<{name}>", text)
    pattern = ".+".join(re.escape(part) for part in sentence.split("..."))
    assert re.fullmatch(pattern, str(error)), str(error)
    assert "\n" not in str(error)
    assert str(error).endswith(".")


# Making a campaign.


def changed(table: str, column: str, row: int, value: Any) -> dict[str, pd.DataFrame]:
    """One table with another value in one cell."""
    frame = small.make_tables()[table].astype({column: object})
    frame.loc[row, column] = value
    return {table: frame}


def pool() -> pd.DataFrame:
    return small.make_tables()["pool"]


def labelled() -> pd.DataFrame:
    return small.make_tables()["labelled"]


def target() -> pd.DataFrame:
    return small.make_tables()["target"]


def added(column: str, values: Any, tables=("labelled", "pool", "target")) -> dict:
    """Tables with one more column."""
    found = small.make_tables()
    return {name: found[name].assign(**{column: values}) for name in tables}


def file(name: str, content: bytes) -> Callable[[Path], dict[str, Any]]:
    """The pool from a file."""

    def write(folder: Path) -> dict[str, Any]:
        (folder / name).write_bytes(content)
        return {"pool": folder / name}

    return write


def as_csv(table: str = "pool") -> bytes:
    return small.make_tables()[table].to_csv(index=False).encode()


def a_folder(folder: Path) -> dict[str, Any]:
    (folder / "pool.csv").mkdir()
    return {"pool": folder / "pool.csv"}


def half_a_parquet(folder: Path) -> dict[str, Any]:
    path = folder / "pool.parquet"
    pool().to_parquet(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return {"pool": path}


def with_two(column: str) -> pd.DataFrame:
    return pd.concat([pool(), pool()[[column]]], axis=1)


CREATE = [
    Case(
        "blank id",
        lambda _: changed("pool", "id", 4, " "),
        "The pool table has no id in row 5; give every row an id.",
    ),
    Case(
        "missing id",
        lambda _: changed("pool", "id", 4, None),
        "The pool table has no id in row 5; give every row an id.",
    ),
    Case(
        "missing ids",
        lambda _: {"pool": pool().assign(id=np.nan)},
        "The pool table has no id in row 1 and 29 more; give every row an id.",
    ),
    Case(
        "missing id of a labelled row",
        lambda _: changed("labelled", "id", 0, np.nan),
        "The labelled table has no id in row 1; give every row an id.",
    ),
    Case(
        "missing id of a target row",
        lambda _: changed("target", "id", 0, ""),
        "The target table has no id in row 1; give every row an id.",
    ),
    Case(
        "duplicate id",
        lambda _: changed("pool", "id", 4, "r3"),
        "The pool table has several rows with id r3; give every row its own id.",
    ),
    Case(
        "ids alike in a spreadsheet",
        lambda _: {"pool": pool().assign(id=["=a", "'=a", *[f"r{i}" for i in range(28)]])},
        "The ids '=a' and \"'=a\" look alike in a spreadsheet; change one.",
    ),
    Case(
        "ids alike in a spreadsheet, in two tables",
        lambda _: {
            "pool": pool().assign(id=["=a", *[f"r{i}" for i in range(29)]]),
            **changed("labelled", "id", 4, "'=a"),
        },
        "The ids '=a' and \"'=a\" look alike in a spreadsheet; change one.",
    ),
    Case(
        "label called batch_id",
        lambda _: {"label": "batch_id"},
        "Batches have a column 'batch_id' of their own, so neither id nor label can be called "
        "so; rename the column.",
    ),
    Case(
        "numbers too large",
        lambda _: changed("pool", "a", 4, 1e200),
        "Column 'a' has numbers too large to compare (1e+200); bring it to an ordinary scale.",
    ),
    Case(
        "id in both tables",
        lambda _: changed("labelled", "id", 4, "r3"),
        "The rows with id r3 are both labelled and in the pool; take them out of one.",
    ),
    Case(
        "missing label",
        lambda _: changed("labelled", "y", 2, np.nan),
        "The labelled table: column 'y' is empty in row 3; fill it in.",
    ),
    Case(
        "infinite label",
        lambda _: changed("labelled", "y", 2, np.inf),
        "The labelled table: column 'y' is infinite in row 3; mend the cell.",
    ),
    Case(
        "text label",
        lambda _: changed("labelled", "y", 2, "good"),
        "The labelled table: column 'y' must hold numbers, but row 3 holds 'good'; mend"
        " the cell.",
    ),
    Case(
        "a list for a label",
        lambda _: changed("labelled", "y", 2, [1, 2]),
        "The labelled table: column 'y' must hold numbers, but row 3 holds '[1, 2]'; "
        "mend the cell.",
    ),
    Case(
        "label too high",
        lambda _: changed("labelled", "y", 2, 1.5),
        "The labelled table: column 'y' must be between 0 and 1, but row 3 holds 1.5; "
        "mend the cell.",
    ),
    Case(
        "labels too low",
        lambda _: {"labelled": labelled().assign(y=-1.0)},
        "The labelled table: column 'y' must be between 0 and 1, but rows 1, 2, 3, 4, 5"
        " and 7 more hold -1; mend the cell.",
    ),
    Case(
        "below the least label",
        lambda _: {"label_range": (0.5, None)},
        "The labelled table: column 'y' must be at least 0.5, but rows 1, 2, 4, 5, 7 "
        "and 3 more hold 0.087492; mend the cell.",
    ),
    Case(
        "pool with labels",
        lambda _: (
            changed("pool", "a", 0, 0.0) and {"pool": pool().assign(y=[0.5, *[None] * 29])}
        ),
        "The pool's column 'y' already has labels (id r0); move these rows to the "
        "labelled table.",
    ),
    Case(
        "missing prediction",
        lambda _: changed("target", "psi", 2, np.nan),
        "The target table: column 'psi' is empty in row 3; fill it in.",
    ),
    Case(
        "infinite prediction",
        lambda _: changed("target", "psi", 2, -np.inf),
        "The target table: column 'psi' is infinite in row 3; mend the cell.",
    ),
    Case(
        "text prediction",
        lambda _: changed("target", "psi", 2, "high"),
        "The target table: column 'psi' must hold numbers, but row 3 holds 'high'; mend"
        " the cell.",
    ),
    Case(
        "missing prediction in the belief",
        lambda _: changed("labelled", "psi", 2, None) | {"predictor_in_belief": True},
        "The labelled table: column 'psi' is empty in row 3; fill it in.",
    ),
    Case(
        "missing weight",
        lambda _: added("w", [np.nan, *[1.0] * 19], ["target"]) | {"weight": "w"},
        "The target table: column 'w' is empty in row 1; fill it in.",
    ),
    Case(
        "negative weight",
        lambda _: added("w", [-1.0, *[1.0] * 19], ["target"]) | {"weight": "w"},
        "The target table: column 'w' must be at least 0, but row 1 holds -1; mend the cell.",
    ),
    Case(
        "text weight",
        lambda _: added("w", ["one", *[1.0] * 19], ["target"]) | {"weight": "w"},
        "The target table: column 'w' must hold numbers, but row 1 holds 'one'; mend the cell.",
    ),
    Case(
        "weights all zero",
        lambda _: added("w", 0.0, ["target"]) | {"weight": "w"},
        "The target table: column 'w' is zero in every row; give some row a weight.",
    ),
    Case(
        "negative costs",
        lambda _: added("c", -1.0, ["pool"]) | {"cost": "c"},
        "The pool table: column 'c' must be at least 0, but the rows with id r0, r1, "
        "r2, r3, r4 and 25 more hold -1; mend the cell.",
    ),
    Case(
        "infinite cost",
        lambda _: added("c", [np.inf, *[1.0] * 29], ["pool"]) | {"cost": "c"},
        "The pool table: column 'c' is infinite in the row with id r0; mend the cell.",
    ),
    Case(
        "text cost",
        lambda _: added("c", ["free", *[1.0] * 29], ["pool"]) | {"cost": "c"},
        "The pool table: column 'c' must hold numbers, but the row with id r0 holds "
        "'free'; mend the cell.",
    ),
    Case(
        "infinite feature",
        lambda _: changed("pool", "a", 3, np.inf),
        "The pool table: feature 'a' is infinite in row 4; mend the cell or leave it empty.",
    ),
    Case(
        "text in a numeric feature",
        lambda _: changed("pool", "a", 3, "n/k"),
        "The pool table: column 'a' holds numbers, but row 4 holds 'n/k'; mend the "
        "cell, or name the column as categorical.",
    ),
    Case(
        "kinds of a feature differ",
        lambda _: {"pool": pool().assign(a="north")},
        "Column 'a' holds texts in the pool table but numbers in the target table; give"
        " it one kind, or name it as categorical.",
    ),
    Case(
        "date against number",
        lambda _: {"target": target().assign(a=pd.Timestamp("2024-01-01"))},
        "Column 'a' holds dates in the target table but numbers in the pool table; give"
        " it one kind, or name it as categorical.",
    ),
    Case(
        "complex feature",
        lambda _: added("z", 1j),
        "The labelled table: column 'z' holds complex numbers; give real and imaginary "
        "parts as two columns.",
    ),
    Case(
        "gap refused",
        lambda _: changed("pool", "a", 3, np.nan) | {"missing": "refuse"},
        "The pool table: feature 'a' is missing in row 4; fill it in, or let Labelwise "
        "impute it (missing='impute').",
    ),
    Case(
        "missing nonsense",
        lambda _: {"missing": "ignore"},
        "missing must be 'impute' or 'refuse'; it is 'ignore'.",
    ),
    Case(
        "no feature left",
        lambda _: {"features": ["k"], **added("k", 1.0)},
        "No feature is left (Column 'k' is constant and left out of the features); give"
        " columns that vary.",
    ),
    Case(
        "no shared feature",
        lambda _: {"target": target().rename(columns={"a": "A", "b": "B"})},
        "The tables labelled, pool, target share no feature column; name the features, "
        "or give the same column names to all.",
    ),
    Case(
        "no id column",
        lambda _: {"id": "key"},
        "The pool table has no column 'key' (the id); add it, or name one that it has: "
        "id, a, b, psi.",
    ),
    Case(
        "no label column",
        lambda _: {"label": "truth"},
        "The labelled table has no column 'truth' (the label); add it, or name one that"
        " it has: id, a, b, psi, y.",
    ),
    Case(
        "no prediction column",
        lambda _: {"prediction": "model"},
        "The target table has no column 'model' (the prediction); add it, or name one "
        "that it has: id, a, b, psi.",
    ),
    Case(
        "no weight column",
        lambda _: {"weight": "w"},
        "The target table has no column 'w' (the weight); add it, or name one that it "
        "has: id, a, b, psi.",
    ),
    Case(
        "no cost column",
        lambda _: {"cost": "c"},
        "The pool table has no column 'c' (the cost); add it, or name one that it has: "
        "id, a, b, psi.",
    ),
    Case(
        "no such feature",
        lambda _: {"features": ["a", "c"]},
        "The labelled table has no column 'c' (the feature); add it, or name one that "
        "it has: id, a, b, psi, y.",
    ),
    Case(
        "features as one text",
        lambda _: {"features": "ab"},
        "features must be a list of column names; it is 'ab'.",
    ),
    Case(
        "features not a list",
        lambda _: {"features": 3},
        "features must be a list of column names; it is 3.",
    ),
    Case(
        "feature named twice",
        lambda _: {"features": ["a", "a"]},
        "Feature 'a' is named twice; name it once.",
    ),
    Case(
        "feature with another part",
        lambda _: {"features": ["a", "psi"]},
        "Column 'psi' cannot be a feature: it already has another part; take it out of "
        "the features.",
    ),
    Case(
        "one column with two parts",
        lambda _: {"prediction": "y"},
        "Column 'y' is given two parts; each part needs its own.",
    ),
    Case(
        "id not named",
        lambda _: {"id": None},
        "No id column is named; say id= which column it is.",
    ),
    Case(
        "label not named",
        lambda _: {"label": None},
        "No label column is named; say label= which column it is.",
    ),
    Case(
        "column named by a number",
        lambda _: {"label": 3},
        "A column is named by text; 3 is not, so give its name.",
    ),
    Case(
        "categorical but no feature",
        lambda _: {"categorical": ["id"]},
        "Column 'id' is called categorical but is not a feature; name one of a, b.",
    ),
    Case(
        "two columns of one name",
        lambda _: {"pool": with_two("a")},
        "pool has two columns named 'a'; rename one.",
    ),
    Case(
        "names alike but for spaces",
        lambda _: {"pool": pool().assign(**{" a": 1.0})},
        "pool has two columns named 'a'; rename one.",
    ),
    Case(
        "columns of two levels",
        lambda _: {"pool": pd.concat({"x": pool()}, axis=1)},
        "pool has columns of several levels; flatten them to one name each.",
    ),
    Case(
        "index and column of one name",
        lambda _: {"pool": pool().set_index("id", drop=False)},
        "pool has an index and a column named 'id'; drop one of them.",
    ),
    Case(
        "no rows",
        lambda _: {"pool": pool().head(0)},
        "The pool table has no rows; give at least one.",
    ),
    Case(
        "empty target",
        lambda _: {"target": target().head(0)},
        "The target table has no rows; give at least one.",
    ),
    Case(
        "one labelled row",
        lambda _: {"labelled": labelled().head(1)},
        "The labelled table has 1 row, but a belief needs at least 2; label more.",
    ),
    Case(
        "None for a table",
        lambda _: {"pool": None},
        "pool must be a pandas DataFrame or the path of a file; it is None.",
    ),
    Case(
        "a list for a table",
        lambda _: {"pool": [1, 2]},
        "pool must be a pandas DataFrame or the path of a file; it is of type list.",
    ),
    Case(
        "a number for a table",
        lambda _: {"labelled": 7},
        "labelled must be a pandas DataFrame or the path of a file; it is of type int.",
    ),
    Case(
        "empty file",
        file("pool.csv", b""),
        "<inputs>/pool.csv is empty; it needs a line of column names and at least one row.",
    ),
    Case(
        "header only",
        file("pool.csv", b"id,a,b,psi\n"),
        "The pool table has no rows; give at least one.",
    ),
    Case(
        "two columns of one name in a file",
        file("pool.csv", b"id,a,a,b\nr1,1,2,3\n"),
        "<inputs>/pool.csv has two columns named 'a'; rename one.",
    ),
    Case(
        "latin-1",
        file("pool.csv", "id,a,b\nré,1,2\n".encode("latin-1")),
        "<inputs>/pool.csv is not UTF-8 text (byte 8); save it again as UTF-8.",
    ),
    Case(
        "UTF-16",
        file("pool.csv", as_csv().decode().encode("utf-16")),
        "<inputs>/pool.csv holds NUL bytes, so it is no UTF-8 text or is damaged; save "
        "it again as UTF-8.",
    ),
    Case(
        "NUL bytes",
        file("pool.csv", as_csv().replace(b"r7", b"r\x007")),
        "<inputs>/pool.csv holds NUL bytes, so it is no UTF-8 text or is damaged; save "
        "it again as UTF-8.",
    ),
    Case(
        "lines too long",
        file("pool.csv", b"id,a,b,psi\nr1,1,2,3\nr2,1,2,3,4\n"),
        "<inputs>/pool.csv is not a regular CSV (...); give every line as many cells as"
        " the first.",
    ),
    Case(
        "first line too long",
        file("pool.csv", b"id,a,b,psi\nr1,1,2,3,4\nr2,1,2,3,4\n"),
        "<inputs>/pool.csv is not a regular CSV (...); give every line as many cells as"
        " the first.",
    ),
    Case(
        "an open quote",
        file("pool.csv", b'id,a,b,psi\n"r1,1,2,3\nr2,1,2,3\n'),
        "<inputs>/pool.csv is not a regular CSV (...); give every line as many cells as"
        " the first.",
    ),
    Case(
        "truncated gzip",
        file("pool.csv.gz", gzip.compress(as_csv())[:-60]),
        "<inputs>/pool.csv.gz is not a readable gz file (...); write it again.",
    ),
    Case(
        "gzip in name only",
        file("pool.csv.gz", as_csv()),
        "<inputs>/pool.csv.gz cannot be read (...); check the file.",
    ),
    Case(
        "broken Parquet",
        half_a_parquet,
        "<inputs>/pool.parquet is not a readable parquet file (...); write it again.",
    ),
    Case(
        "CSV named .parquet",
        file("pool.parquet", as_csv()),
        "<inputs>/pool.parquet is not a readable parquet file (...); write it again.",
    ),
    Case(
        "unknown ending",
        file("pool.xlsx", b"PK"),
        "<inputs>/pool.xlsx has no known ending; use one of .csv, .csv.gz, .tsv, "
        ".parquet, .pq, .json, .jsonl so that its format is clear.",
    ),
    Case(
        "a folder",
        a_folder,
        "<inputs>/pool.csv is a folder; give the path of a file in it.",
    ),
    Case(
        "no such file",
        lambda folder: {"pool": folder / "none.csv"},
        "There is no file <inputs>/none.csv; check the path.",
    ),
    Case(
        "no such Parquet",
        lambda folder: {"pool": str(folder / "none.parquet")},
        "There is no file <inputs>/none.parquet; check the path.",
    ),
    Case(
        "JSON text",
        file("pool.json", b'"hello"'),
        "<inputs>/pool.json is JSON but not a list of objects; give one object a row, "
        "and at least one.",
    ),
    Case(
        "JSON of numbers",
        file("pool.json", b"[1, 2]"),
        "<inputs>/pool.json is JSON but not a list of objects; give one object a row, "
        "and at least one.",
    ),
    Case(
        "empty JSON list",
        file("pool.json", b"[]"),
        "<inputs>/pool.json is JSON but not a list of objects; give one object a row, "
        "and at least one.",
    ),
    Case(
        "broken JSON",
        file("pool.json", b'[{"id": 1'),
        "<inputs>/pool.json is not JSON (...); give a list of objects, or one object a line.",
    ),
    Case(
        "JSON in latin-1",
        file("pool.json", '[{"id": "é"}]'.encode("latin-1")),
        "<inputs>/pool.json is not UTF-8 text (byte 9); save it again as UTF-8.",
    ),
    Case(
        "batch zero",
        lambda _: {"batch": 0},
        "batch must be at least 1; it is 0.",
    ),
    Case(
        "batch negative",
        lambda _: {"batch": -3},
        "batch must be at least 1; it is -3.",
    ),
    Case(
        "batch not whole",
        lambda _: {"batch": 2.5},
        "batch must be a whole number; it is 2.5.",
    ),
    Case(
        "batch as text",
        lambda _: {"batch": "3"},
        "batch must be a whole number; it is '3'.",
    ),
    Case(
        "batch True",
        lambda _: {"batch": True},
        "batch must be a whole number; it is True.",
    ),
    Case(
        "budget zero",
        lambda _: {"budget": 0},
        "budget must be at least 1; it is 0.",
    ),
    Case(
        "budget not whole",
        lambda _: {"budget": 1e3},
        "budget must be a whole number; it is 1000.0.",
    ),
    Case(
        "seed negative",
        lambda _: {"seed": -1},
        "seed must be at least 0; it is -1.",
    ),
    Case(
        "seed not whole",
        lambda _: {"seed": 0.5},
        "seed must be a whole number; it is 0.5.",
    ),
    Case(
        "seed too large",
        lambda _: {"seed": 2**70},
        "seed must be less than 2**32; it is 1180591620717411303424.",
    ),
    Case(
        "expiry zero",
        lambda _: {"expiry_days": 0},
        "expiry_days must be a positive number of days up to 36500, or None for never; "
        "it is 0.",
    ),
    Case(
        "expiry NaN",
        lambda _: {"expiry_days": np.nan},
        "expiry_days must be a positive number of days up to 36500, or None for never; "
        "it is nan.",
    ),
    Case(
        "expiry infinite",
        lambda _: {"expiry_days": np.inf},
        "expiry_days must be a positive number of days up to 36500, or None for never; "
        "it is inf.",
    ),
    Case(
        "expiry as text",
        lambda _: {"expiry_days": "a week"},
        "expiry_days must be a positive number of days up to 36500, or None for never; "
        "it is 'a week'.",
    ),
    Case(
        "expiry True",
        lambda _: {"expiry_days": True},
        "expiry_days must be a positive number of days up to 36500, or None for never; "
        "it is True.",
    ),
    Case(
        "range upside down",
        lambda _: {"label_range": (1, 0)},
        "label_range must go from low to high; it is (1, 0).",
    ),
    Case(
        "range of one",
        lambda _: {"label_range": (1,)},
        "label_range must be a pair of numbers (low, high), None for no bound; it is (1,).",
    ),
    Case(
        "range zero",
        lambda _: {"label_range": 0},
        "label_range must be a pair of numbers (low, high), None for no bound; it is 0.",
    ),
    Case(
        "range as text",
        lambda _: {"label_range": "01"},
        "label_range must be a pair of numbers (low, high), None for no bound; it is '01'.",
    ),
    Case(
        "range with NaN",
        lambda _: {"label_range": (np.nan, None)},
        "label_range must be a pair of numbers (low, high), None for no bound; it is "
        "(nan, None).",
    ),
    Case(
        "unknown estimand",
        lambda _: {"estimand": "median"},
        f"There is no estimand 'median'; choose from {', '.join(ESTIMANDS)}.",
    ),
    Case(
        "estimand not a name",
        lambda _: {"estimand": [3]},
        f"There is no estimand 3; choose from {', '.join(ESTIMANDS)}.",
    ),
    Case(
        "error without prediction",
        lambda _: {"prediction": None},
        "The estimand 'mse' needs predictions; name the prediction column.",
    ),
    Case(
        "unknown policy",
        lambda _: {"policy": "oracle"},
        "There is no policy 'oracle'; choose from random, uncertainty, uncertainty-"
        "sequential, integrated-variance, reinforce, smoothed-autodiff, lookahead.",
    ),
    Case(
        "policy not a name",
        lambda _: {"policy": None},
        "There is no policy None; choose from random, uncertainty, uncertainty-"
        "sequential, integrated-variance, reinforce, smoothed-autodiff, lookahead.",
    ),
    Case(
        "unknown belief",
        lambda _: {"belief": "forest"},
        "There is no belief 'forest'; use 'auto', 'gp', 'gp-classifier', 'mlp', "
        "'dropout', 'ensemble', 'ensemble-plus', 'hypermodel', 'epinet', 'last-layer', its "
        "options, or a GaussianProcess.",
    ),
    Case(
        "unknown option of a belief",
        lambda _: {"belief": {"name": "gp", "depth": 3}},
        "The belief has no option 'depth'; it has components, kernel, starts.",
    ),
    Case(
        "unknown kernel",
        lambda _: {"belief": {"kernel": "cubic"}},
        "kernel must be one of rbf, matern32, matern52, linear; it is 'cubic'.",
    ),
    Case(
        "belief not a belief",
        lambda _: {"belief": 3},
        "There is no belief 3; use 'auto', 'gp', 'gp-classifier', 'mlp', "
        "'dropout', 'ensemble', 'ensemble-plus', 'hypermodel', 'epinet', 'last-layer', its "
        "options, or a GaussianProcess.",
    ),
    Case(
        "length scales for other features",
        lambda _: {"belief": three_scales()},
        "The belief has 3 length scales but the tables give 2 features; give one, or "
        "one a feature.",
    ),
]


def three_scales():
    from labelwise import RBF, GaussianProcess

    return GaussianProcess(RBF(np.ones(3), 1.0), 0.1)


@by_id(CREATE)
def test_a_campaign_is_not_made_of_bad_input(case, tmp_path):
    inputs, place = tmp_path / "inputs", tmp_path / "place"
    inputs.mkdir()
    place.mkdir()
    changes = case.action(inputs)
    with pytest.raises(case.error) as caught:
        small.make(place / "campaign", **changes)
    check_sentence(caught.value, case.sentence, {"inputs": str(inputs)})
    assert list(place.iterdir()) == []


# Working with one.


@pytest.fixture
def ids(begun) -> dict[str, str]:
    """One row of each state, by its state."""
    from labelwise.campaign.export import rows_table

    rows = rows_table(begun._ledger)
    return {
        state: str(rows.loc[rows["state"] == state, "id"].iloc[0])
        for state in rows["state"].unique()
    }


def frame(ids: Any, labels: Any, **more: Any) -> pd.DataFrame:
    return pd.DataFrame({"id": ids, "y": labels, **more})


def told(content: bytes, name: str = "labels.csv"):
    """Tell from a file."""

    def tell(campaign, ids):
        path = campaign.path.parent / name
        path.write_bytes(content)
        try:
            campaign.tell(path)
        finally:
            path.unlink()

    return tell


def task(one: Any, **more: Any) -> dict[str, Any]:
    return {"data": {"id": one}, **more}


USE = [
    Case(
        "tell an unknown id",
        lambda c, _: c.tell({"r99": 0.5}),
        "tell: there is no row with id r99 in the pool; check the ids, which look like "
        "<available>, r1, r2.",
    ),
    Case(
        "tell some unknown ids",
        lambda c, ids: c.tell({ids["pending"]: 0.5} | {f"x{i}": 0.5 for i in range(7)}),
        "tell: there is no row with id x0, x1, x2, x3, x4 and 2 more in the pool; check"
        " the ids, which look like <available>, r1, r2.",
    ),
    Case(
        "tell a blank id",
        lambda c, ids: c.tell(frame([ids["pending"], " "], 0.5)),
        "tell: the table has no id in row 2; give every row an id.",
    ),
    Case(
        "tell a missing id",
        lambda c, ids: c.tell(frame([None, ids["pending"]], 0.5)),
        "tell: the table has no id in row 1; give every row an id.",
    ),
    Case(
        "tell one id two labels",
        lambda c, ids: c.tell(frame([ids["pending"]] * 2, [0.5, 0.6])),
        "tell: the table gives id <pending> two labels (0.5 and 0.6); leave one.",
    ),
    Case(
        "tell infinity",
        lambda c, ids: c.tell({ids["pending"]: np.inf}),
        "tell: column 'y' is infinite in the row with id <pending>; mend the cell.",
    ),
    Case(
        "tell text",
        lambda c, ids: c.tell({ids["pending"]: "bad"}),
        "tell: column 'y' must hold numbers, but the row with id <pending> holds 'bad';"
        " mend the cell.",
    ),
    Case(
        "tell a list",
        lambda c, ids: c.tell({ids["pending"]: [1, 2]}),
        "tell: column 'y' must hold numbers, but the row with id <pending> holds '[1, "
        "2]'; mend the cell.",
    ),
    Case(
        "tell a label too high",
        lambda c, ids: c.tell({ids["pending"]: 1.01}),
        "tell: column 'y' must be between 0 and 1, but the row with id <pending> holds "
        "1.01; mend the cell.",
    ),
    Case(
        "tell a label too low",
        lambda c, ids: c.tell({ids["pending"]: -0.01}),
        "tell: column 'y' must be between 0 and 1, but the row with id <pending> holds "
        "-0.01; mend the cell.",
    ),
    Case(
        "tell another label",
        lambda c, ids: c.tell({ids["labelled"]: 0.123}),
        "tell: there is another label already for <labelled> (0.636422, now 0.123); use"
        " correct to change it.",
    ),
    Case(
        "tell a good and a conflicting label",
        lambda c, ids: c.tell({ids["pending"]: 0.5, ids["labelled"]: 0.123}),
        "tell: there is another label already for <labelled> (0.636422, now 0.123); use"
        " correct to change it.",
    ),
    Case(
        "tell a row never asked",
        lambda c, ids: c.tell({ids["available"]: 0.5}),
        "tell: nobody asked for <available>, and labels one picks oneself can bias the answer; "
        "say unasked='accept' (--unasked accept) if you mean it, or 'ignore' to leave them "
        "aside.",
    ),
    Case(
        "tell with an unknown rule",
        lambda c, ids: c.tell({ids["pending"]: 0.5}, unasked="maybe"),
        "unasked must be refuse, accept or ignore; it is 'maybe'.",
    ),
    Case(
        "tell an initial row",
        lambda c, _: c.tell({"r1000": 0.5}),
        "tell: there was a label from the start for r1000; use correct to change it.",
    ),
    Case(
        "tell of a wrong batch",
        lambda c, ids: c.tell(frame([ids["pending"]], 0.5, batch_id=1)),
        "tell: <pending> was not asked in batch 1; correct the batch_id column, or "
        "leave it out.",
    ),
    Case(
        "tell of a text batch",
        lambda c, ids: c.tell(frame([ids["pending"]], 0.5, batch_id="first")),
        "tell: column 'batch_id' must hold numbers, but the row with id <pending> holds"
        " 'first'; mend the cell.",
    ),
    Case(
        "tell of half a batch",
        lambda c, ids: c.tell(frame([ids["pending"]], 0.5, batch_id=1.5)),
        "tell: column 'batch_id' must hold whole numbers, but the row with id <pending>"
        " does not; correct it, or leave the column out.",
    ),
    Case(
        "tell without ids",
        lambda c, ids: c.tell(pd.DataFrame({"y": [0.5]})),
        "tell: the table has no column 'id'; add it to those that are there: y.",
    ),
    Case(
        "tell without labels",
        lambda c, ids: c.tell(pd.DataFrame({"id": [ids["pending"]], "label": 0.5})),
        "tell: the table has no column 'y'; add it to those that are there: id, label.",
    ),
    Case(
        "tell no rows",
        lambda c, _: c.tell(frame([], [])),
        "tell: the table has no rows; give at least one.",
    ),
    Case(
        "tell an empty mapping",
        lambda c, _: c.tell({}),
        "tell: the table has no rows; give at least one.",
    ),
    Case(
        "tell an empty list",
        lambda c, _: c.tell([]),
        "tell: the table has no rows; give at least one.",
    ),
    Case(
        "tell None",
        lambda c, _: c.tell(None),
        "tell: the table must be a pandas DataFrame or the path of a file; it is None.",
    ),
    Case(
        "tell a number",
        lambda c, _: c.tell(5),
        "tell: the table must be a pandas DataFrame or the path of a file; it is of type int.",
    ),
    Case(
        "tell numbers",
        lambda c, _: c.tell([0.5, 0.6]),
        "tell: the list must hold one object a row, with an id and a label; it holds 0.5.",
    ),
    Case(
        "tell an empty file",
        told(b""),
        "<files>/labels.csv is empty; it needs a line of column names and at least one row.",
    ),
    Case(
        "tell a header",
        told(b"id,y\n"),
        "tell: the table has no rows; give at least one.",
    ),
    Case(
        "tell latin-1",
        told("id,y,b\nr1,1,é".encode("latin-1")),
        "<files>/labels.csv is not UTF-8 text (byte 12); save it again as UTF-8.",
    ),
    Case(
        "tell a missing file",
        lambda c, _: c.tell(c.path / "none.csv"),
        "There is no file <campaign>/none.csv; check the path.",
    ),
    Case(
        "tell a missing JSON file",
        lambda c, _: c.tell(str(c.path / "none.json")),
        "There is no file <campaign>/none.json; check the path.",
    ),
    Case(
        "tell JSON that is no list of objects",
        told(b"[[1, 2]]", "labels.json"),
        "<files>/labels.json is JSON but not a list of objects; give one object a row, "
        "and at least one.",
    ),
    Case(
        "tell a task without id",
        lambda c, _: c.tell([{"data": {"text": "x"}}]),
        "tell: task 1 has no 'id' in its data; export the tasks that Labelwise wrote.",
    ),
    Case(
        "tell annotations that are none",
        lambda c, ids: c.tell([task(ids["pending"], annotations=3)]),
        "tell: the annotations of task 1 are not as Label Studio writes them; export "
        "the tasks again, as JSON.",
    ),
    Case(
        "tell disagreeing annotations",
        lambda c, ids: c.tell(
            [task(ids["pending"], annotations=[annotation(number=0.1), annotation(number=0.2)])]
        ),
        "tell: annotations of <pending> disagree (0.1, 0.2); settle on one.",
    ),
    Case(
        "tell two choices",
        lambda c, ids: c.tell(
            [task(ids["pending"], annotations=[annotation(choices=["0", "1"])])]
        ),
        "tell: the annotation of <pending> holds several choices (0, 1); leave one.",
    ),
    Case(
        "tell a box",
        lambda c, ids: c.tell([task(ids["pending"], annotations=[annotation(rectangle=3)])]),
        "tell: the annotation of <pending> holds no number, rating, choice or text; use"
        " one of these controls for the label.",
    ),
    Case(
        "tell a choice that is no number",
        lambda c, ids: c.tell(
            [task(ids["pending"], annotations=[annotation(choices=["cat"])])]
        ),
        "tell: column 'y' must hold numbers, but the row with id <pending> holds 'cat';"
        " mend the cell.",
    ),
    Case(
        "correct a row without label",
        lambda c, ids: c.correct({ids["pending"]: 0.5}),
        "correct: there is no label yet for <pending>; use tell for a first one.",
    ),
    Case(
        "correct an unknown row",
        lambda c, ids: c.correct({"r99": 0.5}),
        "correct: there is no row with id r99 in the pool; check the ids, which look "
        "like <available>, r1, r2.",
    ),
    Case(
        "correct out of range",
        lambda c, ids: c.correct({ids["labelled"]: 2}),
        "correct: column 'y' must be between 0 and 1, but the row with id <labelled> "
        "holds 2; mend the cell.",
    ),
    Case(
        "skip an unknown row",
        lambda c, _: c.skip("r99"),
        "skip: there is no row with id r99 in the pool; check the ids, which look like "
        "<available>, r1, r2.",
    ),
    Case(
        "skip a labelled row",
        lambda c, ids: c.skip([ids["pending"], ids["labelled"]]),
        "skip: there is a label already for <labelled>; only rows without one can be skipped.",
    ),
    Case(
        "skip an initial row",
        lambda c, _: c.skip("r1000"),
        "skip: there is a label already for r1000; only rows without one can be skipped.",
    ),
    Case(
        "skip nothing",
        lambda c, _: c.skip([""]),
        "skip has no id in row 1; give every row an id.",
    ),
    Case(
        "skip a frame",
        lambda c, _: c.skip(c.pending()),
        "skip takes ids, not a DataFrame; give its id column.",
    ),
    Case(
        "fail an unknown row",
        lambda c, _: c.fail(["r99"]),
        "fail: there is no row with id r99 in the pool; check the ids, which look like "
        "<available>, r1, r2.",
    ),
    Case(
        "fail a labelled row",
        lambda c, ids: c.fail(ids["labelled"]),
        "fail: there is a label already for <labelled>; only rows without one can be failed.",
    ),
    Case(
        "fail a row that is not out",
        lambda c, ids: c.fail(ids["available"]),
        "fail: only rows that are out can fail, not <available>; to keep a row from "
        "being asked, skip it.",
    ),
    Case(
        "fail a skipped row",
        lambda c, ids: c.fail([ids["pending"], ids["skipped"]]),
        "fail: only rows that are out can fail, not <skipped>; to keep a row from being"
        " asked, skip it.",
    ),
    Case(
        "ask for none",
        lambda c, _: c.ask(0),
        "n must be at least 1; it is 0.",
    ),
    Case(
        "ask for fewer than none",
        lambda c, _: c.ask(-1),
        "n must be at least 1; it is -1.",
    ),
    Case(
        "ask for True",
        lambda c, _: c.ask(True),
        "n must be a whole number; it is True.",
    ),
    Case(
        "ask for a fraction",
        lambda c, _: c.ask(2.5),
        "n must be a whole number; it is 2.5.",
    ),
    Case(
        "ask for text",
        lambda c, _: c.ask("3"),
        "n must be a whole number; it is '3'.",
    ),
    Case(
        "ask for more than the budget",
        lambda c, _: c.ask(17),
        "The budget has 16 labels left; ask for at most that many, or with over_budget=True "
        "(--over-budget).",
    ),
    Case(
        "plan for none",
        lambda c, _: c.plan(0),
        "n must be at least 1; it is 0.",
    ),
    Case(
        "forecast no rounds",
        lambda c, _: c.forecast(0),
        "rounds must be at least 1; it is 0.",
    ),
    Case(
        "export to an unknown ending",
        lambda c, _: c.export(c.path / "rows.doc"),
        "<campaign>/rows.doc has no known ending; use one of .csv, .csv.gz, .tsv, "
        ".parquet, .pq, .json, .jsonl so that its format is clear.",
    ),
    Case(
        "export to nowhere",
        lambda c, _: c.export(c.path / "no" / "rows.csv"),
        "Cannot write to <campaign>/no (No such file or directory); choose another place.",
    ),
    Case(
        "export to a folder",
        lambda c, _: c.export(export_folder(c)),
        "<files>/folder.csv is a folder; give the name of a file in it.",
    ),
]


def annotation(**value: Any) -> dict[str, Any]:
    return {"result": [{"from_name": "y", "value": value}]}


def export_folder(campaign) -> Path:
    path = campaign.path.parent / "folder.csv"
    path.mkdir()
    return path


@by_id(USE)
def test_bad_input_changes_nothing(case, begun, ids):
    before, files = small.dump(begun.path), files_in(begun.path)
    with pytest.raises(case.error) as caught:
        case.action(begun, ids)
    check_sentence(
        caught.value,
        case.sentence,
        {**ids, "campaign": str(begun.path), "files": str(begun.path.parent)},
    )
    assert small.dump(begun.path) == before
    assert files_in(begun.path) == files


def files_in(folder: Path) -> list[str]:
    """Names of all files; SQLite's own come and go."""
    found = (str(path.relative_to(folder)) for path in folder.rglob("*"))
    return sorted(one for one in found if not one.endswith(("-wal", "-shm")))


def test_more_rows_than_the_pool_has_are_refused(tmp_path):
    campaign = small.make(tmp_path / "campaign", budget=None)
    before = history(campaign)
    with pytest.raises(InvalidInput) as caught:
        campaign.ask(31)
    check_sentence(caught.value, "The pool has 30 rows left; ask for at most that many.", {})
    assert history(campaign) == before


# Folders and files that are not what they should be.


def edited(statement: str, *values: Any) -> Callable[[Path], None]:
    """Change the log behind its back."""

    def edit(folder: Path) -> None:
        log = sqlite3.connect(folder / "campaign.db")
        with log:
            log.execute(statement, values)
        log.close()

    return edit


def cut(share: float, extra: int = 0) -> Callable[[Path], None]:
    """Truncate the log."""

    def truncate(folder: Path) -> None:
        path = folder / "campaign.db"
        os.truncate(path, int(share * path.stat().st_size) + extra)

    return truncate


def scrambled(folder: Path) -> None:
    path = folder / "campaign.db"
    content = bytearray(path.read_bytes())
    content[4096:12288] = bytes(8192)
    path.write_bytes(content)


def another_database(folder: Path) -> None:
    (folder / "campaign.db").unlink()
    edited("CREATE TABLE events (event)")(folder)


def swapped(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def removed(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def linked(name: str) -> Callable[[Path], None]:
    """Move a part of the folder outside, with a link in its place."""

    def link(folder: Path) -> None:
        shutil.move(folder / name, folder.parent / "outside")
        (folder / name).symlink_to(folder.parent / "outside")

    return link


def document(name: str, change: Callable[[dict], dict]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        log = sqlite3.connect(folder / "campaign.db")
        query = "SELECT content FROM documents WHERE name = ?"
        content = change(json.loads(log.execute(query, (name,)).fetchone()[0]))
        log.close()
        edited("UPDATE documents SET content = ? WHERE name = ?", json.dumps(content), name)(
            folder
        )

    return edit


def without(key: str) -> Callable[[dict], dict]:
    return lambda found: {name: value for name, value in found.items() if name != key}


CUT = "<campaign>/campaign.db is damaged (it was cut short); restore the folder from a copy."
FOLDERS = [
    Case(
        "no log",
        removed("campaign.db"),
        "<campaign> is not a Labelwise campaign (it holds no campaign.db); give the "
        "folder made by `labelwise new`.",
    ),
    Case(
        "another database",
        another_database,
        "<campaign>/campaign.db is a database, but not of a Labelwise campaign; give "
        "another folder.",
    ),
    Case(
        "text for a log",
        swapped("campaign.db", b"a,b\n1,2\n" * 512),
        "<campaign>/campaign.db is damaged (file is not a database); restore the folder"
        " from a copy.",
        StoreError,
    ),
    Case(
        "a newer schema",
        edited("PRAGMA user_version = 99"),
        "<campaign> was written by a newer Labelwise (schema 99, this one knows 4); "
        "upgrade Labelwise.",
    ),
    Case(
        "an empty log",
        cut(0),
        CUT,
        StoreError,
    ),
    Case(
        "ten bytes of a log",
        cut(0, 10),
        CUT,
        StoreError,
    ),
    Case(
        "a log cut after its head",
        cut(0, 100),
        CUT,
        StoreError,
    ),
    Case(
        "a log cut after a page",
        cut(0, 4096),
        "<campaign>/campaign.db is damaged (database disk image is malformed); restore "
        "the folder from a copy.",
        StoreError,
    ),
    Case(
        "half a log",
        cut(0.5),
        "<campaign>/campaign.db is damaged (database disk image is malformed); restore "
        "the folder from a copy.",
        StoreError,
    ),
    Case("a log without its end", cut(1, -1), CUT, StoreError),
    Case(
        "a log with a hole",
        scrambled,
        "<campaign>/campaign.db is damaged (it fails SQLite's quick check); restore the"
        " folder from a copy.",
        StoreError,
    ),
    Case(
        "settings without a key",
        document("settings", without("batch")),
        "The campaign's settings do not suit this Labelwise (see 'batch'); restore the "
        "folder from a copy, or upgrade Labelwise.",
        StoreError,
    ),
    Case(
        "settings with a strange key",
        document("settings", lambda found: found | {"colour": 1}),
        "The campaign's settings do not suit this Labelwise (see 'colour'); restore the "
        "folder from a copy, or upgrade Labelwise.",
        StoreError,
    ),
    Case(
        "settings that point outside",
        document("settings", lambda found: found | {"target": "../../other"}),
        "The campaign's settings do not suit this Labelwise (see 'target'); restore the "
        "folder from a copy, or upgrade Labelwise.",
        StoreError,
    ),
    Case(
        "settings that are no JSON",
        edited("UPDATE documents SET content = '{' WHERE name = 'settings'"),
        "<campaign> holds damaged settings; restore it from a copy.",
        StoreError,
    ),
    Case(
        "no settings",
        edited("DELETE FROM documents WHERE name = 'settings'"),
        "<campaign> holds no settings; restore it from a copy.",
        StoreError,
    ),
    Case(
        "an encoder without a key",
        document("encoder", without("codings")),
        "The campaign's encoder cannot be understood ('codings'); restore the folder "
        "from a copy.",
        StoreError,
    ),
    Case(
        "no pool",
        removed("tables/pool.parquet"),
        "<campaign>/tables/pool.parquet is missing or damaged (FileNotFoundError); "
        "restore the folder from a copy.",
        StoreError,
    ),
    Case(
        "a damaged pool",
        swapped("tables/pool.parquet", b"PAR1 and nothing"),
        "<campaign>/tables/pool.parquet is missing or damaged (ArrowInvalid); restore "
        "the folder from a copy.",
        StoreError,
    ),
    Case(
        "an empty target",
        swapped("tables/target.parquet", b""),
        "<campaign>/tables/target.parquet is missing or damaged (ArrowInvalid); restore"
        " the folder from a copy.",
        StoreError,
    ),
    Case(
        "a pool outside",
        linked("tables/pool.parquet"),
        "<campaign> points at a table outside itself (pool); restore it from a copy.",
        StoreError,
    ),
    Case(
        "tables outside",
        linked("tables"),
        "<campaign> points at a table outside itself (labelled); restore it from a copy.",
        StoreError,
    ),
]


@by_id(FOLDERS)
def test_a_damaged_folder_is_refused_and_left_alone(case, begun):
    from labelwise.campaign.campaign import Campaign

    folder = begun.path
    case.action(folder)
    before = contents(folder)
    with pytest.raises(case.error) as caught:
        Campaign.open(folder).ask()
    check_sentence(caught.value, case.sentence, {"campaign": str(folder)})
    assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {
        name: (folder / name).read_bytes()
        for name in files_in(folder)
        if (folder / name).is_file()
    }


@pytest.mark.parametrize("name", ["nowhere", "notes.txt"])
def test_what_is_no_campaign_is_not_opened(name, tmp_path):
    from labelwise.campaign.campaign import Campaign

    (tmp_path / "notes.txt").write_text("hello")
    sentence = (
        "<place> is not a Labelwise campaign (it holds no campaign.db); give the folder made "
        "by `labelwise new`."
    )
    with pytest.raises(InvalidInput) as caught:
        Campaign.open(tmp_path / name)
    check_sentence(caught.value, sentence, {"place": str(tmp_path / name)})


def occupied(folder: Path) -> Path:
    (folder / "taken").mkdir()
    (folder / "taken" / "notes.txt").write_text("hello")
    return folder / "taken"


def a_file(folder: Path) -> Path:
    (folder / "taken").write_text("hello")
    return folder / "taken"


def under_a_file(folder: Path) -> Path:
    return a_file(folder) / "campaign"


def a_campaign(folder: Path) -> Path:
    (folder / "taken").mkdir()
    (folder / "taken" / "campaign.db").write_text("hello")
    return folder / "taken"


PLACES = [
    Case(
        "a folder in use",
        occupied,
        "<place> exists and is not an empty folder; choose another name for the campaign.",
    ),
    Case(
        "a file",
        a_file,
        "<place> exists and is not an empty folder; choose another name for the campaign.",
    ),
    Case(
        "under a file",
        under_a_file,
        "Cannot make a campaign at <place> (File exists); choose another place.",
    ),
    Case(
        "a campaign",
        a_campaign,
        "<place> already holds a campaign; open it, or choose another name.",
    ),
]


@by_id(PLACES)
def test_a_campaign_is_not_made_where_something_is(case, tmp_path):
    path = case.action(tmp_path)
    before = files_in(tmp_path)
    with pytest.raises(InvalidInput) as caught:
        small.make(path)
    check_sentence(caught.value, case.sentence, {"place": str(path)})
    assert files_in(tmp_path) == before


# Disks that give up.


@pytest.fixture
def full_disk(monkeypatch):
    """No log can grow by another page."""
    from labelwise.campaign import store

    connect = store._connect

    def limited(*arguments, **options):
        log = connect(*arguments, **options)
        log.execute("PRAGMA max_page_count = 1")  # SQLite takes the present size instead
        return log

    monkeypatch.setattr(store, "_connect", limited)


FULL = "The disk of <campaign> is full; nothing was changed, make room and repeat."


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("verb", ["ask", "skip", "correct", "fail"])
def test_a_full_disk_changes_nothing(verb, begun, ids):
    before = history(begun)
    long = "because " * 2000
    action = {
        "ask": begun.ask,
        "skip": lambda: begun.skip(ids["available"], long),
        "correct": lambda: begun.correct({ids["labelled"]: 0.5}, long),
        "fail": lambda: begun.fail(ids["pending"], long),
    }[verb]
    with pytest.raises(StoreError) as caught:
        action()
    check_sentence(caught.value, FULL, {"campaign": str(begun.path)})
    assert history(begun) == before


def history(campaign) -> dict[str, list[tuple]]:
    """The log without what is computed from it, which may be kept at any time."""
    tables = small.dump(campaign.path)
    return {name: tables[name] for name in ("documents", "items", "rounds", "events")}


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_leaves_no_new_log(tmp_path):
    with pytest.raises(StoreError) as caught:
        small.make(tmp_path / "campaign")
    check_sentence(caught.value, FULL, {"campaign": str(tmp_path / "campaign")})
    assert list(tmp_path.iterdir()) == []


def no_space(*_, **__):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("owner", "name"), [(os, "fsync"), (os, "rename"), (pd.DataFrame, "to_parquet")]
)
def test_a_disk_that_fails_leaves_no_new_campaign(owner, name, tmp_path, monkeypatch):
    monkeypatch.setattr(owner, name, no_space)
    with pytest.raises(StoreError) as caught:
        small.make(tmp_path / "campaign")
    sentence = (
        "The campaign could not be written at <campaign> (No space left on device); make room "
        "or choose another place."
    )
    check_sentence(caught.value, sentence, {"campaign": str(tmp_path / "campaign")})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("owner", "name", "ending"),
    [
        (os, "fsync", "csv"),
        (os, "replace", "csv.gz"),
        (Path, "write_bytes", "json"),
        (pd.DataFrame, "to_parquet", "parquet"),
    ],
)
def test_a_disk_that_fails_leaves_the_old_export(owner, name, ending, begun, monkeypatch):
    path = begun.path.parent / f"rows.{ending}"
    path.write_text("the old one")
    before = files_in(begun.path.parent)
    monkeypatch.setattr(owner, name, no_space)
    with pytest.raises(StoreError) as caught:
        begun.export(path)
    sentence = (
        "<path> could not be written (No space left on device); make room or choose another "
        "place."
    )
    check_sentence(caught.value, sentence, {"path": str(path)})
    assert path.read_text() == "the old one"
    assert files_in(begun.path.parent) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InvalidInput) as caught:
        small.make(tmp_path / "campaign")
    sentence = "Cannot make a campaign at <campaign> (Permission denied); choose another place."
    check_sentence(caught.value, sentence, {"campaign": str(tmp_path / "campaign")})
