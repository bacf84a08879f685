"""The columns of the three tables, checked by name before anything is stored."""

from __future__ import annotations  # labels that come back need no pandas

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.tables.columns import Columns
from labelwise.tables.ids import as_ids, check_distinct
from labelwise.tables.numbers import are_empty, as_numbers
from labelwise.tables.text import guard, hold, listed, name_rows

if TYPE_CHECKING:
    import pandas as pd

# The table that must have the column of each part, and what messages call the part.
HOMES = {
    "id": ("pool", "id"),
    "label": ("labelled", "label"),
    "weight": ("target", "weight"),
    "cost": ("pool", "cost"),
    "prediction": ("target", "prediction"),
    "versus": ("target", "second prediction"),
    "treatment": ("labelled", "treatment"),
    "probability": ("pool", "probability of treatment"),
}
BATCH_ID = "batch_id"  # the column that every batch has


def resolve(columns: Columns, tables: Mapping[str, pd.DataFrame]) -> Columns:
    """Check every named column and fill in the features."""
    for name, table in tables.items():
        if not len(table) and name != "labelled":  # there may be no labels yet
            raise InvalidInput(f"The {name} table has no rows", "give at least one", where=name)
    check_roles(columns)
    headers = {name: list(table.columns) for name, table in tables.items()}
    for role, (name, called) in HOMES.items():
        require(headers, getattr(columns, role), called, [name])
    taken = columns.taken
    if columns.features:
        _check_features(columns.features, taken, headers)
        return columns
    shared = [
        column
        for column in tables["pool"].columns
        if column not in taken and all(column in table for table in tables.values())
    ]
    # A model's output alone tells rows apart, as a judge's scores do.
    told_apart = columns.prediction is not None and columns.predictor_in_belief
    if not shared and not told_apart:
        raise InvalidInput(
            f"The tables {', '.join(tables)} share no feature column",
            "name the features, or give the same column names to all",
            where="features",
        )
    return replace(columns, features=tuple(shared))


def check_shown(show: Sequence[str], pool: Iterable[Any], where: str) -> None:
    """Refuse to show labellers a column that the pool has not."""
    strange = [name for name in show if name not in list(pool)]
    if strange:
        raise InvalidInput(
            f"The pool table has no column {strange[0]!r} to show",
            f"name one that it has: {listed(pool)}",
            where=where,
        )


def _check_features(
    features: Sequence[str], taken: set[str], headers: Mapping[str, Sequence[str]]
) -> None:
    for feature in features:
        if features.count(feature) > 1:
            raise InvalidInput(
                f"Feature {feature!r} is named twice", "name it once", where="features"
            )
        require(headers, feature, "feature", list(headers))
    clash = sorted(taken & set(features))
    if clash:
        raise InvalidInput(
            f"Column {clash[0]!r} cannot be a feature: it already has another part",
            "take it out of the features",
            where="features",
        )


def read_ids(table: pd.DataFrame, columns: Columns, name: str) -> list[str]:
    """Read the ids of a table, which must be present and distinct."""
    called, where = f"The {name} table", f"{name}.{columns.id}"
    ids = as_ids(table[columns.id], called, where)
    check_distinct(ids, called, where)
    return ids


def check_guards(ids: Sequence[str]) -> None:
    """Refuse two ids that a spreadsheet's guard would make one."""
    every = set(ids)
    clash = [text for text in ids if guard(text) != text and guard(text) in every]
    if clash:
        raise InvalidInput(
            f"The ids {clash[0]!r} and {guard(clash[0])!r} look alike in a spreadsheet",
            "change one",
            where="id",
        )


