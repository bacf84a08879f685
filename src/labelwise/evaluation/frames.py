"""The three tables, read and checked, and how their columns become features."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.evaluation.brought import encode_draws, with_draws
from labelwise.evaluation.class_predictions import find_chances
from labelwise.evaluation.one_table import ONE, check_separated, number_rows, split_table
from labelwise.evaluation.reduced import reduce_columns
from labelwise.evaluation.spec import Tables
from labelwise.evaluation.treatment import check_trial
from labelwise.evaluation.verdict_tables import with_verdicts
from labelwise.tables.cells import (
    check_guards,
    check_roles,
    check_shown,
    read_ids,
    read_numbers,
    resolve,
    wrong_column,
)
from labelwise.tables.columns import Columns
from labelwise.tables.encoder import Encoder, Missing, fit_encoder
from labelwise.tables.ids import as_ids
from labelwise.tables.numbers import as_numbers
from labelwise.tables.read import read_table
from labelwise.tables.storable import storable
from labelwise.tables.text import listed

Frames = Mapping[str, pd.DataFrame]


def read_frames(
    sources: Tables, columns: Columns
) -> tuple[Columns, dict[str, pd.DataFrame], list[str]]:
    """Read labelled rows, pool and target, with what was decided on the way, in words.

    Without a target, the pool stands for it; without an id, rows are numbered.
    """
    every = {ONE if name == "table" else name: one for name, one in vars(sources).items()}
    given = {name: source for name, source in every.items() if source is not None}
    read = {name: read_table(source, name, (columns.id,)) for name, source in given.items()}
    check_separated(read)
    columns, read = with_verdicts(find_chances(columns, read), read)
    check_roles(columns)
    columns, read, reduced = reduce_columns(columns, read)
    tables = {name: storable(table, columns.id, name) for name, table in read.items()}
    columns, tables = number_rows(columns, tables)
    tables, notes = split_table(tables, columns)
    notes = [*reduced, *notes]
    tables.setdefault("target", tables["pool"])
    if "labelled" not in tables:
        nothing = tables["pool"].iloc[:0].assign(**{columns.label: np.zeros(0)})
        tables = {"labelled": nothing, **tables}
    return columns, {name: tables[name] for name in ("labelled", "pool", "target")}, notes


def fit_columns(
    columns: Columns, tables: Frames, binary: bool, notes: Sequence[str] = ()
) -> tuple[Columns, Encoder, list[tuple[str, int, str]]]:
    """Fill in what is left open, learn how columns become features, list the log's items.

    `binary` says that labels are 0 or 1; `notes` tell what was decided before.
    """
    given, columns = columns, resolve(with_draws(columns, tables), tables)
    check_shown(columns.show, tables["pool"].columns, "columns.show")
    items = _check_rows(tables, columns)
    inside, note = _predictor_in_belief(columns, tables)
    columns = replace(columns, predictor_in_belief=inside)
    if columns.draws:
        encoder = encode_draws(columns, tables, binary)
    else:
        encoder = _fit_features(columns, tables, bool(given.features), binary)
    check_trial(columns, tables)
    own = f"Column {columns.called!r} is constant"  # of which nobody has heard
    kept = [one for one in encoder.notes if not one.startswith(own)]
    after = (*kept, *_unshared(given, tables), *([note] if note else []))
    return columns, replace(encoder, notes=(*notes, *after)), items


def _check_rows(tables: Frames, columns: Columns) -> list[tuple[str, int, str]]:
    """Check ids and numbers; list the log's items: table, row and id of each that has one."""
    labelled, pool = tables["labelled"], tables["pool"]
    ids = read_ids(pool, columns, "pool")
    given = read_ids(labelled, columns, "labelled") if columns.id in labelled else []
    both = sorted(set(ids) & set(given))
    if both:
        raise InvalidInput(
            f"The rows with id {listed(both)} are both labelled and in the pool",
            "take them out of one",
            where=f"labelled.{columns.id}",
        )
    check_guards([*ids, *given])
    low, high = columns.bounds
    read_numbers(labelled, columns.label, "labelled", low=low, high=high)
    if columns.label in pool and pool[columns.label].notna().any():
        rows = np.flatnonzero(pool[columns.label].notna())
        raise InvalidInput(
            f"The pool's column {columns.label!r} already has labels (id "
            f"{listed(ids[row] for row in rows)})",
            "move these rows to the labelled table",
            where=f"pool.{columns.label}",
        )
    if columns.cost is not None:
        cost = read_numbers(pool, columns.cost, "pool", low=0.0, ids=ids)
        if not cost.all():
            free = [ids[row] for row in np.flatnonzero(cost == 0.0)]
            what = f"is zero for the rows with id {listed(free)}"
            raise wrong_column("pool", columns.cost, what, "give every row a positive cost")
    _check_target(tables["target"], columns)
    return [
        *(("pool", row, name) for row, name in enumerate(ids)),
        *(("labelled", row, name) for row, name in enumerate(given)),
    ]


