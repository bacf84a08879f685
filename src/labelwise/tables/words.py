"""Labels in words: the engine knows classes by number, people by name.

A class is written as one writes it: TRUE, True and true are one, and so are 1, 1.0 and "1".
"""

from __future__ import annotations  # labels that come back need no pandas

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.tables.ids import as_text
from labelwise.tables.numbers import are_empty, as_numbers
from labelwise.tables.text import listed, unguard

# Of these the second is positive, whoever says it.
PAIRS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("negative", "positive"))
PAIRS += (("0", "1"),)
NEARLY_NUMERIC = 0.5  # a column with this share of numbers was meant to hold numbers
MOST_CLASSES = 50


def are_words(cells: Any) -> bool:
    """Whether cells name classes: they are true or false, or most of them are no numbers."""
    empty = are_empty(cells)
    known = [cell for cell, gap in zip(cells, empty, strict=True) if not gap]
    if not known:
        return False
    if all(isinstance(cell, bool | np.bool_) for cell in known):
        return True
    return float(np.isnan(as_numbers(known)).mean()) > NEARLY_NUMERIC


def words_in(cells: Any) -> list[str]:
    """The distinct words as most write them, in order of the alphabet, numbers by size."""
    pairs = zip(cells, are_empty(cells), strict=True)
    counts = Counter(as_word(cell) for cell, gap in pairs if not gap)
    usual: dict[str, str] = {}
    for word in sorted(counts, key=lambda word: (-counts[word], word)):
        usual.setdefault(word.casefold(), word)
    return in_order(usual.values())


def in_order(words: Iterable[str]) -> list[str]:
    """Words by the alphabet; if all are numbers, by size."""
    distinct = sorted(set(words))
    numbers = as_numbers(distinct)
    return distinct if np.isnan(numbers).any() else sorted(distinct, key=float)


def as_word(cell: Any) -> str:
    """A cell as one writes it, without a spreadsheet's guard."""
    return unguard(as_text(cell))


def usual_pair(words: Sequence[str]) -> tuple[str, str] | None:
    """Two words as negative and positive, where nobody needs to say which is which."""
    folded = {word.casefold(): word for word in words}
    pairs = [pair for pair in PAIRS if set(folded) <= set(pair)]
    if not pairs or not folded:
        return None
    as_written = lambda word: folded.get(word, _like(word, words[0]))
    return as_written(pairs[0][0]), as_written(pairs[0][1])


def _like(word: str, other: str) -> str:
    """A word in the case of another."""
    if other.isupper():
        return word.upper()
    return word.capitalize() if other[:1].isupper() else word


class Vocabulary:
    """From words to the numbers of their classes."""

    def __init__(self, classes: Sequence[str]):
        self.classes = tuple(classes)
        self._exact = {word: float(place) for place, word in enumerate(self.classes)}
        folded = [word.casefold() for word in self.classes]
        self._folded = {
            word: float(place) for place, word in enumerate(folded) if folded.count(word) == 1
        }
        if tuple(folded) == PAIRS[0]:  # of labels that are true or false, 0 and 1 are too
            self._exact |= {"0": 0.0, "1": 1.0}

    def code(self, cell: Any) -> float | None:
        """The number of a word's class; None if there is none."""
        word = as_word(cell)
        return self._exact.get(word, self._folded.get(word.casefold()))

    def codes(
        self, cells: Any, called: str, where: str, ids: Any = None, numbers: Any = None
    ) -> np.ndarray:
        """Numbers of a column's words, NaN in empty cells; rows are named by id or number."""
        empty, codes = are_empty(cells), []
        for row, cell in enumerate(cells):
            code = np.nan if empty[row] else self.code(cell)
            if code is None:
                number = row + 1 if numbers is None else numbers[row]
                which = f"row {number}" if ids is None else f"the row with id {ids[row]}"
                raise self._strange(as_word(cell), called, where, which)
            codes.append(code)
        return np.array(codes, float)

    def _strange(self, word: str, called: str, where: str, which: str) -> InvalidInput:
        near = difflib.get_close_matches(word, self.classes, 1)
        known = f"it must be one of {listed(self.classes)}; another class needs a campaign "
        known += "that is made with it (columns.classes)"
        return InvalidInput(
            f"{called} holds {word[:40]!r} in {which}, which is no class of this label",
            f"did you mean {near[0]!r}? If not, {known}" if near else known,
            where=where,
        )


def in_words(label: float | None, classes: Sequence[str]) -> Any:
    """A label as people know it: the word of its class, or the number that it is."""
    return classes[int(label)] if classes and label is not None else label


def with_codes(
    table: Mapping[str, Any], column: str, classes: Sequence[str], called: str, **at: Any
) -> dict[str, Any]:
    """Columns with one of words turned into numbers; as they are where labels are numbers."""
    if not classes or column not in table:
        return dict(table)
    codes = Vocabulary(classes).codes(table[column], f"{called}: column {column!r}", **at)
    return {**table, column: codes}
