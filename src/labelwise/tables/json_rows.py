"""Rows in JSON: a list of objects, or one object a line."""

import json
from typing import Any

from labelwise.errors import InvalidInput

MOST_DIGITS = 4000  # Python itself reads whole numbers of 4,300 and refuses longer ones


def parse_rows_of_json(content: str, name: str) -> list[dict[str, Any]]:
    """Read the objects; a key that stands twice in one would hide the first."""
    try:
        rows = _rows(content, name)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{name} is not JSON ({error})",
            "give a list of objects, or one object a line",
            where=name,
        ) from None
    except RecursionError:
        what = f"{name} is JSON within JSON within JSON, without end"
        raise InvalidInput(what, "give a list of objects", where=name) from None
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise InvalidInput(
            f"{name} is JSON but not a list of objects",
            "give one object a row, and at least one",
            where=name,
        )
    return rows


def _rows(content: str, name: str) -> list[Any]:
    try:
        value = read_value(content, name)
    except json.JSONDecodeError:
        return [read_value(line, name) for line in content.splitlines() if line.strip()]
    return value if isinstance(value, list) else [value]


def read_value(text: str, name: str) -> Any:
    """JSON in which no key stands twice; whole numbers without end are infinite."""
    return json.loads(
        text,
        object_pairs_hook=lambda pairs: _once(pairs, name),
        parse_int=lambda digits: int(digits) if len(digits) < MOST_DIGITS else float(digits),
    )


def _once(pairs: list[tuple[str, Any]], name: str) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InvalidInput(
            f"{name} has an object with two values for {twice!r}", "leave one", where=name
        )
    return found