def _check_target(target: pd.DataFrame, columns: Columns) -> None:
    if columns.id in target:
        as_ids(target[columns.id], "The target table", f"target.{columns.id}")
    for model in (columns.prediction, columns.versus):
        if model is not None:
            read_numbers(target, model, "target")
    weight = columns.weight
    if weight is not None and not read_numbers(target, weight, "target", low=0.0).any():
        raise wrong_column("target", weight, "is zero in every row", "give some row a weight")


def _predictor_in_belief(columns: Columns, tables: Frames) -> tuple[bool, str | None]:
    """Whether the prediction is a feature too, and a note if it cannot be."""
    if columns.prediction is None or not columns.predictor_in_belief:
        return False, None
    absent = _absent(columns.prediction, tables)
    if absent:
        return False, (
            f"Column {columns.prediction!r} is not in the {absent[0]} table, so the belief "
            "does not use the prediction; intervals are better where it does."
        )
    for name, table in tables.items():
        read_numbers(table, columns.prediction, name)
    values = pd.concat([table[columns.prediction] for table in tables.values()])
    return values.nunique() > 1, None


def _fit_features(columns: Columns, tables: Frames, chosen: bool, binary: bool) -> Encoder:
    inside = columns.predictor_in_belief
    if columns.missing not in get_args(Missing):
        raise InvalidInput.must(
            "missing", "be 'impute' or 'refuse'", f"it is {columns.missing!r}"
        )
    strange = sorted(set(columns.categorical) - set(columns.features))
    if strange:
        raise InvalidInput(
            f"Column {strange[0]!r} is called categorical but is not a feature",
            f"name one of {listed(columns.features)}",
            where="categorical",
        )
    # The model that is compared with is a feature too, where all tables have it.
    shared = columns.versus is not None and not _absent(columns.versus, tables)
    second = [str(columns.versus)] if inside and shared else []
    models = [*second, *([str(columns.prediction)] if inside else [])]
    probabilities = models if binary and _are_chances(tables, models) else []
    encoder = fit_encoder(
        tables,
        [*columns.features, *second],
        categorical=columns.categorical,
        missing=columns.missing,  # type: ignore[arg-type]
        chosen=chosen,
        probabilities=probabilities,
    )
    encoder = encoder if chosen else encoder.reduced(tables, columns.features)
    if inside:
        only = [str(columns.prediction)]
        last = fit_encoder(tables, only, missing="refuse", probabilities=probabilities)
        encoder = replace(encoder, codings=encoder.codings + last.codings)
    return encoder


def _are_chances(tables: Frames, models: Sequence[str]) -> bool:
    """Whether predictions are chances of a 1, which enter by their log-odds."""
    each = [as_numbers(table[model]) for table in tables.values() for model in models]
    return all(((numbers >= 0.0) & (numbers <= 1.0)).all() for numbers in each)


def _unshared(columns: Columns, tables: Frames) -> list[str]:
    """Name columns that could have been features, had every table had them."""
    if columns.features or columns.draws:
        return []
    every = dict.fromkeys(column for table in tables.values() for column in table)
    every = {column: _absent(column, tables) for column in every}
    return [
        f"Column {column!r} is not in the {' and the '.join(absent)} table and is left out of "
        "the features."
        for column, absent in every.items()
        if absent and column not in columns.roles().values()
    ]


def _absent(column: Any, tables: Frames) -> list[str]:
    return [name for name, table in tables.items() if column not in table]
