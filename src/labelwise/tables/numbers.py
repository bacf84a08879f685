"""Cells as numbers, whatever they are written as: in a frame, or in a plain list."""

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np


def as_numbers(cells: Any) -> np.ndarray:
    """Floats, with NaN for whatever is not a number."""
    numbers = _all_numbers(cells)
    if numbers is not None:
        return numbers
    return np.array([_as_number(cell) for cell in cells], float)


def are_empty(cells: Any) -> np.ndarray:
    """Which cells hold nothing, or nothing but blanks."""
    numbers = _all_numbers(cells)
    if numbers is not None:
        return np.isnan(numbers)
    return np.array([is_missing(cell) or not str(cell).strip() for cell in cells], bool)


def is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN, or one of pandas' words for them."""
    try:
        return cell is None or bool(cell != cell)
    except (TypeError, ValueError):  # pandas' NA has no truth; nor have several values
        return type(cell).__name__ == "NAType"


def _all_numbers(cells: Any) -> np.ndarray | None:
    """A column of which it is known that it holds numbers, at once."""
    values = np.asarray(cells) if hasattr(cells, "dtype") else None
    return None if values is None or values.dtype.kind not in "biuf" else values.astype(float)


def _as_number(cell: Any) -> float:
    if isinstance(cell, str):
        # Python takes 1_000 and digits of any script, which nobody means in a table.
        if "_" in cell or not cell.isascii():
            return np.nan
    elif isinstance(cell, np.timedelta64) or not isinstance(cell, Real | Decimal | np.bool_):
        return np.nan  # numpy takes a duration for a whole number, of whatever unit it has
    try:
        return float(cell)
    except OverflowError:  # a whole number of hundreds of digits
        return np.inf
    except ValueError:
        return np.nan
