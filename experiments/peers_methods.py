"""How others measure a mean with few labels and a model's predictions, each from its paper.

A method draws rows, knowing predictions alone, and measures by the labels of these rows: it
gives a 90 % interval by the normal law. [1] adds predictions as a control variate, whose weight
is the best one in hindsight; [2] does so stratum by stratum; [3] draws rows by how uncertain
the model is of them. Classical is Student's interval of the labels' own mean.

[1] Angelopoulos, Duchi, Zrnic (2023), PPI++: Efficient prediction-powered inference.
[2] Fisch, Maynez, Hofer, Dhingra, Globerson, Cohen (2024), Stratified prediction-powered
    inference for hybrid language model evaluation.
[3] Zrnic, Candès (2024), Active statistical inference.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.special

LEVEL = 0.9
NORMAL = float(scipy.special.ndtri(0.5 + LEVEL / 2.0))
STRATA = 5  # of equal size, by prediction
UNIFORM = 0.1  # share of an active draw in which all rows are equally likely
EDGE = 0.01  # a prediction keeps this far from 0 and 1 where its spread is looked at


class Interval(NamedTuple):
    """A number and its 90 % interval."""

    value: float
    low: float
    high: float


class Drawn(NamedTuple):
    """The rows that a method has labelled, and how it came to draw these."""

    rows: np.ndarray
    strata: np.ndarray | None = None  # of every row, the number of its stratum
    chance: np.ndarray | None = None  # of every row, that it is drawn


class Method(NamedTuple):
    """From predictions to rows, and from their labels to an interval."""

    draw: Callable[[np.ndarray, int, np.random.Generator], Drawn]
    measure: Callable[[np.ndarray, np.ndarray, Drawn], Interval]

    def __call__(
        self, y: np.ndarray, f: np.ndarray, n: int, rng: np.random.Generator
    ) -> Interval:
        return self.measure(y, f, self.draw(f, n, rng))


def _uniformly(f: np.ndarray, n: int, rng: np.random.Generator) -> Drawn:
    return Drawn(rng.choice(len(f), n, replace=False))


def _by_stratum(f: np.ndarray, n: int, rng: np.random.Generator) -> Drawn:
    """Of strata of equal size, by prediction, as many of each. [2]"""
    order = np.array_split(np.argsort(f, kind="stable"), STRATA)
    counts = np.diff(np.round(np.linspace(0, n, STRATA + 1)).astype(int))
    strata = np.empty(len(f), int)
    for number, rows in enumerate(order):
        strata[rows] = number
    drawn = [
        rng.choice(rows, count, replace=False)
        for rows, count in zip(order, counts, strict=True)
    ]
    return Drawn(np.concatenate(drawn), strata=strata)


def _by_doubt(f: np.ndarray, n: int, rng: np.random.Generator) -> Drawn:
    """Every row by itself, with a chance that rises with how unsure the model is of it. [3]"""
    sure = np.clip(f, EDGE, 1.0 - EDGE)
    spread = np.sqrt(sure * (1.0 - sure))
    chance = (1.0 - UNIFORM) * spread / spread.mean() + UNIFORM
    chance = np.minimum(n / len(f) * chance, 1.0)
    return Drawn(np.flatnonzero(rng.random(len(f)) < chance), chance=chance)


def _around(value: float, variance: float, reach: float = NORMAL) -> Interval:
    off = reach * math.sqrt(max(variance, 0.0))
    return Interval(value, value - off, value + off)


def _classical(y: np.ndarray, f: np.ndarray, drawn: Drawn) -> Interval:
    """The labels alone."""
    n = len(drawn.rows)
    reach = float(scipy.special.stdtrit(n - 1, 0.5 + LEVEL / 2.0))
    left = 1.0 - n / len(y)  # of a pool that is finite
    labels = y[drawn.rows]
    return _around(float(labels.mean()), left * float(labels.var(ddof=1)) / n, reach)


def _ppi(y: np.ndarray, f: np.ndarray, drawn: Drawn) -> Interval:
    """Predictions count as much as they are worth. [1]"""
    rows = drawn.rows
    return _around(*_mended(y[rows], f[rows], np.delete(f, rows)))


def _stratified(y: np.ndarray, f: np.ndarray, drawn: Drawn) -> Interval:
    """The same in each stratum. [2]"""
    assert drawn.strata is not None
    value = variance = 0.0
    for number in range(STRATA):
        members = np.flatnonzero(drawn.strata == number)
        rows = drawn.rows[drawn.strata[drawn.rows] == number]
        share = len(members) / len(y)
        mean, spread = _mended(y[rows], f[rows], f[np.setdiff1d(members, rows)])
        value += share * mean
        variance += share**2 * spread
    return _around(value, variance)


def _active(y: np.ndarray, f: np.ndarray, drawn: Drawn) -> Interval:
    """Predictions of all rows, put right by the rows drawn over their chances. [3]"""
    assert drawn.chance is not None
    rows, each = drawn.rows, f.astype(float)
    each[rows] += (y[rows] - f[rows]) / drawn.chance[rows]
    return _around(float(each.mean()), float(each.var(ddof=1)) / len(y))


def _mended(y: np.ndarray, f: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """Mean of labels put right by predictions, and its variance. [1, section 6]"""
    n, many = len(y), len(others)
    spread = float(np.concatenate([f, others]).var(ddof=1))
    weight = 0.0
    if spread > 0.0 and n > 1:
        weight = float(np.cov(y, f)[0, 1]) / ((1.0 + n / many) * spread)
    weight = min(max(weight, 0.0), 1.0)
    value = float(y.mean()) - weight * (float(f.mean()) - float(others.mean()))
    left = float((y - weight * f).var(ddof=1)) / n + weight**2 * float(others.var()) / many
    return value, left


METHODS = {
    "classical": Method(_uniformly, _classical),
    "ppi++": Method(_uniformly, _ppi),
    "stratified": Method(_by_stratum, _stratified),
    "active": Method(_by_doubt, _active),
}
