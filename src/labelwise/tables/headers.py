"""Columns of tables by name, from the first line of a file: known before tables are read."""

import csv
import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labelwise.tables.any_frame import is_frame
from labelwise.tables.cells import HOMES, require

TABLES = ("labelled", "pool", "target")
SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}


def check_columns(tables: Any, columns: Any) -> None:
    """Refuse columns that a table has not, where its first line says so; the rest waits."""
    headers = {name: header_of(source) for name, source in _sources(tables).items()}
    known = {name: header for name, header in headers.items() if header is not None}
    if headers.get("pool") is not None and "target" not in headers:
        known["target"] = known["pool"]  # which is then the target
    given = _by_name(columns)
    for part, (table, called) in HOMES.items():
        column = given.get(part)
        if table in known and isinstance(column, str) and _is_name(column):
            require(known, column, called, [table])


def _is_name(column: str) -> bool:
    """Whether a text names one column: nothing names none, and a pattern several."""
    return column != "" and "*" not in column


def is_one_table(tables: Any) -> bool:
    """Whether one table is given for all: a path, or a frame of whatever kind."""
    return isinstance(tables, str | Path) or is_frame(tables)


def header_of(source: Any) -> list[str] | None:
    """The names of a file's columns; None if only reading all of it would tell."""
    if not isinstance(source, str | Path):
        return None
    name = Path(source).name.lower()
    separator = next((mark for end, mark in SEPARATORS.items() if name.endswith(end)), None)
    if separator is None or not Path(source).is_file():  # what a pipe holds is read once
        return None
    opened = gzip.open if name.endswith(".gz") else open
    try:
        with opened(source, "rt", encoding="utf-8-sig", newline="") as file:
            first = next((line for line in csv.reader(file, delimiter=separator) if line), None)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error):
        return None
    return None if first is None else [cell.strip() for cell in first]


def _sources(tables: Any) -> dict[str, Any]:
    if isinstance(tables, Sequence) and not isinstance(tables, str):
        return dict(zip(TABLES, tables, strict=False))
    given = {"table": tables} if is_one_table(tables) else _by_name(tables)
    sources = {name: given[name] for name in TABLES if given.get(name) is not None}
    one = given.get("table")  # whose labels may all be still to come
    return sources if one is None else sources | {"pool": one}


def _by_name(part: Any) -> Mapping[str, Any]:
    """A part's fields, whatever it is given as."""
    return part if isinstance(part, Mapping) else getattr(part, "__dict__", {})
