"""Metrics of labels that are one of several classes, for campaigns.

What a row's label contributes depends on its class and on what the model says of the row: a
table of chances, rows × classes, which holds ones and zeros where the model names a class only.
The class that a row is called is its likeliest. Each term is a number for every row and class
that it may have, so that labels, expected or imagined, pick from one table.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from labelwise.estimands.catalogue import LEAST_CHANCE, UNIT
from labelwise.estimands.metrics import MEAN, RATIO, Bounds, Combination, Metric
from labelwise.names import OF_CLASSES

# Asked for of every class.
OF_EACH = ("recall", "precision", "f1", "positive-rate")
OF_CHANCES = ("log-loss", "brier")  # a class alone has none
BOTH = ("accuracy", "error-rate", "balanced-accuracy")  # of 0/1 labels too
NAMES = (*BOTH, *OF_EACH, *OF_CHANCES, *OF_CLASSES)
LEAST_SHARE = 1e-9  # of a class that is not there

Table = Callable[[np.ndarray], list[np.ndarray]]  # from chances to terms, each rows × classes


def called(chances: np.ndarray) -> np.ndarray:
    """The number of the class that each row is called."""
    return np.argmax(chances, axis=1)


def term_tables(name: str, chances: np.ndarray, of: int = 0, said: int = 0) -> list[np.ndarray]:
    """Terms of a metric, each a number for every row and class that it may have."""
    return _TABLES[name](chances, of, said)


@cache
def class_metric(name: str, classes: int, of: int = 0, said: int = 0) -> Metric:
    """The metric of this name; `of` is the class it is about, `said` the one that is called."""

    def terms(y: Any, chances: Any, _: Any) -> tuple[Any, ...]:
        codes = np.nan_to_num(np.asarray(y)).astype(int)
        rows = np.arange(len(chances))
        return tuple(table[rows, codes] for table in term_tables(name, chances, of, said))

    combination, bounds, better = _about(name, classes)
    return Metric(
        name,
        TITLES.get(name, name),
        terms=terms,
        combination=combination,
        labels=classes,
        better=better,
        range=bounds,
    )


TITLES = {
    "error-rate": "error rate",
    "positive-rate": "share",
    "f1": "F1 score",
    "brier": "Brier score",
    "balanced-accuracy": "balanced accuracy",
    "macro-recall": "macro-averaged recall",
    "macro-precision": "macro-averaged precision",
    "macro-f1": "macro-averaged F1 score",
    "kappa": "Cohen's kappa",
    "confusion": "share that is",
    "win-rate": "share of rows that the first model wins",
    "tie-rate": "share of ties",
}


def _about(name: str, classes: int) -> tuple[Combination, Bounds, Any]:
    """How its terms are combined, between which values it lies, and which is better."""
    if name in _MACRO or name == "kappa":
        value = _kappa if name == "kappa" else _MACRO[name]
        smooth = Combination("smooth", 3 * classes, value, lambda means: _slope(value, means))
        return smooth, (-1.0, 1.0) if name == "kappa" else UNIT, "higher"
    if name in OF_EACH and name != "positive-rate":
        return RATIO, UNIT, "higher"
    bounds: Bounds = {"log-loss": (0.0, None), "brier": (0.0, 2.0)}.get(name, UNIT)
    plain = dict.fromkeys(("positive-rate", "confusion", "win-rate", "tie-rate"))
    better = {"accuracy": "higher", **plain}.get(name, "lower")
    return MEAN, bounds, better


def _calls(chances: np.ndarray) -> np.ndarray:
    """One where a row is called a class, rows × classes."""
    return np.eye(chances.shape[1])[called(chances)]


def _is(chances: np.ndarray, of: int) -> np.ndarray:
    """One where the label is a class, rows × classes."""
    return np.broadcast_to(np.eye(chances.shape[1])[of], chances.shape)


def _counts(chances: np.ndarray, of: int, said: int) -> list[np.ndarray]:
    """Hits of each class, its labels, and its calls: what every average over classes needs."""
    calls, every = _calls(chances), range(chances.shape[1])
    wide = lambda column: np.broadcast_to(column[:, None], chances.shape)
    return [
        *(_is(chances, one) * calls[:, [one]] for one in every),
        *(_is(chances, one) for one in every),
        *(wide(calls[:, one]) for one in every),
    ]


def _brier(chances: np.ndarray, of: int, said: int) -> list[np.ndarray]:
    return [np.sum(chances**2, axis=1, keepdims=True) - 2.0 * chances + 1.0]


_HITS = lambda p, of: _is(p, of) * _calls(p)[:, [of]]
_WIDE = lambda p, of: np.broadcast_to(_calls(p)[:, [of]], p.shape)
_TABLES: dict[str, Any] = {
    "accuracy": lambda p, of, said: [_calls(p)],
    "error-rate": lambda p, of, said: [1.0 - _calls(p)],
    "recall": lambda p, of, said: [_HITS(p, of), _is(p, of)],
    "precision": lambda p, of, said: [_HITS(p, of), _WIDE(p, of)],
    "f1": lambda p, of, said: [2.0 * _HITS(p, of), _is(p, of) + _WIDE(p, of)],
    "positive-rate": lambda p, of, said: [_is(p, of)],
    "win-rate": lambda p, of, said: [_is(p, p.shape[1] - 1)],
    "tie-rate": lambda p, of, said: [_is(p, 1)],
    "confusion": lambda p, of, said: [_is(p, of) * _calls(p)[:, [said]]],
    "log-loss": lambda p, of, said: [-np.log(np.clip(p, LEAST_CHANCE, 1.0))],
    "brier": _brier,
    **dict.fromkeys(("balanced-accuracy", "macro-recall", "macro-precision"), _counts),
    **dict.fromkeys(("macro-f1", "kappa"), _counts),
}


def _thirds(means: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    hits, labels, calls = np.split(np.asarray(means, float), 3)
    return hits, labels, calls


def _mean_ratio(part: np.ndarray, whole: np.ndarray, every: np.ndarray) -> np.ndarray:
    """On average over the classes of which there are `every`; the share of nobody is 0."""
    some, there = whole > LEAST_SHARE, every > LEAST_SHARE
    each = np.clip(part / np.where(some, whole, 1.0), 0.0, 1.0) * some
    return np.sum(each, axis=0) / np.sum(there, axis=0)


def _balanced(means: Any) -> Any:
    """Over classes that labels have."""
    hits, labels, _ = _thirds(means)
    return _mean_ratio(hits, labels, labels)


def _macro_recall(means: Any) -> Any:
    """Over classes that labels or calls have, as other macro-averages."""
    hits, labels, calls = _thirds(means)
    return _mean_ratio(hits, labels, labels + calls)


def _macro_precision(means: Any) -> Any:
    hits, labels, calls = _thirds(means)
    return _mean_ratio(hits, calls, labels + calls)


def _macro_f1(means: Any) -> Any:
    hits, labels, calls = _thirds(means)
    return _mean_ratio(2.0 * hits, labels + calls, labels + calls)


def _kappa(means: Any) -> Any:
    """Agreement beyond what calls at random, as often as these, would have."""
    hits, labels, calls = _thirds(means)
    by_chance = np.sum(labels * calls, axis=0)
    return (np.sum(hits, axis=0) - by_chance) / (1.0 - by_chance)


_MACRO: dict[str, Any] = {
    "balanced-accuracy": _balanced,
    "macro-recall": _macro_recall,
    "macro-precision": _macro_precision,
    "macro-f1": _macro_f1,
}
STEP = 1e-6  # of the slope's differences: the means are shares


def _slope(value: Callable[[Any], Any], means: np.ndarray) -> np.ndarray:
    """How the number moves with each mean, by central differences of a smooth function."""
    steps = STEP * np.eye(len(means))
    up, down = means[:, None] + steps, means[:, None] - steps
    return (value(up) - value(down)) / (2.0 * STEP)
