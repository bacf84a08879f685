"""Rows are known by the user's ids: one text for each, whatever type the column has."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.tables.numbers import are_empty
from labelwise.tables.text import listed

WHOLE = re.compile(r"-?(0|[1-9][0-9]*)\.0+")


def as_ids(values: Any, name: str, where: str) -> list[str]:
    """One text an id: 7, 7.0 and "7" are the same row; missing ids are refused.

    `name` is what messages call the list of ids, and `where` it is.
    """
    if isinstance(values, dict) or np.ndim(values) > 1:
        raise InvalidInput(
            f"{name} takes ids, not a {type(values).__name__}",
            "give its id column",
            where=where,
        )
    if isinstance(values, set | frozenset):
        values = sorted(values, key=str)  # a set has no order of its own
    if isinstance(values, str) or np.ndim(values) == 0:
        values = [values]
    values = list(values)
    missing = np.flatnonzero(are_empty(values))
    if missing.size:
        raise InvalidInput(
            f"{name} has no id in row {missing[0] + 1}"
            f"{f' and {missing.size - 1} more' if missing.size > 1 else ''}",
            "give every row an id",
            where=where,
        )
    return [_as_id(value) for value in values]


def check_distinct(ids: Sequence[str], name: str, where: str) -> None:
    """Refuse an id that stands for two rows."""
    seen: set[str] = set()
    repeated = dict.fromkeys(text for text in ids if text in seen or seen.add(text))
    if repeated:
        raise InvalidInput(
            f"{name} has several rows with id {listed(repeated)}",
            "give every row its own id",
            where=where,
        )


def _as_id(value: Any) -> str:
    """Write an id as text; what a spreadsheet or pandas made of a whole number is undone."""
    text = as_text(value)
    return text.partition(".")[0] if WHOLE.fullmatch(text) else text


def as_text(value: Any) -> str:
    """Write a value as one does: whole numbers without a point, no space around."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()
