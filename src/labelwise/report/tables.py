"""Tables that a phone scrolls, a printer does not cut and a screen reader can read out."""

from collections.abc import Sequence
from typing import Any

from labelwise.report.markup import Markup, tag
from labelwise.report.numbers import count

MOST = 1000  # rows that a table shows
LONG = 20  # rows from which on it scrolls
SHORT = 20  # characters that are not broken into lines
TEXT = {"class_": "text"}  # numbers, the most frequent, need no name


def table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    texts: Sequence[int] = (0,),
    last: bool = False,
    spare: int | None = None,
) -> Markup:
    """A table whose first column names the row; `texts` are columns that are not numbers.

    A long one scrolls on a screen. Of too many rows the first are shown, or the `last`. A phone
    does without the column `spare`, so that those before it stay in view.
    """
    shown = rows[-MOST:] if last else rows[:MOST]
    if len(shown) < len(rows):
        side = "last" if last else "first"
        caption = f"{caption} (the {side} {count(MOST)} of {count(len(rows))})"
    columns = [
        tag(
            "th",
            text,
            scope="col",
            **_with_spare(TEXT if place in texts else {}, place == spare),
        )
        for place, text in enumerate(heads)
    ]
    body = tag("tbody", [_row(row, texts, spare) for row in shown])
    kind = "box tall" if len(shown) > LONG else "box"
    return _box(kind, caption, tag("thead", tag("tr", columns)), body)


def pairs(caption: str, rows: Sequence[tuple[Any, Any]]) -> Markup:
    """Make a table of names and what they stand for."""
    body = [
        tag("tr", tag("th", name, scope="row", **TEXT), tag("td", value, **TEXT))
        for name, value in rows
    ]
    return _box("box", caption, tag("tbody", body), class_="pairs")


def _box(kind: str, caption: str, *parts: Markup, **attributes: str) -> Markup:
    """A box that scrolls must be reachable by keyboard, and then needs a name.

    The caption has a box of its own, which stays in sight while the table scrolls sideways.
    """
    inner = tag("table", tag("caption", tag("span", caption)), *parts, **attributes)
    return tag("div", inner, class_=kind, tabindex="0", role="region", aria_label=caption)


def _with_spare(kind: dict[str, str], spare: bool) -> dict[str, str]:
    return {"class_": f"{kind.get('class_', '')} spare".strip()} if spare else kind


def _row(cells: Sequence[Any], texts: Sequence[int], spare: int | None = None) -> Markup:
    kinds = [
        _with_spare(_kind(cell) if place in texts else {}, place == spare)
        for place, cell in enumerate(cells)
    ]
    first = tag("th", cells[0], scope="row", **kinds[0])
    rest = zip(cells[1:], kinds[1:], strict=True)
    return tag("tr", first, [tag("td", cell, **kind) for cell, kind in rest])


def _kind(cell: Any) -> dict[str, str]:
    """Short texts, ids above all, stay on one line."""
    return TEXT if len(str(cell)) > SHORT else {"class_": "text short"}
