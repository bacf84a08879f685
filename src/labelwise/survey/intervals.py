"""Intervals from a sequence of estimates, one number a draw.

All take the level, and `planned`: None for an interval that is looked at once, after a number
of draws fixed in advance, else the number of draws at which an interval that is right at
every look is to be tightest.

Where the numbers do not tell how far off their mean may be (there is one only, none differ,
or one is NaN), an interval is (−∞, ∞): the caller cuts it to the estimand's range. That none
differ is no sign of certainty: before the first error is seen, every estimate may be 0.
"""

import math

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.survey.multipliers import look_multiplier

ROUNDING = 1e-12  # a spread below this share of the values is the sums' rounding
EVERYWHERE = (-math.inf, math.inf)

Interval = tuple[float, float]


def mean_interval(values: np.ndarray, level: float, planned: int | None = None) -> Interval:
    """Reach a multiple of the standard error to both sides of the mean."""
    reach = _reach(values, level, planned)
    mean = float(values.mean()) if math.isfinite(reach) else 0.0
    return mean - reach, mean + reach


def log_interval(values: np.ndarray, level: float, planned: int | None = None) -> Interval:
    """For a mean that is positive: symmetric on the log scale, so it never reaches 0.

    A skewed loss is more often underestimated than overestimated; this interval reaches
    further up than down. Where the mean is not positive it is `mean_interval`.
    """
    reach = _reach(values, level, planned)
    if not math.isfinite(reach) or values.mean() <= 0.0:
        return mean_interval(values, level, planned)
    mean = float(values.mean())
    with np.errstate(over="ignore"):  # too far to be a number is infinitely far
        factor = float(np.exp(reach / mean))
    return mean / factor, mean * factor


def ratio_interval(
    part: np.ndarray, whole: np.ndarray, level: float, planned: int | None = None
) -> Interval:
    """The θ for which mean(part − θ whole) is within reach of 0 (Fieller).

    Unlike an interval around the ratio itself it holds when `whole` is uncertain. If `whole`
    cannot be told from 0, neither can any θ be excluded.
    """
    _check_pair(part, whole)
    mean, center = float(part.mean()), float(whole.mean())
    if center == 0.0 or not math.isfinite(_reach(part - mean / center * whole, level, planned)):
        return EVERYWHERE
    cover = np.cov(part, whole)
    scale = look_multiplier(len(part), level, planned) ** 2 / len(part)
    # The set of θ with a θ² − 2 b θ + c ≤ 0.
    a = center**2 - scale * cover[1, 1]
    b = mean * center - scale * cover[0, 1]
    c = mean**2 - scale * cover[0, 0]
    if a <= 0.0 or not math.isfinite(scale):
        return EVERYWHERE
    root = math.sqrt(max(b**2 - a * c, 0.0))  # the ratio itself is in the set: b² ≥ a c
    return float((b - root) / a), float((b + root) / a)


def _reach(values: np.ndarray, level: float, planned: int | None) -> float:
    """Compute a multiple of the standard error; infinite where that cannot be told."""
    if values.ndim != 1:
        raise InvalidInput(
            "An interval is for one number a draw",
            f"values has shape {values.shape}: give one column of it",
            where="values",
        )
    times = look_multiplier(len(values), level, planned)
    if not math.isfinite(times) or not np.isfinite(values).all():
        return math.inf
    spread = float(values.std(ddof=1))
    if spread <= ROUNDING * float(np.abs(values).max()):
        return math.inf
    return times * spread / math.sqrt(len(values))


def _check_pair(part: np.ndarray, whole: np.ndarray) -> None:
    if part.shape != whole.shape or part.ndim != 1 or not part.size:
        raise InvalidInput(
            "part and whole need one number each for every draw",
            f"they have shapes {part.shape} and {whole.shape}",
            where="part",
        )
