"""Small tables for notebooks: a title, and names beside values."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def html_table(
    title: str,
    rows: Iterable[Sequence[Any]],
    notes: Iterable[str] = (),
    heads: Sequence[str] = (),
) -> str:
    """A table of texts; whatever they hold, they are shown as they are."""
    head = "".join(f"<th>{escape(str(one))}</th>" for one in heads)
    lines = [f"<tr>{head}</tr>"] if head else []
    for row in rows:
        cells = "".join(f'<td style="text-align:left">{escape(str(one))}</td>' for one in row)
        lines.append(f"<tr>{cells}</tr>")
    told = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<table><caption><b>{escape(title)}</b></caption>{''.join(lines)}</table>{told}"
