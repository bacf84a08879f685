"""Agreement and macro-averages of two classes, from a score and a threshold.

With A, B and C the shares of ones found, of ones, and of rows called positive, the second class
has the shares 1 − B − C + A, 1 − B and 1 − C. Macro-averages are over the classes that labels
or calls have, with 0 for the share of nobody, as scikit-learn has them.
"""

from typing import Any

import numpy as np

from labelwise.estimands.functional import LEAST
from labelwise.estimands.metrics import Combination

STEP = 1e-6  # of the slopes' differences: the means are shares


def _shares(means: Any) -> tuple[tuple[Any, Any], ...]:
    """Of each class: rows found, its labels, its calls."""
    found, ones, called = means
    return (1.0 - ones - called + found, found), (1.0 - ones, ones), (1.0 - called, called)


def _average(parts: Any, wholes: Any, every: Any) -> Any:
    """Of the two parts' shares, over the classes that there are."""
    xp = wholes[0].__array_namespace__()
    total, count = 0.0, 0.0
    for part, whole, there in zip(parts, wholes, every, strict=True):
        some = whole > LEAST
        total = total + xp.where(some, part / xp.where(some, whole, 1.0), 0.0)
        count = count + (there > LEAST) * 1.0
    return total / count


def macro_recall(means: Any) -> Any:
    hits, labels, calls = _shares(means)
    return _average(hits, labels, [sum(each) for each in zip(labels, calls, strict=True)])


def macro_precision(means: Any) -> Any:
    hits, labels, calls = _shares(means)
    return _average(hits, calls, [sum(each) for each in zip(labels, calls, strict=True)])


def macro_f1(means: Any) -> Any:
    hits, labels, calls = _shares(means)
    both = [sum(each) for each in zip(labels, calls, strict=True)]
    return _average([2.0 * hit for hit in hits], both, both)


def kappa(means: Any) -> Any:
    """Agreement beyond what calls at random, as often as these, would have."""
    hits, labels, calls = _shares(means)
    by_chance = labels[0] * calls[0] + labels[1] * calls[1]
    xp = by_chance.__array_namespace__()
    left = 1.0 - by_chance
    some = left > LEAST
    agreed = (hits[0] + hits[1] - by_chance) / xp.where(some, left, 1.0)
    return xp.where(some, agreed, np.nan if xp is np else 0.0)


def _slope(value: Any, means: np.ndarray) -> np.ndarray:
    """How the number moves with each mean, by central differences."""
    steps = STEP * np.eye(len(means))
    up, down = means[:, None] + steps, means[:, None] - steps
    return (value(up) - value(down)) / (2.0 * STEP)


def _smooth(value: Any) -> Combination:
    return Combination("smooth", 3, value, lambda means: _slope(value, means))


OF_TWO = {
    "macro-recall": _smooth(macro_recall),
    "macro-precision": _smooth(macro_precision),
    "macro-f1": _smooth(macro_f1),
    "kappa": _smooth(kappa),
}
