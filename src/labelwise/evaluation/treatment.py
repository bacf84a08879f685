"""Treatments in a campaign: given in the tables, drawn by chance, or proposed by the plan."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.inputs import as_positive
from labelwise.tables.cells import read_numbers, wrong_column
from labelwise.tables.columns import Columns

MODES = ("given", "random", "planned")
EVEN = 0.5  # probability of being treated, unless one says otherwise


def make_assignment(assign: Any, columns: Columns, pool: pd.DataFrame) -> dict[str, Any] | None:
    """How pool rows come to be treated.

    `assign` is "given" (the pool has the treatment), "planned" (batches propose it), "random"
    or the probability of being treated, by which batches draw it; None is "given" if the pool
    has the treatment, and else "random".
    """
    if columns.treatment is None:
        if assign is not None or columns.probability is not None:
            raise InvalidInput(
                "Treatments are assigned but none is named",
                "name the treatment",
                where="treatment",
            )
        return None
    known = columns.treatment in pool and bool(pool[columns.treatment].notna().all())
    if assign is None:
        assign = "given" if known and columns.probability is None else "random"
    if assign == "given" and not known:
        raise InvalidInput(
            f"The pool table does not give every row a treatment ({columns.treatment!r})",
            "say with which probability rows are treated, or let the plan propose it",
            where=f"pool.{columns.treatment}",
        )
    if assign in ("given", "planned") and columns.probability is not None:
        raise InvalidInput(
            f"Probabilities of treatment do not matter where it is {assign}",
            "leave out one of assign and probability",
            where="assign",
        )
    if assign in MODES:
        return {"mode": assign, "chance": EVEN if assign == "random" else None}
    if columns.probability is not None:
        raise InvalidInput(
            "Probabilities of treatment are given twice",
            "give a column or a number",
            where="probability",
        )
    rule = f"be {', '.join(MODES)}, or a probability between 0 and 1"
    probability = as_positive("assign", assign, rule=rule)
    if probability >= 1.0:
        raise InvalidInput.must("assign", rule, f"it is {assign!r}")
    return {"mode": "random", "chance": probability}


def check_trial(columns: Columns, tables: Mapping[str, pd.DataFrame]) -> None:
    """Treatments are 0 or 1, both occur among the labels, and probabilities lie in [0, 1]."""
    if columns.treatment is None:
        return
    for name, table in tables.items():
        if columns.treatment in table:
            _check_treatments(table, columns.treatment, name)
    seen = read_numbers(tables["labelled"], columns.treatment, "labelled")
    if len(np.unique(seen)) < 2:
        raise InvalidInput(
            f"All labelled rows have {columns.treatment!r} = {seen[0]:g}",
            "an effect needs labels of both treatments",
            where=f"labelled.{columns.treatment}",
        )
    if columns.probability is not None:
        read_numbers(tables["pool"], columns.probability, "pool", low=0.0, high=1.0)


def _check_treatments(table: pd.DataFrame, column: str, name: str) -> None:
    values = read_numbers(table, column, name, missing=name != "labelled")
    strange = values[~np.isin(values, [0.0, 1.0]) & ~np.isnan(values)]
    if strange.size:
        what = f"must hold 0 or 1 (the treatment), but it holds {strange[0]:g}"
        raise wrong_column(name, column, what, "code treatments so")
