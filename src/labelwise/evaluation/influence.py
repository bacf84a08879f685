"""How much a row's label may move the answers, by what the model says of the row alone.

Where the model's output is a chance, a label is 1 as often as it says. A question's number
moves with the means of its terms by its slope, so a label moves it by slope · terms, and the
spread of that is what a sample should go by: for the recall of a rare class nearly all of it
lies with the few rows that may be positive. If the model is wrong about chances the sample is
not the best one; its probabilities are known all the same.
"""

from collections.abc import Sequence

import numpy as np

from labelwise.evaluation.question import Quantity
from labelwise.pools.strata import Group

LEAST = 1e-4  # chances are taken to be at least this far from 0 and 1


def is_told(question: Quantity, values: np.ndarray) -> bool:
    """Whether the model's output tells how much a label may move the answer."""
    chances = bool(((values >= 0.0) & (values <= 1.0)).all())
    plain = not question.classes and question.versus is None and not question.metric.is_effect
    return chances and plain and question.metric.labels == "binary"


def spread_of_cells(
    questions: Sequence[Quantity],
    by: Sequence[str],
    groups: Sequence[Group],
    values: np.ndarray,
    counts: np.ndarray,
) -> np.ndarray:
    """Of a label in each cell, groups × values; every question counts alike.

    `values` are the model's outputs, `counts` the rows of each cell.
    """
    total = np.zeros(counts.shape)
    for question in questions:
        where = _where(question, by, groups)
        if not counts[where].any():
            continue
        own = np.zeros(counts.shape)
        own[where] = _variance(question, values, counts[where].sum(axis=0))
        total += own / max(float((own * counts).sum()), 1e-300)
    return np.sqrt(total)


def _where(question: Quantity, by: Sequence[str], groups: Sequence[Group]) -> np.ndarray:
    """Groups that the question is about."""
    if question.group is None or question.group[0] not in by:
        return np.ones(len(groups), bool)
    column, value = question.group
    return np.array([group[list(by).index(column)] == value for group in groups], bool)


def _variance(question: Quantity, values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Of what a label moves the answer by, at each output of the model."""
    if not is_told(question, values):
        return np.ones(len(values))
    metric, chance = question.averaged, np.clip(values, LEAST, 1.0 - LEAST)
    if metric.functional is not None or metric.combination.settle is not None:
        return chance * (1.0 - chance)
    of = lambda label: np.asarray(
        metric.stack(np.full(len(values), label), values, question.threshold)
    )
    zero, one = of(0.0), of(1.0)
    expected = (1.0 - chance) * zero + chance * one
    slope = metric.slope(expected @ counts / counts.sum())
    moved = np.nan_to_num(slope, posinf=0.0, neginf=0.0) @ (one - zero)
    return chance * (1.0 - chance) * moved**2
