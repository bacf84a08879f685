"""The spread that the belief foresees of a draw's estimate, as a floor under the one seen.

After a few draws the spread seen may be far too small: where errors are rare, none may have
come yet. The belief knew how far each row's loss may be from its prediction, and that was
written down before the draw. An interval that is right at every look takes the larger of the
two spreads; where the belief is too sure of itself, the one seen takes over as draws come.
"""

import numpy as np


def foreseen_spread(
    spread: np.ndarray, chances: np.ndarray, mass: np.ndarray, is_open: np.ndarray
) -> float:
    """Standard deviation of a draw's estimate if each open row is off by its `spread`."""
    used = is_open & (mass > 0.0)
    each = (mass[used] * spread[used]) ** 2 / chances[used]
    return float(np.sqrt(each.sum()) / mass.sum())


def at_least(values: np.ndarray, pseudo: np.ndarray, foreseen: float) -> np.ndarray:
    """Values with the same means, spread out so that pseudo-values have at least this spread.

    `pseudo` holds one number a draw, the values' part in the answer.
    """
    seen = float(pseudo.std(ddof=1)) if len(pseudo) > 1 else 0.0
    if not 0.0 < seen < foreseen:
        return values
    means = values.mean(axis=0)
    return means + (values - means) * (foreseen / seen)
