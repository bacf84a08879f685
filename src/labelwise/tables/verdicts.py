"""Two verdicts a row, on the answers of two models: who is better, and by how much.

What is kept of a row is the one or the other, as the question needs it: the winner (the column
of the better verdict, or a tie), or the first verdict less the second.
"""

from __future__ import annotations  # labels that come back need no pandas

from collections.abc import Mapping
from typing import Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.tables.columns import Columns
from labelwise.tables.numbers import are_empty, as_numbers
from labelwise.tables.words import Vocabulary, are_words, usual_pair, words_in

TIE = "tie"
ASKED = ("win-rate", "tie-rate")  # of the winner


def judged(
    table: Mapping[str, Any], columns: Columns, called: str, where: str
) -> dict[str, Any]:
    """Columns with one label a row in the place of two verdicts; one alone is none yet."""
    first, second = columns.label, columns.second_label
    if second is None or (first not in table and second not in table):
        return dict(table)
    for name in (first, second):
        if name not in table:
            raise InvalidInput(
                f"{called} has a verdict on one model and no column {name!r} on the other",
                "give both, empty where a verdict has not come",
                where=f"{where}.{name}",
            )
    numbers = [_numbers(table[name], name, called, where) for name in (first, second)]
    rest = {name: cells for name, cells in table.items() if name not in (first, second)}
    apart = numbers[0] - numbers[1]
    if not columns.classes:
        return {**rest, first: apart}
    return {**rest, first: [_winner(one, columns) for one in apart]}


def classes_of(columns: Columns) -> tuple[str, ...]:
    """Who may win a row."""
    return str(columns.second_label), TIE, columns.label


def _winner(apart: float, columns: Columns) -> str | None:
    return None if np.isnan(apart) else classes_of(columns)[1 + int(np.sign(apart))]


def _numbers(cells: Any, name: str, called: str, where: str) -> np.ndarray:
    """Verdicts as numbers; yes and no, true and false are 1 and 0."""
    cells = list(cells)
    said, at = f"{called}: column {name!r}", f"{where}.{name}"
    if are_words(cells):
        pair = usual_pair(words_in(cells))
        if pair is None:
            raise InvalidInput(
                f"{said} holds verdicts that are neither numbers nor yes and no "
                f"({words_in(cells)[0]!r})",
                "give numbers, the higher the better",
                where=at,
            )
        return Vocabulary(pair).codes(cells, said, at)
    numbers = as_numbers(cells)
    strange = np.flatnonzero(np.isnan(numbers) & ~are_empty(cells))
    if strange.size:
        held = str(cells[strange[0]])[:40]
        what = f"{said} must hold numbers, but row {strange[0] + 1} holds {held!r}"
        raise InvalidInput(what, "mend the cell", where=at)
    return numbers
