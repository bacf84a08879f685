"""Excel workbooks: the first sheet, as columns of cells. Needs openpyxl, which is an extra."""

import io
from datetime import datetime
from typing import TYPE_CHECKING, Any

from labelwise.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

ENDING = ".xlsx"


def read_sheet(content: bytes, name: str) -> list[list[Any]]:
    """Cells by line, the first with the columns' names; blank lines are left out.

    Formulas count with the value that they had when the workbook was saved.
    """
    openpyxl = _openpyxl(name)
    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    lines = [list(line) for line in book.worksheets[0].iter_rows(values_only=True)]
    lines = [line for line in lines if any(cell is not None for cell in line)]
    if not lines:
        return []
    width = max(
        place + 1 for line in lines for place, cell in enumerate(line) if cell is not None
    )
    full = [line[:width] + [None] * (width - len(line)) for line in lines]
    names = ["" if cell is None else str(cell) for cell in full[0]]
    return [names, *full[1:]]


def write_sheet(frame: "pd.DataFrame", name: str) -> bytes:
    """A workbook of one sheet; texts were guarded, so that none is taken for a formula."""
    book = _openpyxl(name).Workbook()
    sheet = book.worksheets[0]
    sheet.append([str(column) for column in frame.columns])
    for row in frame.astype(object).where(frame.notna(), None).to_numpy().tolist():
        sheet.append([_cell(value) for value in row])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _cell(value: Any) -> Any:
    """A value that a sheet can hold: it knows no time zones, no lists, nothing of numpy's."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _openpyxl(name: str) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise InvalidInput(
            f"{name} is an Excel workbook, and openpyxl is not installed",
            "pip install 'labelwise[excel]', or save the sheet as CSV",
            where=name,
        ) from None
    return openpyxl
