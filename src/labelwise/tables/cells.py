"""The columns of the three tables, checked by name before anything is stored."""

from __future__ import annotations  # labels that come back need no pandas

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.tables.columns import Columns
from labelwise.tables.ids import as_ids, check_distinct
from labelwise.tables.numbers import are_empty, as_numbers
from labelwise.tables.text import guard, listed

if TYPE_CHECKING:
    import pandas as pd

ROLES = (
    *("id", "label", "prediction", "weight", "cost", "versus", "treatment", "probability"),
)  # parts that a column can play, but for features
OURS = "batch_id"  # the column that every batch has


def resolve(columns: Columns, tables: Mapping[str, pd.DataFrame]) -> Columns:
    """Check every named column and fill in the features."""
    for name, table in tables.items():
        if table.empty:
            raise InvalidInput(f"The {name} table has no rows", "give at least one", where=name)
    check_roles(columns)
    _require(tables, columns.id, "id", ["pool"])
    _require(tables, columns.label, "label", ["labelled"])
    _require(tables, columns.weight, "weight", ["target"])
    _require(tables, columns.cost, "cost", ["pool"])
    _require(tables, columns.prediction, "prediction", ["target"])
    _require(tables, columns.versus, "second prediction", ["target"])
    _require(tables, columns.treatment, "treatment", ["labelled"])
    _require(tables, columns.probability, "probability of treatment", ["pool"])
    if columns.features:
        for feature in columns.features:
            if columns.features.count(feature) > 1:
                raise InvalidInput(
                    f"Feature {feature!r} is named twice", "name it once", where="features"
                )
            _require(tables, feature, "feature", list(tables))
        clash = sorted(columns.roles() & set(columns.features))
        if clash:
            raise InvalidInput(
                f"Column {clash[0]!r} cannot be a feature: it already has another part",
                "take it out of the features",
                where="features",
            )
        return columns
    shared = [
        column
        for column in tables["pool"].columns
        if column not in columns.roles() and all(column in table for table in tables.values())
    ]
    if not shared:
        raise InvalidInput(
            f"The tables {', '.join(tables)} share no feature column",
            "name the features, or give the same column names to all",
            where="features",
        )
    return replace(columns, features=tuple(shared))


def read_ids(table: pd.DataFrame, columns: Columns, name: str) -> list[str]:
    """The ids of a table, present and distinct."""
    called, where = f"The {name} table", f"{name}.{columns.id}"
    ids = as_ids(table[columns.id], called, where)
    check_distinct(ids, called, where)
    return ids


def check_guards(ids: Sequence[str]) -> None:
    """Refuse two ids that a spreadsheet's guard would make one."""
    known = set(ids)
    clash = [one for one in ids if guard(one) != one and guard(one) in known]
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
    values = table[column]
    called = f"{said or f'The {name} table'}: column {column!r}"
    where, rows = f"{name}.{column}", lambda found: _rows(found, ids)
    numbers = as_numbers(values)
    empty = are_empty(values)
    wrong = np.flatnonzero(np.isnan(numbers) & ~empty)
    if wrong.size:
        held = f"{_hold(wrong)} {str(list(values)[wrong[0]])[:40]!r}"
        what = f"{called} must hold numbers, but {rows(wrong)} {held}"
        raise InvalidInput(what, "mend the cell", where=where)
    if empty.any() and not missing:
        what = f"{called} is empty in {rows(np.flatnonzero(empty))}"
        raise InvalidInput(what, "fill it in", where=where)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        what = f"{called} is infinite in {rows(infinite)}"
        raise InvalidInput(what, "mend the cell", where=where)
    outside = np.flatnonzero(
        (numbers < (-np.inf if low is None else low))
        | (numbers > (np.inf if high is None else high))
    )
    if outside.size:
        held = f"{_hold(outside)} {numbers[outside[0]]:g}"
        what = f"{called} must be {_range(low, high)}, but {rows(outside)} {held}"
        raise InvalidInput(what, "mend the cell", where=where)
    return numbers


def _rows(rows: np.ndarray, ids: Sequence[str] | None) -> str:
    one = len(rows) == 1
    if ids is None:
        return f"row{'' if one else 's'} {listed(rows + 1)}"
    return f"the row{'' if one else 's'} with id {listed([ids[row] for row in rows])}"


def _hold(rows: np.ndarray) -> str:
    return "holds" if len(rows) == 1 else "hold"


def _range(low: float | None, high: float | None) -> str:
    if high is None:
        return f"at least {low:g}"
    return f"at most {high:g}" if low is None else f"between {low:g} and {high:g}"


def check_roles(columns: Columns) -> None:
    """Every part is a column of its own, and rows have an id and a label."""
    for part, name in (("id", columns.id), ("label", columns.label)):
        if name is None:
            raise InvalidInput(
                f"No {part} column is named", f"say {part}= which column it is", where=part
            )
    given = {part: name for part in ROLES if (name := getattr(columns, part)) is not None}
    for part, name in given.items():
        if not isinstance(name, str):
            raise InvalidInput(
                "A column is named by text", f"{name!r} is not, so give its name", where=part
            )
        if list(given.values()).count(name) > 1:
            raise InvalidInput(
                f"Column {name!r} is given two parts", "each part needs its own", where=name
            )
    if OURS in (columns.id, columns.label):
        raise InvalidInput(
            f"Batches have a column {OURS!r} of their own, so neither id nor label can be "
            "called so",
            "rename the column",
            where="id" if columns.id == OURS else "label",
        )


def _require(
    tables: Mapping[str, pd.DataFrame], column: str | None, part: str, names: list[str]
) -> None:
    for name in names:
        if column is not None and column not in tables[name]:
            hint = _separator_hint(tables[name])
            raise InvalidInput(
                f"The {name} table has no column {column!r} (the {part})",
                f"add it, or name one that it has: {listed(tables[name].columns)}{hint}",
                where=f"{name}.{column}",
            )


def _separator_hint(table: pd.DataFrame) -> str:
    """A file with semicolons reads as one wide column."""
    only = str(table.columns[0]) if len(table.columns) == 1 else ""
    return ". Cells must be separated by commas, not semicolons" if ";" in only else ""
