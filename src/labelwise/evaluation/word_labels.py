"""Tables whose labels are words: which classes there are, and their numbers in the cells."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.tables.columns import Columns
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


def number_classes(columns: Columns, tables: Frames) -> tuple[Columns, dict[str, pd.DataFrame]]:
    """Labels and predictions that are words, as the numbers of their classes.

    Numbers stay as they are, unless they are said to name classes.
    """
    labels = _cells(tables, columns.label, ["labelled"])
    models = [name for name in (columns.prediction, columns.versus) if name is not None]
    worded = [name for name in models if are_words(_cells(tables, name, list(tables)))]
    named = bool(columns.classes) or columns.positive is not None
    if not (named or are_words(labels) or (worded and not len(labels))):
        return columns, dict(tables)
    seen = words_in(labels)
    said = {word for name in worded for word in words_in(_cells(tables, name, list(tables)))}
    classes = _classes(columns, seen, sorted(said))
    coded = {
        name: _coded(table, columns, worded, classes, name) for name, table in tables.items()
    }
    positive = classes[1] if len(classes) == 2 else None
    return replace(columns, classes=classes, positive=positive), coded


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
            codes = vocabulary.codes(table[column].tolist(), called, f"{name}.{column}")
            table = table.assign(**{column: codes})
    return table


def _classes(columns: Columns, seen: Sequence[str], said: Sequence[str]) -> tuple[str, ...]:
    """All classes, of two the positive one last."""
    given = tuple(as_word(word) for word in columns.classes)
    positive = None if columns.positive is None else as_word(columns.positive)
    named = [*given, *seen, *said, *([] if positive is None else [positive])]
    words = list(given) if given else in_order(_distinct(named))
    if len(words) > MOST_CLASSES:
        raise InvalidInput(
            f"The labels in {columns.label!r} are of {len(words)} classes "
            f"({listed(words)}), more than {MOST_CLASSES}",
            "name a column of numbers or of fewer classes, or join some",
            where=f"labelled.{columns.label}",
        )
    if len(words) > 2:
        return _several(columns, words)
    return _two(columns, words, positive)


def _distinct(words: Sequence[str]) -> list[str]:
    """Each word once, however it is written."""
    found: dict[str, str] = {}
    for word in words:
        found.setdefault(word.casefold(), word)
    return list(found.values())


def _several(columns: Columns, words: Sequence[str]) -> tuple[str, ...]:
    raise InvalidInput(
        f"The labels in {columns.label!r} are of {len(words)} classes: {listed(words)}",
        "join them to two, or number them and ask for mse or mean",
        where=f"labelled.{columns.label}",
    )


def _two(columns: Columns, words: list[str], positive: str | None) -> tuple[str, ...]:
    where = f"labelled.{columns.label}"
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
    if code is None:
        raise InvalidInput(
            f"The positive class {positive!r} is none of the classes {listed(words)}",
            "name one of them",
            where="positive",
        )
    last = words[int(code)]
    return next(word for word in words if word != last), last
