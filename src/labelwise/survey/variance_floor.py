"""The spread that the belief predicts of a draw's estimate, as a floor under the one seen.

After a few draws the spread seen may be far too small: where errors are rare, none may have
come yet. The belief knew how far each row's loss may be from its prediction, and that was
written down before the draw. It counts as much as some draws would, and only where it is the
larger of the two: a belief too sure of itself never narrows an interval.
"""

import math

import numpy as np

WORTH = 30.0  # draws that the predicted spread counts for, in an interval looked at once


def predicted_spread(
    spread: np.ndarray, probabilities: np.ndarray, mass: np.ndarray, is_open: np.ndarray
) -> float:
    """Compute the standard deviation of a draw's estimate if rows are off by their `spread`."""
    used = is_open & (mass > 0.0)
    each = (mass[used] * spread[used]) ** 2 / probabilities[used]
    return float(np.sqrt(each.sum()) / mass.sum())


def with_spread_floor(
    values: np.ndarray, pseudo: np.ndarray, predicted: float, worth: float = math.inf
) -> np.ndarray:
    """Values with the same means, spread out to what was predicted if that is more.

    `pseudo` holds one number a draw, the values' part in the answer. What was predicted counts
    like `worth` draws beside those that came: at infinity, the larger spread is taken.
    """
    seen = float(pseudo.var(ddof=1)) if len(pseudo) > 1 else 0.0
    if not 0.0 < seen < predicted**2:
        return values
    share = 1.0 if math.isinf(worth) else worth / (worth + len(pseudo) - 1.0)
    wanted = (1.0 - share) * seen + share * predicted**2
    means = values.mean(axis=0)
    return means + (values - means) * math.sqrt(wanted / seen)
