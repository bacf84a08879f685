"""Tables whose labels are words: which classes there are, and their numbers in the cells."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.evaluation.class_predictions import named_after, with_predictions
from labelwise.evaluation.class_questions import are_asked, is_confusion
from labelwise.evaluation.classes_named import check_positive, check_said
from labelwise.tables.cells import read_numbers
from labelwise.tables.columns import Columns
from labelwise.tables.numbers import as_numbers
from labelwise.tables.text import listed
from labelwise.tables.words import (
    MOST_CLASSES,
    Vocabulary,
    are_words,
    as_word,
    in_order,
    usual_pair,
    words_in,
)

Frames = Mapping[str, pd.DataFrame]
CODES = {"0", "1"}  # of labels that are no classes to be named


def number_classes(
    columns: Columns, tables: Frames, asked: Any = None
) -> tuple[Columns, dict[str, pd.DataFrame]]:
    """Labels and predictions that are words, as the numbers of their classes.

    Numbers stay as they are, unless they are said to name classes, or something is `asked` that
    only classes have.
    """
    labels = _cells(tables, columns.label, ["labelled"])
    models = [name for name in (columns.prediction, columns.versus) if name is not None]
    every = {name: _cells(tables, name, list(tables)) for name in models}
    worded = [name for name, cells in every.items() if are_words(cells)]
    named = bool(columns.classes) or columns.positive is not None or bool(columns.chances)
    seen, only = words_in(labels), are_asked(asked)
    known = [*map(as_word, columns.classes), *seen]
    numbered = list(every) if only and not worded and _name_classes(every, known) else []
    are_codes = not (worded or numbered or is_confusion(asked)) and set(seen) <= CODES
    if not named and (are_codes or not (only or are_words(labels) or (worded and not seen))):
        return columns, dict(tables)
    said = [word for name in [*worded, *numbered] for word in words_in(every[name])]
    check_said(columns, seen, said)
    said += [word for word, _ in named_after(columns.chances, known)]
    classes = _classes(columns, seen, in_order(said))
    several = len(classes) > 2 or bool(columns.chances) or is_confusion(asked)
    coded = models if several and not columns.chances and len(classes) > 2 else worded
    tables = {name: _coded(one, columns, coded, classes, name) for name, one in tables.items()}
    columns = replace(columns, classes=classes, positive=None if several else [*classes][-1])
    return with_predictions(*_two_chances(columns, tables)) if several else (columns, tables)


def _name_classes(every: Mapping[str, list], known: Sequence[str]) -> bool:
    """Whether numbers that a model gives are classes: of one or two known, no scores."""
    if len(known) > 2:
        return True
    numbers = as_numbers([cell for cells in every.values() for cell in cells])
    whole = bool((numbers == np.round(numbers)).all())
    return whole and not ((numbers >= 0.0) & (numbers <= 1.0)).all()


def _two_chances(columns: Columns, tables: Frames) -> tuple[Columns, Frames]:
    """Of two classes a model gives the chance of one."""
    score = columns.prediction
    if len(columns.classes) > 2 or columns.chances or score is None:
        return columns, tables
    names = [f"{score} of {word}" for word in columns.classes]
    chance = {
        name: read_numbers(table, score, name, low=0.0, high=1.0)
        for name, table in tables.items()
        if score in table
    }
    both = lambda name: dict(zip(names, (1.0 - chance[name], chance[name]), strict=True))
    made = {name: table.assign(**both(name)) for name, table in tables.items()}
    derived = (*columns.derived, *names)
    return replace(columns, prediction=None, chances=tuple(names), derived=derived), made


def _cells(tables: Frames, column: str, names: Sequence[str]) -> list:
    return [
        cell
        for name in names
        if column in tables[name]
        for cell in tables[name][column].tolist()
    ]


def _coded(
    table: pd.DataFrame, columns: Columns, models: Sequence[str], classes, name: str
) -> pd.DataFrame:
    vocabulary = Vocabulary(classes)
    mine = [columns.label] if name == "labelled" else []
    for column in [*mine, *models]:
        if column in table:
            called = f"The {name} table: column {column!r}"
            at = {"where": f"{name}.{column}", "numbers": np.asarray(table.index) + 1}
            codes = vocabulary.codes(table[column].tolist(), called, **at)
            table = table.assign(**{column: codes})
    return table


def _classes(columns: Columns, seen: Sequence[str], said: Sequence[str]) -> tuple[str, ...]:
    """All classes, of two the positive one last."""
    given = tuple(as_word(word) for word in columns.classes)
    positive = None if columns.positive is None else as_word(columns.positive)
    found = list(given) or _distinct([*seen, *said])
    check_positive(columns, found, positive)
    if positive is not None and Vocabulary(found).code(positive) is None:
        found = [*found, positive]
    words = list(given) or in_order(found)
    if len(words) > MOST_CLASSES:
        raise InvalidInput(
            f"The labels in {columns.label!r} are of {len(words)} classes "
            f"({listed(words)}), more than {MOST_CLASSES}",
            "name a column of numbers or of fewer classes, or join some",
            where=f"labelled.{columns.label}",
        )
    if len(words) > 2 or (columns.chances and len(words) == 2):
        return tuple(words)
    return _two(columns, words, positive)


def _distinct(words: Sequence[str]) -> list[str]:
    """Each word once, however it is written."""
    found: dict[str, str] = {}
    for word in words:
        found.setdefault(word.casefold(), word)
    return list(found.values())


def _two(columns: Columns, words: list[str], positive: str | None) -> tuple[str, ...]:
    where = f"labelled.{columns.label}"
    if not words:
        remedy = 'name them: --set \'columns.classes=["no", "yes"]\''
        raise InvalidInput(f"No class of {columns.label!r} is known yet", remedy, where=where)
    known = Vocabulary(words)
    pair = usual_pair(words) if positive is None or len(words) < 2 else None
    if pair is not None and (positive is None or positive == pair[1]):
        return pair
    if len(words) < 2:
        raise InvalidInput(
            f"Of the two classes of {columns.label!r} only {words[0]!r} is known",
            "name both, the positive one last: --set "
            f'\'columns.classes=["...", "{words[0]}"]\'',
            where=where,
        )
    if positive is None and not columns.classes:
        raise InvalidInput(
            f"The labels in {columns.label!r} are {words[0]!r} and {words[1]!r}, and nobody "
            "said which of them counts as positive",
            f"say --positive {words[1]!r} (positive={words[1]!r}) or {words[0]!r}",
            where="positive",
        )
    code = 1.0 if positive is None else known.code(positive)
    last = words[1 if code is None else int(code)]
    return next(word for word in words if word != last), last
