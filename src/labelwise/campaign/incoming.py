"""Labels that come back: from a frame, a file, a mapping, or Label Studio's export."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from labelwise.campaign.labelstudio import are_tasks, read_tasks
from labelwise.errors import InvalidInput
from labelwise.evaluation.belief_options import is_binary
from labelwise.evaluation.spec import Spec
from labelwise.tables.cells import read_numbers
from labelwise.tables.ids import as_ids
from labelwise.tables.read import read_json, read_table
from labelwise.tables.text import guard, listed

BATCH = "batch_id"
TABLE = "labels"  # what the argument is called, and so the table in it


@dataclass(frozen=True)
class Incoming:
    """Labels by id; None means not yet."""

    labels: dict[str, float | None]
    rounds: dict[str, int]  # the batch that a row says it belongs to
    cancelled: tuple[str, ...] = ()  # rows whose labeller gave up on them
    treated: dict[str, float] = field(default_factory=dict)  # how, if the table says so


def read_labels(source: Any, spec: Spec, verb: str) -> Incoming:
    """Labels in any of the shapes they may come in, checked one by one."""
    columns = spec.columns
    cancelled: tuple[str, ...] = ()
    if isinstance(source, Mapping):
        source = pd.DataFrame({columns.id: list(source), columns.label: list(source.values())})
    if isinstance(source, str | Path) and Path(source).suffix.lower() == ".json":
        source = read_json(Path(source))
    if are_tasks(source):
        tasks: Any = source
        source, cancelled = read_tasks(tasks, columns)
    elif isinstance(source, list):
        source = _from_list(source, verb)
    table = read_table(source, f"{verb}: the table", (columns.id,), where=TABLE)
    frame = _named(table, spec, verb)
    return _checked(frame, spec, verb, cancelled)


def _named(frame: pd.DataFrame, spec: Spec, verb: str) -> pd.DataFrame:
    """Check that the columns are there; a spreadsheet's guard before a name is seen through."""
    if frame.empty:
        raise InvalidInput(f"{verb}: the table has no rows", "give at least one", where=TABLE)
    needed = (spec.columns.id, spec.columns.label)
    guarded = {guard(column): column for column in needed if column not in frame}
    frame = frame.rename(columns=guarded)
    for column in needed:
        if column not in frame:
            raise InvalidInput(
                f"{verb}: the table has no column {column!r}",
                f"add it to those that are there: {listed(frame.columns)}",
                where=f"{TABLE}.{column}",
            )
    return frame


def _from_list(rows: list[Any], verb: str) -> pd.DataFrame:
    if not all(isinstance(row, Mapping) for row in rows):
        raise InvalidInput.must(
            TABLE,
            "hold one object a row, with an id and a label",
            f"it holds {next(row for row in rows if not isinstance(row, Mapping))!r}",
            name=f"{verb}: the list",
        )
    return pd.DataFrame(rows)


def _checked(frame: pd.DataFrame, spec: Spec, verb: str, cancelled) -> Incoming:
    columns = spec.columns
    ids = as_ids(frame[columns.id], f"{verb}: the table", f"{TABLE}.{columns.id}")
    numbers = read_numbers(
        frame,
        columns.label,
        TABLE,
        said=verb,
        low=spec.columns.bounds[0],
        high=spec.columns.bounds[1],
        missing=True,
        ids=ids,
    )
    _check_values(numbers, ids, spec, verb)
    labels: dict[str, float | None] = {}
    for one, number in zip(ids, numbers, strict=True):
        value = None if np.isnan(number) else float(number)
        if labels.get(one) is not None and value not in (None, labels[one]):
            raise InvalidInput(
                f"{verb}: the table gives id {one} two labels ({labels[one]} and {value})",
                "leave one",
                where=f"{TABLE}.{columns.label}",
            )
        labels[one] = labels.get(one) if value is None else value
    rounds, treated = _rounds(frame, ids, verb), _treated(frame, ids, spec, verb)
    return Incoming(labels, rounds, cancelled, treated)


def _treated(frame: pd.DataFrame, ids: list[str], spec: Spec, verb: str):
    """How rows were treated, by id, where the table says it."""
    column = spec.columns.treatment
    if column is None or column not in frame:
        return {}
    numbers = read_numbers(frame, column, TABLE, said=verb, missing=True, ids=ids)
    known = zip(ids, numbers, strict=True)
    return {one: float(number) for one, number in known if not np.isnan(number)}


def _check_values(numbers: np.ndarray, ids: list[str], spec: Spec, verb: str) -> None:
    """A belief about 0/1 labels takes no others."""
    between = np.flatnonzero((numbers != 0.0) & (numbers != 1.0) & ~np.isnan(numbers))
    if is_binary(spec.belief) and between.size:
        raise InvalidInput(
            f"{verb}: labels are 0 or 1 in this campaign, but the row with id "
            f"{ids[between[0]]} has {numbers[between[0]]:g}",
            "mend the cell",
            where=f"{TABLE}.{spec.columns.label}",
        )


def _rounds(frame: pd.DataFrame, ids: list[str], verb: str) -> dict[str, int]:
    if BATCH not in frame:
        return {}
    numbers = read_numbers(frame, BATCH, TABLE, said=verb, missing=True, ids=ids)
    broken = [one for one, number in zip(ids, numbers, strict=True) if number % 1.0 > 0.0]
    if broken:
        raise InvalidInput(
            f"{verb}: column {BATCH!r} must hold whole numbers, but the row with id "
            f"{broken[0]} does not",
            "correct it, or leave the column out",
            where=f"{TABLE}.{BATCH}",
        )
    return {
        one: int(number)
        for one, number in zip(ids, numbers, strict=True)
        if not np.isnan(number)
    }
