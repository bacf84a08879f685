"""How others measure a mean with few labels and a model's predictions, each from its paper.

All take labels and predictions of every row, of which they look at as many labels as they may,
and give a 90 % interval by the normal law. [1] adds predictions as a control variate, whose
weight is the best one in hindsight; [2] does so stratum by stratum; [3] draws rows by how
uncertain the model is of them. Classical is Student's interval of the labels' own mean.

[1] Angelopoulos, Duchi, Zrnic (2023), PPI++: Efficient prediction-powered inference.
[2] Fisch, Maynez, Hofer, Dhingra, Globerson, Cohen (2024), Stratified prediction-powered
    inference for hybrid language model evaluation.
[3] Zrnic, Candès (2024), Active statistical inference.
"""

import math
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


def _around(value: float, variance: float, reach: float = NORMAL) -> Interval:
    off = reach * math.sqrt(max(variance, 0.0))
    return Interval(value, value - off, value + off)


def classical(y: np.ndarray, f: np.ndarray, n: int, rng: np.random.Generator) -> Interval:
    """Uniform draws, and their labels alone."""
    rows = rng.choice(len(y), n, replace=False)
    reach = float(scipy.special.stdtrit(n - 1, 0.5 + LEVEL / 2.0))
    left = 1.0 - n / len(y)  # of a pool that is finite
    return _around(float(y[rows].mean()), left * float(y[rows].var(ddof=1)) / n, reach)


def ppi(y: np.ndarray, f: np.ndarray, n: int, rng: np.random.Generator) -> Interval:
    """Uniform draws; predictions count as much as they are worth. [1]"""
    rows = rng.choice(len(y), n, replace=False)
    return _around(*_mended(y[rows], f[rows], np.delete(f, rows)))


def stratified(y: np.ndarray, f: np.ndarray, n: int, rng: np.random.Generator) -> Interval:
    """The same in each stratum, labels in proportion to its size. [2]"""
    strata = np.array_split(np.argsort(f, kind="stable"), STRATA)
    counts = np.diff(np.round(np.linspace(0, n, STRATA + 1)).astype(int))
    value = variance = 0.0
    for rows, count in zip(strata, counts, strict=True):
        drawn = rng.choice(rows, count, replace=False)
        share = len(rows) / len(y)
        mean, spread = _mended(y[drawn], f[drawn], f[np.setdiff1d(rows, drawn)])
        value += share * mean
        variance += share**2 * spread
    return _around(value, variance)


def active(y: np.ndarray, f: np.ndarray, n: int, rng: np.random.Generator) -> Interval:
    """Every row by itself, with a chance that rises with how unsure the model is of it. [3]"""
    sure = np.clip(f, EDGE, 1.0 - EDGE)
    spread = np.sqrt(sure * (1.0 - sure))
    chance = (1.0 - UNIFORM) * spread / spread.mean() + UNIFORM
    chance = np.minimum(n / len(y) * chance, 1.0)
    drawn = rng.random(len(y)) < chance
    each = f + np.where(drawn, (y - f) / chance, 0.0)
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


METHODS = {"classical": classical, "ppi++": ppi, "stratified": stratified, "active": active}
