"""Pseudo-values: one number a draw, whose plain mean and spread give answer and error.

Whatever is not a plain mean is turned into one here, so that all intervals work on it.
"""

from collections.abc import Callable

import numpy as np

from labelwise.errors import InvalidInput


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
