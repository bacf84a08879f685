"""Tables as a terminal shows them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from labelwise.cli.common import as_text, show

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS, MOST_COLUMNS = 20, 8  # of a table of the user's that a terminal shows


def show_numbers(
    headings: Sequence[str],
    rows: Iterable[Sequence[Any]],
    title: str | None = None,
    *,
    texts: Sequence[str] = (),
    marked: Sequence[bool] = (),
) -> None:
    """Print rows of numbers; columns named in `texts` hold words, `marked` rows stand out."""
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in texts else "right")
    for place, row in enumerate(rows):
        style = "yellow" if place < len(marked) and marked[place] else None
        table.add_row(*(escape(as_text(cell)) for cell in row), style=style)
    show(table)


def show_rows(rows: "pd.DataFrame") -> None:
    """Print the first rows and columns of a user's table."""
    shown = list(rows.columns[:MOST_COLUMNS])
    more = len(rows.columns) - len(shown)
    table = Table(caption=f"and {more} more columns" if more else None)
    for column in shown:
        table.add_column(escape(str(column)))
    for row in rows[shown].head(MOST_ROWS).itertuples(index=False):
        table.add_row(*(escape(as_text(value)) for value in row))
    if len(rows) > MOST_ROWS:
        table.add_row(f"… {len(rows) - MOST_ROWS} more")
    show(table)
