"""Pseudo-values: one number a draw, whose plain mean and spread give answer and error.

Whatever is not a plain mean is turned into one here, so that all intervals work on it.
"""

from collections.abc import Callable

import numpy as np

from labelwise.errors import InvalidInput

SUM_ERROR = 1e-9  # how far from one the sum of weights may be by rounding


def linearised(
    values: np.ndarray,
    function: Callable[[np.ndarray], float],
    gradient: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """A smooth function of the terms' means, to first order in each draw's n × terms values.

    The mean is the function at the means, exactly. Where the function is not defined there,
    all are NaN.
    """
    if values.ndim != 2 or not len(values):
        raise InvalidInput(
            "values needs a line a draw and a column a term",
            f"it has shape {values.shape}",
            where="values",
        )
    means = values.mean(axis=0)
    return function(means) + (values - means) @ gradient(means)


def r_squared(means: np.ndarray) -> float:
    """1 − A / (C − B²) of the means of A = (y − ψ)², B = y, C = y²; NaN if C ≤ B²."""
    error, outcome, square = means
    variance = square - outcome**2
    return float(1.0 - error / variance) if variance > 0.0 else np.nan


def r_squared_gradient(means: np.ndarray) -> np.ndarray:
    """Derivatives of `r_squared` by A, B and C."""
    error, outcome, square = means
    variance = square - outcome**2
    if variance <= 0.0:
        return np.full(3, np.nan)
    return np.array([-variance, -2.0 * outcome * error, error]) / variance**2


def weighted(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Values whose plain mean is the weighted one, of one number a draw or one a term.

    The weights must be fixed before the first draw: weights that depend on what was drawn,
    and are then made to sum to one, bias the answer. That is why they are not scaled here.
    """
    if weights.shape != values.shape[:1]:
        raise InvalidInput(
            f"weights has shape {weights.shape} but there are {len(values)} draws",
            "give one weight a draw",
            where="weights",
        )
    total = float(weights.sum())
    if (weights < 0).any() or not abs(total - 1.0) <= SUM_ERROR:
        raise InvalidInput.must(
            "weights",
            "not be negative and must sum to one",
            f"they sum to {total:g}: fix them in advance instead of scaling them",
        )
    mean = weights @ values
    share = len(values) * weights
    return mean + (share * (values - mean).T).T