def read_numbers(
    table: Mapping[str, Any] | pd.DataFrame,
    column: str,
    name: str,
    *,
    said: str | None = None,
    low: float | None = None,
    high: float | None = None,
    missing: bool = False,
    ids: Sequence[str] | None = None,
) -> np.ndarray:
    """A column as finite floats; `missing` lets empty cells through as NaN.

    `name` is the table's, and `said` what messages call it, if not so.
    """
    values, numbers = table[column], as_numbers(table[column])
    empty = are_empty(values)
    called = f"{said or f'The {name} table'}: column {column!r}"

    def refuse(wrong: np.ndarray, problem: str, held: Callable[[int], str] | None = None):
        rows = np.flatnonzero(wrong)
        if rows.size:
            which = _name_rows(row_numbers(table, rows), rows, ids)
            tail = f", but {which} {hold(rows)} {held(rows[0])}" if held else f" in {which}"
            remedy = "fill it in" if problem == "is empty" else "mend the cell"
            raise InvalidInput(f"{called} {problem}{tail}", remedy, where=f"{name}.{column}")

    as_shown = lambda row: repr(str(list(values)[row])[:40])
    refuse(np.isnan(numbers) & ~empty, "must hold numbers", as_shown)
    if not missing:
        refuse(empty, "is empty")
    refuse(np.isinf(numbers), "is infinite")
    least, most = -np.inf if low is None else low, np.inf if high is None else high
    outside = (numbers < least) | (numbers > most)
    refuse(outside, f"must be {_range(least, most)}", lambda row: f"{numbers[row]:g}")
    return numbers


def wrong_column(table: str, column: str, what: str, remedy: str) -> InvalidInput:
    """Make the refusal of a table's column."""
    called = f"The {table} table: column {column!r}"
    return InvalidInput(f"{called} {what}", remedy, where=f"{table}.{column}")


def row_numbers(table: Any, rows: np.ndarray) -> np.ndarray:
    """Numbers of rows, from 1, as the user's table has them: a part of it keeps its own."""
    index = getattr(table, "index", None)
    return (rows if index is None else np.asarray(index)[rows]) + 1


def _name_rows(numbers: np.ndarray, rows: np.ndarray, ids: Sequence[str] | None) -> str:
    if ids is None:
        return name_rows(numbers)
    return (
        f"the row{'' if len(rows) == 1 else 's'} with id {listed([ids[row] for row in rows])}"
    )


def _range(least: float, most: float) -> str:
    if np.isinf(most):
        return f"at least {least:g}"
    return f"at most {most:g}" if np.isinf(least) else f"between {least:g} and {most:g}"


def check_roles(columns: Columns) -> None:
    """Every part is a column of its own, and rows have a label."""
    given = columns.roles()
    if "label" not in given:
        raise InvalidInput(
            "No label column is named", "say label= which column it is", where="label"
        )
    for part, name in given.items():
        if not isinstance(name, str):
            raise InvalidInput(
                "A column is named by text", f"{name!r} is not, so give its name", where=part
            )
        if list(given.values()).count(name) > 1:
            raise InvalidInput(
                f"Column {name!r} is given two parts", "each part needs its own", where=name
            )
        if name == BATCH_ID and part in ("id", "label"):
            raise InvalidInput(
                f"Batches have a column {BATCH_ID!r} of their own, so neither id nor label can "
                "be called so",
                "rename the column",
                where=part,
            )


def require(
    headers: Mapping[str, Sequence[str]], column: str | None, part: str, names: list[str]
) -> None:
    """Refuse a column that some tables have not, with the nearest that they have."""
    for name in names:
        if column is None or column in headers[name]:
            continue
        # A file with semicolons reads as one wide column.
        has = listed(headers[name])
        semicolons = len(headers[name]) == 1 and ";" in has
        hint = ". Cells must be separated by commas, not semicolons" if semicolons else ""
        near = difflib.get_close_matches(column, headers[name], 1)
        start = f"did you mean {near[0]!r}? Else add" if near else "add"
        raise InvalidInput(
            f"The {name} table has no column {column!r} (the {part})",
            f"{start} it, or name one that it has: {has}{hint}",
            where=f"{name}.{column}",
        )
