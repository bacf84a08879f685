"""Classes that labels, a model and a user name: whether they are about the same."""

import difflib
from collections.abc import Sequence

from labelwise.errors import InvalidInput
from labelwise.tables.columns import Columns
from labelwise.tables.text import listed
from labelwise.tables.words import Vocabulary


def check_said(columns: Columns, seen: Sequence[str], said: Sequence[str]) -> None:
    """Refuse a model that never says any class that labels have: it writes them otherwise."""
    labels, models = Vocabulary(seen), Vocabulary(list(dict.fromkeys(said)))
    if columns.classes or not seen or not said:
        return
    if not any(labels.code(word) is not None for word in models.classes):
        raise InvalidInput(
            f"What the model says in {columns.prediction!r} ({listed(models.classes)}) is "
            f"never a class of the labels ({listed(seen)})",
            "write both alike, or name all classes (columns.classes)",
            where="prediction",
        )


def check_positive(columns: Columns, words: Sequence[str], positive: str | None) -> None:
    """Refuse a positive class that is none of those known, or one of more than two."""
    if positive is None or len(words) < 2:
        return
    if Vocabulary(words).code(positive) is None:
        near = difflib.get_close_matches(positive, words, 1)
        raise InvalidInput(
            f"The positive class {positive!r} is none of the classes {listed(words)}",
            f"name one of them{f', perhaps {near[0]!r}' if near else ''}",
            where="positive",
        )
    if len(words) > 2:
        raise InvalidInput(
            f"The labels in {columns.label!r} are of {len(words)} classes ({listed(words)}), "
            "of which none is positive",
            "leave it out: recall, precision and f1 are given of every class",
            where="positive",
        )
