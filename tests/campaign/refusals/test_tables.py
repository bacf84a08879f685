"""Tables that make no campaign: cells, columns and files that cannot be used."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.campaign import small
from tests.campaign.refusals.cases import Case, by_id, check_not_made


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


def with_two(column: str) -> pd.DataFrame:
    return pd.concat([pool(), pool()[[column]]], axis=1)


CELLS = [
    Case("blank id", "pool.id", lambda _: changed("pool", "id", 4, " ")),
    Case(
        "missing id of a labelled row",
        "labelled.id",
        lambda _: changed("labelled", "id", 0, np.nan),
    ),
    Case("missing id of a target row", "target.id", lambda _: changed("target", "id", 0, "")),
    Case("duplicate id", "pool.id", lambda _: changed("pool", "id", 4, "r3")),
    Case(
        "ids alike in a spreadsheet, in two tables",
        "id",
        lambda _: {
            "pool": pool().assign(id=["=a", *[f"r{i}" for i in range(29)]]),
            **changed("labelled", "id", 4, "'=a"),
        },
    ),
    Case("numbers too large", "a", lambda _: changed("pool", "a", 4, 1e200)),
    Case("id in both tables", "labelled.id", lambda _: changed("labelled", "id", 4, "r3")),
    Case("missing label", "labelled.y", lambda _: changed("labelled", "y", 2, np.nan)),
    Case("infinite label", "labelled.y", lambda _: changed("labelled", "y", 2, np.inf)),
    Case("text label", "labelled.y", lambda _: changed("labelled", "y", 2, "good")),
    Case("label too high", "labelled.y", lambda _: changed("labelled", "y", 2, 1.5)),
    Case("below the least label", "labelled.y", lambda _: {"label_range": (0.5, None)}),
    Case(
        "pool with labels",
        "pool.y",
        lambda _: (
            changed("pool", "a", 0, 0.0) and {"pool": pool().assign(y=[0.5, *[None] * 29])}
        ),
    ),
    Case("missing prediction", "target.psi", lambda _: changed("target", "psi", 2, np.nan)),
    Case(
        "missing prediction in the belief",
        "labelled.psi",
        lambda _: changed("labelled", "psi", 2, None) | {"predictor_in_belief": True},
    ),
    Case(
        "missing weight",
        "target.w",
        lambda _: added("w", [np.nan, *[1.0] * 19], ["target"]) | {"weight": "w"},
    ),
    Case(
        "negative weight",
        "target.w",
        lambda _: added("w", [-1.0, *[1.0] * 19], ["target"]) | {"weight": "w"},
    ),
    Case(
        "weights all zero", "target.w", lambda _: added("w", 0.0, ["target"]) | {"weight": "w"}
    ),
    Case("negative costs", "pool.c", lambda _: added("c", -1.0, ["pool"]) | {"cost": "c"}),
    Case("infinite feature", "pool.a", lambda _: changed("pool", "a", 3, np.inf)),
    Case("text in a numeric feature", "pool.a", lambda _: changed("pool", "a", 3, "n/k")),
    Case("kinds of a feature differ", "pool.a", lambda _: {"pool": pool().assign(a="north")}),
    Case("complex feature", "labelled.z", lambda _: added("z", 1j)),
    Case(
        "gap refused",
        "pool.a",
        lambda _: changed("pool", "a", 3, np.nan) | {"missing": "refuse"},
    ),
    Case("two columns of one name", "pool", lambda _: {"pool": with_two("a")}),
    Case(
        "names alike but for spaces", "pool", lambda _: {"pool": pool().assign(**{" a": 1.0})}
    ),
    Case("columns of two levels", "pool", lambda _: {"pool": pd.concat({"x": pool()}, axis=1)}),
    Case(
        "index and column of one name",
        "pool",
        lambda _: {"pool": pool().set_index("id", drop=False)},
    ),
    Case("no rows", "pool", lambda _: {"pool": pool().head(0)}),
    Case("empty target", "target", lambda _: {"target": target().head(0)}),
    Case(
        "one labelled row",
        "labelled",
        lambda _: {"labelled": labelled().head(1), "belief": "ensemble"},
    ),
    Case("None for a table", "pool", lambda _: {"pool": None}),
    Case("a number for a table", "labelled", lambda _: {"labelled": 7}),
]


@by_id(CELLS)
def test_a_campaign_is_not_made_of_bad_tables(case, refused, tmp_path):
    check_not_made(case, refused, tmp_path)


def file(name: str, content: bytes) -> Callable[[Path], dict[str, Any]]:
    """The pool from a file."""

    def write(folder: Path) -> dict[str, Any]:
        (folder / name).write_bytes(content)
        return {"pool": folder / name}

    return write


def as_csv() -> bytes:
    return pool().to_csv(index=False).encode()


def a_folder(folder: Path) -> dict[str, Any]:
    (folder / "pool.csv").mkdir()
    return {"pool": folder / "pool.csv"}


def half_a_parquet(folder: Path) -> dict[str, Any]:
    path = folder / "pool.parquet"
    pool().to_parquet(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return {"pool": path}


FILES = [
    Case("empty file", "<tmp>/inputs/pool.csv", file("pool.csv", b"")),
    Case(
        "two columns of one name in a file",
        "<tmp>/inputs/pool.csv",
        file("pool.csv", b"id,a,a,b\nr1,1,2,3\n"),
    ),
    Case(
        "latin-1",
        "<tmp>/inputs/pool.csv",
        file("pool.csv", "id,a,b\nré,1,2\n".encode("latin-1")),
    ),
    Case(
        "NUL bytes",
        "<tmp>/inputs/pool.csv",
        file("pool.csv", as_csv().replace(b"r7", b"r\x007")),
    ),
    Case(
        "lines too long",
        "<tmp>/inputs/pool.csv",
        file("pool.csv", b"id,a,b,psi\nr1,1,2,3\nr2,1,2,3,4\n"),
    ),
    Case(
        "first line too long",
        "<tmp>/inputs/pool.csv",
        file("pool.csv", b"id,a,b,psi\nr1,1,2,3,4\nr2,1,2,3,4\n"),
    ),
    Case(
        "an open quote",
        "<tmp>/inputs/pool.csv",
        file("pool.csv", b'id,a,b,psi\n"r1,1,2,3\nr2,1,2,3\n'),
    ),
    Case(
        "truncated gzip",
        "<tmp>/inputs/pool.csv.gz",
        file("pool.csv.gz", gzip.compress(as_csv())[:-60]),
    ),
    Case("gzip in name only", "<tmp>/inputs/pool.csv.gz", file("pool.csv.gz", as_csv())),
    Case("broken Parquet", "<tmp>/inputs/pool.parquet", half_a_parquet),
    Case("unknown ending", "<tmp>/inputs/pool.doc", file("pool.doc", b"PK")),
    Case("a folder", "<tmp>/inputs/pool.csv", a_folder),
    Case("no such file", "<tmp>/inputs/none.csv", lambda folder: {"pool": folder / "none.csv"}),
    Case(
        "no such Parquet",
        "<tmp>/inputs/none.parquet",
        lambda folder: {"pool": str(folder / "none.parquet")},
    ),
    Case("JSON of numbers", "<tmp>/inputs/pool.json", file("pool.json", b"[1, 2]")),
    Case("empty JSON list", "<tmp>/inputs/pool.json", file("pool.json", b"[]")),
    Case("broken JSON", "<tmp>/inputs/pool.json", file("pool.json", b'[{"id": 1')),
]


@by_id(FILES)
def test_a_campaign_is_not_made_of_bad_files(case, refused, tmp_path):
    check_not_made(case, refused, tmp_path)
