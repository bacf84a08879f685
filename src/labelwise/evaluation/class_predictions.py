"""What a model says of several classes: the class of each row, or a chance for every class.

Two columns are made of it: the class that a row is called, in words, which is a feature, and
how sure the model is of it, which is the model's output to a belief about whether it is right.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.tables.cells import read_numbers, row_numbers, wrong_column
from labelwise.tables.columns import Columns
from labelwise.tables.reduce import matching
from labelwise.tables.text import apart, listed

SUM_OFF = 0.02  # that chances of a row may be off from one, by rounding
CALLED, SURE = "called", "confidence"

Frames = Mapping[str, pd.DataFrame]


def find_chances(columns: Columns, tables: Frames) -> Columns:
    """The columns that a pattern or a list of them names, where there is one a class."""
    given = columns.prediction
    if given is None or (isinstance(given, str) and "*" not in given):
        return columns
    first = next(iter(tables.values()))
    shared = [str(name) for name in first if all(name in each for each in tables.values())]
    patterns = [given] if isinstance(given, str) else list(given)
    names = [name for pattern in patterns for name in matching(pattern, shared, "prediction")]
    if len(names) < 2:
        raise InvalidInput(
            f"Only {listed(names)} is called like {given!r}",
            "name one column a class, or the one column of the prediction",
            where="prediction",
        )
    return replace(columns, prediction=None, chances=tuple(dict.fromkeys(names)))


def named_after(chances: Sequence[str], known: Sequence[str] = ()) -> list[tuple[str, str]]:
    """The class that each column is named after, and the column.

    That is what follows a start that all names share: up to a known class that the name ends
    with, or else up to a sign between words. Where starts differ, it is the longest known class
    that the name ends with.
    """
    start = _shared_start(chances)
    cut = max((place.end() for place in re.finditer(r"[\W_]+", start)), default=0)
    pairs = []
    for name in chances:
        ends = [word for word in known if name.casefold().endswith(word.casefold())]
        alike = [word for word in ends if start.startswith(name[: len(name) - len(word)])]
        pairs.append((max(alike, key=len) if alike else name[cut:], name))
    found = {word.casefold() for word, _ in pairs}
    if all(word.casefold() in found for word in known):
        return pairs
    return [(_longest_end(name, known) or word, name) for word, name in pairs]


def _longest_end(name: str, known: Sequence[str]) -> str | None:
    ends = [word for word in known if name.casefold().endswith(word.casefold())]
    return max(ends, key=len, default=None)


def _shared_start(names: Sequence[str]) -> str:
    letters = zip(*names, strict=False)
    alike = [len(set(each)) == 1 for each in letters]
    return names[0][: alike.index(False) if False in alike else len(alike)] if names else ""


def with_predictions(
    columns: Columns, tables: Frames
) -> tuple[Columns, dict[str, pd.DataFrame]]:
    """Tables with the class that rows are called, and how sure the model is of it."""
    if columns.prediction is None and not columns.chances:
        raise InvalidInput(
            "Labels of several classes are held to what a model says, and no column has it",
            "name the prediction: a column with the class, or one a class, such as p_*",
            where="prediction",
        )
    columns = replace(columns, chances=_in_order(columns)) if columns.chances else columns
    for name, table in tables.items():
        if columns.prediction is not None and columns.prediction not in table:
            what = f"The {name} table has no column {columns.prediction!r} (the prediction)"
            remedy = (
                "add it: without what the model says, a label cannot tell whether it is right"
            )
            raise InvalidInput(what, remedy, where=f"{name}.{columns.prediction}")
    taken = {str(column) for table in tables.values() for column in table}
    called, sure = apart(CALLED, taken), apart(SURE, taken)
    made = {name: _made(table, name, columns, called, sure) for name, table in tables.items()}
    return _named(columns, called, sure), made


def _named(columns: Columns, called: str, sure: str) -> Columns:
    known = bool(columns.chances)
    derived = (*columns.derived, called, *([sure] if known else []))
    features = (*columns.features, called) if columns.features else ()
    return replace(
        columns,
        called=called,
        derived=derived,
        features=features,
        prediction=sure if known else columns.prediction,
        predictor_in_belief=columns.predictor_in_belief and known,
    )


def _made(
    table: pd.DataFrame, name: str, columns: Columns, called: str, sure: str
) -> pd.DataFrame:
    chances = chances_in(table, name, columns)
    words = np.array(columns.classes, object)[np.argmax(chances, axis=1)]
    own = {called: pd.Series(words, table.index, dtype="str")}
    if columns.chances:
        own[sure] = chances.max(axis=1)
    return table.assign(**own)


def chances_in(table: pd.DataFrame, name: str, columns: Columns) -> np.ndarray:
    """Of each row and class; ones and zeros where the model names a class only."""
    if not columns.chances:
        codes = read_numbers(table, str(columns.prediction), name)
        return np.eye(len(columns.classes))[codes.astype(int)]
    each = [read_numbers(table, column, name, low=0.0) for column in columns.chances]
    chances = np.column_stack(each)
    off = np.flatnonzero(np.abs(chances.sum(axis=1) - 1.0) > SUM_OFF)
    if off.size:
        number, total = row_numbers(table, off[:1])[0], chances[off[0]].sum()
        what = f"and the other classes' sum to {total:.3g} in row {number}"
        remedy = "give chances that sum to 1, or the class in one column"
        raise wrong_column(name, columns.chances[0], what, remedy)
    return chances / chances.sum(axis=1, keepdims=True)


def _in_order(columns: Columns) -> tuple[str, ...]:
    """The column of each class."""
    if set(columns.chances) <= set(columns.derived):
        return columns.chances  # made here, in order
    pairs = named_after(columns.chances, columns.classes)
    named = {word.casefold(): name for word, name in pairs}
    lost = [word for word in columns.classes if word.casefold() not in named]
    if lost or len(named) != len(columns.chances):
        what = f"No column of the predictions {listed(columns.chances)} is named after "
        what += f"{'the class' if len(lost) == 1 else 'the classes'} {listed(lost)}"
        raise InvalidInput(
            what if lost else f"Two of {listed(columns.chances)} are named after one class",
            "name each column after its class, such as p_yes and p_no",
            where="prediction",
        )
    return tuple(named[word.casefold()] for word in columns.classes)
