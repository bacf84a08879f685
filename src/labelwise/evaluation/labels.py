"""Labels at hand: which rows a belief rests on, and how they were treated."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from labelwise.evaluation.data import Arrays, shuffled

KNOWN_ROWS = 4000  # the belief is conditioned on at most this many initial labels


@dataclass(frozen=True)
class LabelSet:
    """Labels at hand, and rows that are out; rows are positions in the pool."""

    rows: tuple[int, ...]  # sorted: the order in which labels came does not matter
    labels: tuple[float, ...]
    pending: tuple[int, ...]  # in the order asked
    closed: tuple[int, ...]  # rows that must not be asked: labelled, pending, skipped
    treated: Mapping[int, float] = field(default_factory=dict)  # of rows that were asked


def as_treated(arrays: Arrays, known: LabelSet) -> Arrays:
    """Pool rows that were asked, with the treatment they were given."""
    column = arrays.treatment_column
    if column is None or not known.treated:
        return arrays
    pool = arrays.pool.copy()
    for row, arm in known.treated.items():
        pool[row, column] = arm
    return replace(arrays, pool=pool)


def known_rows(arrays: Arrays, known: LabelSet, seed: int, most: int | None = None):
    """Initial labels, then bought ones by row; of too many initial ones, a fixed sample."""
    bought = len(known.rows)
    room = KNOWN_ROWS if most is None else max(most - bought, most // 2)
    x, y = arrays.labelled, arrays.labels
    if len(y) > room:
        kept = np.sort(shuffled(np.column_stack([x, y]), seed)[:room])
        x, y = x[kept], y[kept]
    rows, labels = np.asarray(known.rows, int), np.asarray(known.labels, float)
    if most is not None and bought > most - len(y):
        kept = np.sort(shuffled(arrays.pool[rows], seed)[: most - len(y)])
        rows, labels = rows[kept], labels[kept]
    return np.concatenate([x, arrays.pool[rows]]), np.concatenate([y, labels])


def corrected(arrays: Arrays, corrections: Mapping[int, float]) -> Arrays:
    """The initial labels as they stand after corrections."""
    if not corrections:
        return arrays
    labels = arrays.labels.copy()
    for row, label in corrections.items():
        labels[row] = label
    return replace(arrays, labels=labels)
