"""Labels that come back: from a frame, a file, a mapping, or Label Studio's export."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labelwise.campaign.labelstudio import BATCH, are_tasks, read_tasks
from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Spec, is_binary
from labelwise.tables.cells import read_numbers
from labelwise.tables.columns import Columns
from labelwise.tables.ids import as_ids
from labelwise.tables.numbers import are_empty, as_numbers
from labelwise.tables.read import read_columns, read_json, text_format
from labelwise.tables.text import guard, listed
from labelwise.tables.verdicts import judged
from labelwise.tables.words import (
    Vocabulary,
    are_words,
    in_words,
    usual_pair,
    with_codes,
    words_in,
)

TABLE = "labels"  # what the argument is called, and so the table in it


@dataclass(frozen=True)
class Incoming:
    """Labels by id; None means not yet."""

    labels: dict[str, float | None]
    rounds: dict[str, int]  # the batch that a row says it belongs to
    cancelled: tuple[str, ...] = ()  # rows whose labeller gave up on them
    treated: dict[str, float] = field(default_factory=dict)  # how, if the table says so

    @property
    def known(self) -> dict[str, float]:
        """The labels that have come."""
        return {id_: label for id_, label in self.labels.items() if label is not None}


def read_labels(source: Any, spec: Spec, verb: str) -> Incoming:
    """Labels in any of the shapes they may come in, checked one by one."""
    columns, cancelled = spec.columns, ()
    if isinstance(source, Mapping):
        source = [{columns.id: id_, **_labels(label, columns)} for id_, label in source.items()]
    elif isinstance(source, str | Path) and text_format(Path(source)) == ".json":
        source = read_json(Path(source))
    if are_tasks(source):
        tasks: Any = source
        source, cancelled = read_tasks(tasks, columns)
    elif isinstance(source, list):
        _check_rows(source, verb)
    guarded = (columns.id, guard(columns.id))
    table = read_columns(source, f"{verb}: the table", guarded, where=TABLE)
    return _checked(_named(table, spec, verb), spec, verb, cancelled)


def _labels(label: Any, columns: Columns) -> dict[str, Any]:
    """A label by its column; of two verdicts, a pair."""
    if columns.second_label is None or not isinstance(label, list | tuple):
        return {columns.label: label}
    return dict(zip((columns.label, columns.second_label), label, strict=True))


def _check_rows(rows: list[Any], verb: str) -> None:
    strange = [row for row in rows if not isinstance(row, Mapping)]
    if strange:
        raise InvalidInput.must(
            TABLE,
            "hold one object a row, with an id and a label",
            f"it holds {strange[0]!r}",
            name=f"{verb}: the list",
        )


def _named(table: Mapping[str, Any], spec: Spec, verb: str) -> dict[str, Any]:
    """Check that the columns are there; a spreadsheet's guard before a name is seen through."""
    if not any(len(cells) for cells in table.values()):
        raise InvalidInput(f"{verb}: the table has no rows", "give at least one", where=TABLE)
    second = spec.columns.second_label
    needed = (spec.columns.id, spec.columns.label, *([] if second is None else [second]))
    guarded = {guard(column): column for column in needed if column not in table}
    named = {guarded.get(column, column): cells for column, cells in table.items()}
    for column in needed:
        if column not in named:
            raise InvalidInput(
                f"{verb}: the table has no column {column!r}",
                f"add it to those that are there: {listed(named)}",
                where=f"{TABLE}.{column}",
            )
    return named


def _checked(table: Mapping[str, Any], spec: Spec, verb: str, cancelled) -> Incoming:
    columns = spec.columns
    ids = as_ids(table[columns.id], f"{verb}: the table", f"{TABLE}.{columns.id}")
    low, high = columns.bounds
    table = judged(table, columns, verb, TABLE)
    at = {"where": f"{TABLE}.{columns.label}", "ids": ids}
    table = with_codes(table, columns.label, columns.classes, verb, **at)
    if not columns.classes:
        table = _without_words(table, spec, verb, ids)

    def numbers_in(column: str | None, **bounds: Any) -> list[tuple[str, float | None]]:
        """A column's numbers beside their ids; None in empty cells."""
        if column is None or column not in table:
            return []
        numbers = read_numbers(table, column, TABLE, said=verb, missing=True, ids=ids, **bounds)
        values = [None if np.isnan(number) else float(number) for number in numbers]
        return list(zip(ids, values, strict=True))

    labels: dict[str, float | None] = {}
    for id_, label in numbers_in(columns.label, low=low, high=high):
        _check_label(id_, label, labels.get(id_), spec, verb)
        labels[id_] = labels.get(id_) if label is None else label
    treated = {id_: arm for id_, arm in numbers_in(columns.treatment) if arm is not None}
    return Incoming(labels, _rounds(numbers_in(BATCH), verb), cancelled, treated)


def _without_words(
    table: Mapping[str, Any], spec: Spec, verb: str, ids: list[str]
) -> dict[str, Any]:
    """Yes and no, true and false as 1 and 0, where labels are such; other words are none."""
    column = spec.columns.label
    cells = list(table.get(column, ()))
    if not cells or not are_words(cells):
        return dict(table)
    where, binary = f"{TABLE}.{column}", is_binary(spec.belief)
    pair = usual_pair(words_in(cells)) if binary else None
    if pair is not None:
        return {**table, column: Vocabulary(pair).codes(cells, verb, where, ids)}
    row = int(np.argmax(np.isnan(as_numbers(cells)) & ~are_empty(cells)))
    raise InvalidInput(
        f"{verb}: labels are {'0 or 1' if binary else 'numbers'} in this campaign, but the row "
        f"with id {ids[row]} has {str(cells[row])[:40]!r}",
        "mend the cell, or make a campaign that knows the words (columns.classes)",
        where=where,
    )


def _rounds(batches: list[tuple[str, float | None]], verb: str) -> dict[str, int]:
    broken = [id_ for id_, number in batches if number is not None and number % 1.0 > 0.0]
    if broken:
        raise InvalidInput(
            f"{verb}: column {BATCH!r} must hold whole numbers, but the row with id "
            f"{broken[0]} does not",
            "correct it, or leave the column out",
            where=f"{TABLE}.{BATCH}",
        )
    return {id_: int(number) for id_, number in batches if number is not None}


def _check_label(
    id_: str, label: float | None, before: float | None, spec: Spec, verb: str
) -> None:
    """An id has one label, and a belief about 0/1 labels takes no others."""
    where = f"{TABLE}.{spec.columns.label}"
    if is_binary(spec.belief) and not spec.columns.classes and label not in (None, 0.0, 1.0):
        raise InvalidInput(
            f"{verb}: labels are 0 or 1 in this campaign, but the row with id {id_} has "
            f"{label:g}",
            "mend the cell",
            where=where,
        )
    if before is not None and label not in (None, before):
        raise InvalidInput(
            f"{verb}: the table gives id {id_} two labels "
            f"({in_words(before, spec.columns.classes)} and "
            f"{in_words(label, spec.columns.classes)})",
            "leave one",
            where=where,
        )
