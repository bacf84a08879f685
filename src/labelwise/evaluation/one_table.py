"""One table for all: rows with a label are the labelled ones, the others the pool."""

import difflib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Tables
from labelwise.tables.columns import Columns
from labelwise.tables.numbers import are_empty
from labelwise.tables.text import apart, listed

ONE = "given"  # what the table is called in messages
ROW = "row"  # the column that numbers rows which nobody named


def check_tables(sources: Tables) -> Tables:
    """Rows come from one table, or from a pool and perhaps labelled rows."""
    parts = [name for name in ("labelled", "pool") if getattr(sources, name) is not None]
    if sources.table is not None and parts:
        raise InvalidInput(
            f"One table is given, and {' and '.join(parts)} besides",
            "give the one table alone (and perhaps a target), or labelled and pool",
            where="table",
        )
    if sources.table is None and sources.pool is None:
        raise InvalidInput(
            "There is no table of rows that may be labelled",
            "give one table for all, or a pool (--pool)",
            where="pool",
        )
    return sources


def check_separated(tables: Mapping[str, pd.DataFrame]) -> None:
    """Refuse a file with semicolons, which reads as one wide column."""
    for name, table in tables.items():
        if len(table.columns) == 1 and ";" in str(table.columns[0]):
            raise InvalidInput(
                f"The {name} table has one column, named {str(table.columns[0])!r}",
                "separate cells by commas, not semicolons",
                where=name,
            )


def number_rows(
    columns: Columns, tables: Mapping[str, pd.DataFrame]
) -> tuple[Columns, dict[str, pd.DataFrame]]:
    """Where no id is named, rows of the table or the pool are known by their number, from 1."""
    if columns.id:
        return columns, dict(tables)
    name = apart(ROW, {str(column) for table in tables.values() for column in table})
    home = ONE if ONE in tables else "pool"
    rows = tables[home]
    numbered = pd.concat([pd.Series(np.arange(1, len(rows) + 1), name=name), rows], axis=1)
    return replace(columns, id=name), {**tables, home: numbered}


def split_table(
    tables: Mapping[str, pd.DataFrame], columns: Columns
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Labelled rows and pool, where one table holds both; and what was decided, in words.

    Both keep the table's row numbers, for messages, until all is checked.
    """
    others = {name: frame for name, frame in tables.items() if name != ONE}
    if ONE not in tables:
        return others, []
    table, label = tables[ONE], columns.label
    if not len(table):
        raise InvalidInput("The table has no rows", "give at least one", where=ONE)
    if label not in table:
        _refuse_slip(label, [str(column) for column in table])
        note = f"The table has no column {label!r}: no row has a label yet."
        return {**others, "pool": table}, [note]
    empty = are_empty(table[label])
    if not empty.any():
        raise InvalidInput(
            "Every row of the table has a label, so there is none to ask for",
            "leave labels empty where they are not known, or give a pool",
            where=f"given.{label}",
        )
    pool = table[empty].drop(columns=label)
    both = {} if empty.all() else {"labelled": table[~empty]}
    return {**others, **both, "pool": pool}, []


def _refuse_slip(label: str, names: list[str]) -> None:
    """A label column that is not there is one to come, unless it looks like a slip."""
    near = difflib.get_close_matches(label, names, 1)
    if near:
        raise InvalidInput(
            f"The table has no column {label!r} (the label)",
            f"did you mean {near[0]!r}? Else add an empty one to those that it has: "
            f"{listed(names)}",
            where=f"given.{label}",
        )
