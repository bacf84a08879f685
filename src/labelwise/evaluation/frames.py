"""The three tables, read and checked, and how their columns become features."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

import pandas as pd

from labelwise.beliefs.named import are_binary
from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Tables
from labelwise.tables.cells import (
    check_guards,
    check_roles,
    read_ids,
    read_numbers,
)
from labelwise.tables.columns import Columns
from labelwise.tables.encoder import Encoder, Missing, fit_encoder
from labelwise.tables.ids import as_ids
from labelwise.tables.read import read_table
from labelwise.tables.storable import plain_ids, storable
from labelwise.tables.text import listed

FEWEST = 2  # initial labels that a belief can be fitted to
Frames = Mapping[str, pd.DataFrame]


def read_frames(sources: Tables, columns: Columns) -> dict[str, pd.DataFrame]:
    check_roles(columns)
    text = (columns.id,)
    read = lambda source, name: plain_ids(
        storable(read_table(source, name, text), *text, name), *text
    )
    tables = {
        "labelled": read(sources.labelled, "labelled"),
        "pool": read(sources.pool, "pool"),
    }
    same = sources.target is None
    tables["target"] = tables["pool"] if same else read(sources.target, "target")
    return tables


def check_rows(tables: Frames, columns: Columns) -> list[tuple[str, int, str]]:
    """Check ids and numbers; the items of the log."""
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
    if len(labelled) < FEWEST:
        raise InvalidInput(
            f"The labelled table has {len(labelled)} row, but a belief needs at least {FEWEST}",
            "label more",
            where="labelled",
        )
    if columns.label in pool and pool[columns.label].notna().any():
        rows = pool.index[pool[columns.label].notna()]
        raise InvalidInput(
            f"The pool's column {columns.label!r} already has labels (id "
            f"{listed(ids[row] for row in rows)})",
            "move these rows to the labelled table",
            where=f"pool.{columns.label}",
        )
    if columns.cost is not None:
        _check_cost(pool, columns.cost, ids)
    _check_target(tables["target"], columns)
    return [
        *(("pool", row, one) for row, one in enumerate(ids)),
        *(("labelled", row, one) for row, one in enumerate(given)),
    ]


def _check_cost(pool: pd.DataFrame, column: str, ids: Sequence[str]) -> None:
    cost = read_numbers(pool, column, "pool", low=0.0, ids=ids)
    free = [one for one, price in zip(ids, cost, strict=True) if price == 0.0]
    if free:
        raise InvalidInput(
            f"The pool table: column {column!r} is zero for the rows with id {listed(free)}",
            "give every row a positive cost",
            where=f"pool.{column}",
        )


def _check_target(target: pd.DataFrame, columns: Columns) -> None:
    if columns.id in target:
        as_ids(target[columns.id], "The target table", f"target.{columns.id}")
    for model in (columns.prediction, columns.versus):
        if model is not None:
            read_numbers(target, model, "target")
    if columns.weight is not None:
        weight = read_numbers(target, columns.weight, "target", low=0.0)
        if not weight.any():
            raise InvalidInput(
                f"The target table: column {columns.weight!r} is zero in every row",
                "give some row a weight",
                where=f"target.{columns.weight}",
            )


def predictor_in_belief(columns: Columns, tables: Frames) -> tuple[bool, str | None]:
    """Whether the prediction is a feature too, and a note if it cannot be."""
    if columns.prediction is None or not columns.predictor_in_belief:
        return False, None
    absent = [name for name, table in tables.items() if columns.prediction not in table]
    if absent:
        return False, (
            f"Column {columns.prediction!r} is not in the {absent[0]} table, so the belief "
            "does not use the prediction; intervals are better where it does."
        )
    for name, table in tables.items():
        read_numbers(table, columns.prediction, name)
    values = pd.concat([table[columns.prediction] for table in tables.values()])
    return values.nunique() > 1, None


def fit_features(columns: Columns, tables: Frames, chosen: bool) -> Encoder:
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
    second = _second_model(columns, tables, inside)
    models = [*second, *([str(columns.prediction)] if inside else [])]
    chances = models if _are_chances(tables, columns, models) else []
    encoder = fit_encoder(
        tables,
        [*columns.features, *second],
        categorical=columns.categorical,
        missing=columns.missing,  # type: ignore[arg-type]
        chosen=chosen,
        chances=chances,
    )
    if inside:
        only = [str(columns.prediction)]
        last = fit_encoder(tables, only, missing="refuse", chances=chances)
        encoder = replace(encoder, codings=encoder.codings + last.codings)
    return encoder


def _are_chances(tables, columns: Columns, models: Sequence[str]) -> bool:
    """Whether predictions of 0/1 labels are probabilities, which enter by their log-odds."""
    labels = read_numbers(tables["labelled"], columns.label, "labelled")
    inside = [
        table[model].between(0.0, 1.0).all() for table in tables.values() for model in models
    ]
    return are_binary(labels) and all(inside)


def _second_model(columns: Columns, tables, inside: bool) -> list[str]:
    """The model that is compared with is a feature too, where all tables have it."""
    versus = columns.versus
    known = inside and versus is not None and all(versus in table for table in tables.values())
    return [str(versus)] if known else []


def unshared(columns: Columns, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Columns that could have been features, had every table had them."""
    if columns.features:
        return []
    every = {column: None for table in tables.values() for column in table}
    partly = [
        column
        for column in every
        if column not in columns.roles()
        and any(column not in table for table in tables.values())
    ]
    return [
        f"Column {column!r} is not in the {_absent(str(column), tables)} table and is left "
        "out of the features."
        for column in partly
    ]


def _absent(column: str, tables: Mapping[str, pd.DataFrame]) -> str:
    return " and the ".join(name for name, table in tables.items() if column not in table)
