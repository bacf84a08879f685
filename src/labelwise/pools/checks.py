"""Cells that no row may have, refused where they are found, with the file's name."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from labelwise.errors import InvalidInput
from labelwise.pools.tally import Tally, as_floats


@dataclass(frozen=True)
class Checks:
    """What must hold of which columns."""

    table: str = "pool"
    full: tuple[str, ...] = ()  # no cell is empty
    numbers: tuple[str, ...] = ()  # every cell is a finite number
    positive: tuple[str, ...] = ()  # and above zero
    least: tuple[str, ...] = ()  # or not below it
    finite: tuple[str, ...] = ()  # no cell is infinite, though some may be empty: by the tally
    empty: tuple[str, ...] = ()  # every cell is empty


def check_cells(rows: pa.Table, checks: Checks, file: str) -> None:
    """Refuse rows that break a rule, with the first of them."""
    there = lambda names: [name for name in names if name in rows.column_names]
    for name in there(checks.full):
        if rows[name].null_count or _nan(rows[name]).any():
            raise _refused(checks, name, file, "is empty in a row", "fill it in")
    for name in there((*checks.numbers, *checks.positive, *checks.least)):
        values = _numbers(rows[name], checks, name, file)
        if not np.isfinite(values).all():
            held = "is empty" if np.isnan(values).any() else "is infinite"
            raise _refused(checks, name, file, f"{held} in a row", "give every row a number")
        low = values.min() if len(values) else 1.0
        if (name in checks.positive and low <= 0.0) or (name in checks.least and low < 0.0):
            raise _refused(checks, name, file, f"holds {low:g}", "give every row more than 0")
    for name in there(checks.empty):
        if rows[name].null_count < len(rows) and not _nan(rows[name]).all():
            remedy = "move rows with labels to the labelled table"
            raise _refused(checks, name, file, "already has labels", remedy)


def check_tally(tally: Tally, checks: Checks, file: str) -> None:
    """Refuse what the statistics of a piece tell of it."""
    for name in checks.finite:
        numbers = tally.numbers.get(name)
        if numbers is not None and np.inf in (-numbers.low, numbers.high) and numbers.count:
            remedy = "mend the cell or leave it empty"
            raise _refused(checks, name, file, "is infinite in a row", remedy)


def _numbers(column: pa.ChunkedArray, checks: Checks, name: str, file: str) -> np.ndarray:
    if not _is_number(column):
        raise _refused(checks, name, file, f"holds no numbers but {column.type}", "convert it")
    return as_floats(column)


def _is_number(column: pa.ChunkedArray) -> bool:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    return whole or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _nan(column: pa.ChunkedArray) -> np.ndarray:
    """Where cells hold no number, of a column of numbers; else nowhere."""
    if not pa.types.is_floating(column.type):
        return np.zeros(len(column), bool)
    return np.isnan(as_floats(column))


def _refused(checks: Checks, name: str, file: str, what: str, remedy: str) -> InvalidInput:
    return InvalidInput(
        f"The {checks.table}'s column {name!r} {what} (in {file})",
        remedy,
        where=f"{checks.table}.{name}",
    )
