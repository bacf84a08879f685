"""Tables in the types that their snapshots will have, before anything is learnt from them."""

import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.tables.ids import as_text
from labelwise.tables.text import is_text

DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"


def storable(table: pd.DataFrame, id: str, name: str) -> pd.DataFrame:
    """Columns of Python objects in the type they turn out to have, or else as text.

    Done before anything is learnt from a table, so that its snapshot gives the same features.
    """
    _refuse_durations(table, name)
    _refuse_no_text(table, name)
    loose = [str(column) for column in table if column != id and _is_loose(table[column])]
    typed = {column: _typed(table[column], f"{name}.{column}") for column in loose}
    return table.assign(**typed | ({id: _typed_ids(table[id])} if id in table else {}))


def _refuse_durations(table: pd.DataFrame, name: str) -> None:
    """Their unit is in no cell, so a number of them would mean nothing."""
    for column in table:
        kind = str(table[column].dtype)
        if kind == "object":
            kind = pd.api.types.infer_dtype(table[column], skipna=True)
        if kind.startswith(("timedelta", "duration")):
            raise InvalidInput(
                f"The {name} table: column {str(column)!r} holds durations",
                "turn them into numbers of a unit that you choose",
                where=f"{name}.{column}",
            )


def _refuse_no_text(table: pd.DataFrame, name: str) -> None:
    """Half of a UTF-16 pair is no text that a file can hold."""
    for column in table:
        cells = table[column] if table[column].dtype == object else []
        broken = [cell for cell in cells if isinstance(cell, str) and not is_text(cell)]
        if broken:
            raise InvalidInput(
                f"The {name} table: column {str(column)!r} holds what is no text "
                f"({broken[0]!r})",
                "mend the cell",
                where=f"{name}.{column}",
            )


def _is_loose(values: pd.Series) -> bool:
    return values.dtype == object or isinstance(values.dtype, pd.StringDtype)


def _typed_ids(ids: pd.Series) -> pd.Series:
    """Ids that are whole numbers come back as numbers, as users will look them up."""
    if pd.api.types.is_numeric_dtype(ids):
        return ids
    texts = ids.map(as_text).where(ids.notna(), None).astype("str")
    whole = ids.notna().all() and texts.str.fullmatch(r"(0|-?[1-9][0-9]{0,17})").all()
    return texts.astype("int64") if whole else texts


def _typed(values: pd.Series, where: str) -> pd.Series:
    kind = pd.api.types.infer_dtype(values, skipna=True)
    try:
        if kind == "boolean":
            return values.astype("boolean")
        if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
            return pd.to_numeric(values)
        if kind in ("date", "datetime") or (kind == "string" and _are_dates(values)):
            written = "ISO8601" if kind == "string" else None
            return pd.to_datetime(values, utc=True, format=written)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"Column {values.name!r} has values that cannot be stored ({error})",
            "mend them",
            where=where,
        ) from None
    missing = lambda value: pd.api.types.is_scalar(value) and pd.isna(value)
    return values.map(lambda value: None if missing(value) else str(value)).astype("str")


def _are_dates(values: pd.Series) -> bool:
    """Whether every text begins like 2024-01-31; other ways to write a date are ambiguous."""
    known = values.dropna().astype(str)
    return len(known) > 0 and bool(known.str.fullmatch(DATE).all())
