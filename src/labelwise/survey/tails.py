"""Does the spread of a sequence rest on a few draws?

Intervals take the spread as measured. Of n numbers with kurtosis κ it is known about as well
as from 2n / (κ − 1) degrees of freedom; where few are left, one draw more could have changed
the interval at will, and rare large losses may not have been seen at all.
"""

import numpy as np

from labelwise.errors import InvalidInput

# With 50 draws this flags three in four sequences of squared t₃ errors, one in ten of
# exponential losses, and next to none of normal, uniform or 0/1 losses with a mean of 0.2.
LEAST_FREEDOM = 10.0


def heavy_tails(values: np.ndarray) -> bool:
    """Whether the spread is worth fewer than ten degrees of freedom.

    False where no two values differ: then there is no spread to distrust.
    """
    if values.ndim != 1:
        raise InvalidInput(
            "Tails are of one number a draw",
            f"values has shape {values.shape}: give one column",
            where="values",
        )
    square = (values - values.mean()) ** 2 if len(values) else values
    if not square.any():
        return False
    kurtosis = np.mean(square**2) / np.mean(square) ** 2
    return bool(2.0 * len(values) < LEAST_FREEDOM * (kurtosis - 1.0))
