"""How many standard errors an interval reaches to either side.

`multiplier` is for a number of draws fixed in advance. Whoever looks after every batch and
stops when the interval pleases needs `anytime_multiplier`: in a share `level` of campaigns
its intervals are right at all looks. [1]

That rests on the spread seen so far. Losses of which one in ten is many times the others
look harmless until the first large one comes, and no multiplier makes up for that.

[1] Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas (2024), Time-uniform central limit theory and
    asymptotic confidence sequences.
"""

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import lambertw, log_ndtr, stdtrit

from labelwise.errors import InvalidInput
from labelwise.inputs import as_count

SMALLEST = 1e-280  # tails below it are taken by their logarithm
FARTHEST = 600.0  # logarithm of a multiplier that is as good as infinite


def multiplier(draws: int, level: float) -> float:
    """Use Student's t with `draws` − 1 degrees of freedom; fewer than two draws give ∞."""
    _check_level(level)
    if draws < 2:
        return math.inf
    return float(-stdtrit(draws - 1, (1.0 - level) / 2.0))


def anytime_multiplier(draws: int, level: float, planned: int) -> float:
    """The same for every look at once, tightest when `planned` draws are in.

    The sequence of [1] takes the spread as known. With few draws it is not, and the sequence
    fails at the first looks; so its multiplier is swapped for the quantile of Student's t
    that is as rare.
    """
    if draws < 2:
        _check_level(level)
        return math.inf
    return _as_rare(asymptotic_multiplier(draws, level, planned), draws - 1)


def look_multiplier(draws: int, level: float, planned: int | None) -> float:
    """Serve one look, or where a number of draws is `planned` for, every look."""
    if planned is None:
        return multiplier(draws, level)
    return anytime_multiplier(draws, level, planned)


def asymptotic_multiplier(draws: int, level: float, planned: int) -> float:
    """The multiplier of [1] as it stands: z² = (1 + 1/x) log((1 + x)/α²), x = ρ² draws."""
    alpha = 1.0 - _check_level(level)
    x = tightest(alpha) * draws / as_count("planned", planned)
    return math.sqrt((1.0 + 1.0 / x) * (math.log1p(x) - 2.0 * math.log(alpha)))


def tightest(alpha: float) -> float:
    """The x = ρ² draws at which z² is least: (1 + x) e⁻ˣ = α², by Lambert's function."""
    return float(-lambertw(-(alpha**2) / math.e, -1).real - 1.0)


def _as_rare(normal: float, freedom: int) -> float:
    """The quantile of Student's t whose tail is that of the normal one."""
    log_tail = float(log_ndtr(-normal))
    if log_tail > math.log(SMALLEST):
        return float(-stdtrit(freedom, math.exp(log_tail)))
    excess = lambda log_t: _log_far_tail(log_t, freedom) - log_tail
    if excess(FARTHEST) > 0:
        return math.inf
    log_t: Any = brentq(excess, math.log(normal), FARTHEST)
    return math.exp(log_t)


def _log_far_tail(log_t: float, freedom: int) -> float:
    """log P(T > t) for large t: density times (ν + t²) / (ν t), within a share 1/t² of it.

    It exceeds the truth, so that multipliers do.
    """
    log_square = np.logaddexp(math.log(freedom), 2.0 * log_t)  # of ν + t²
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    log_density = (
        scale
        - 0.5 * math.log(freedom * math.pi)
        - (freedom + 1) / 2 * (log_square - math.log(freedom))
    )
    return float(log_density + log_square - math.log(freedom) - log_t)


def _check_level(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise InvalidInput.must("level", "lie between 0 and 1, as 0.9 does", f"it is {level:g}")
    return level
