"""Tables with two verdicts a row, brought to one label: the winner, or the difference."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Question
from labelwise.tables.columns import Columns
from labelwise.tables.text import apart
from labelwise.tables.verdicts import ASKED, classes_of, judged

CLAIM = "claim"  # what is held to be so of every row: that the first model wins
DIFFERENCE = "difference"


def as_asked(columns: Columns, question: Question) -> tuple[Columns, Question]:
    """What is asked of two verdicts: who wins, or the difference of their means."""
    given = question.estimand
    names: list[Any] = list(given) if isinstance(given, list | tuple) else [given]
    names = [name for name in names if name is not None]
    if columns.second_label is None:
        return columns, question
    if columns.second_label in columns.roles().values():
        raise InvalidInput(
            f"Column {columns.second_label!r} is given two parts",
            "name the column of the second model's verdicts",
            where="second_label",
        )
    if columns.prediction is not None or question.compare is not None:
        raise InvalidInput(
            "Two verdicts a row say which of two models is better, and need no prediction",
            "leave it out; what is known of the rows may be features",
            where="prediction",
        )
    if names in ([DIFFERENCE], ["mean"]):
        return columns, replace(question, estimand="mean")
    if not set(names) <= set(ASKED):
        raise InvalidInput(
            f"Of two verdicts a row, {names[0]!r} is not to be had beside others",
            f"ask for {' and '.join(ASKED)}, or for {DIFFERENCE} alone",
            where="estimand",
        )
    columns = replace(columns, classes=classes_of(columns))
    return columns, replace(question, estimand=tuple(names) or ASKED)


def with_verdicts(
    columns: Columns, tables: Mapping[str, pd.DataFrame]
) -> tuple[Columns, dict[str, pd.DataFrame]]:
    """One label a row; of winners also the claim that the first model is one."""
    if columns.second_label is None:
        return columns, dict(tables)
    found = {name: _judged(table, columns, name) for name, table in tables.items()}
    if not columns.classes:
        return columns, found
    claim = apart(CLAIM, {str(column) for table in found.values() for column in table})
    named = {name: table.assign(**{claim: columns.label}) for name, table in found.items()}
    return replace(columns, prediction=claim, derived=(*columns.derived, claim)), named


def _judged(table: pd.DataFrame, columns: Columns, name: str) -> pd.DataFrame:
    both = [one for one in (columns.label, columns.second_label) if one in table]
    label = judged({str(c): table[c] for c in table}, columns, f"The {name} table", name)
    if not both:
        return table
    return table.drop(columns=both).assign(**{columns.label: label[columns.label]})
