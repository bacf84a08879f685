"""Whether predicted probabilities mean what they say.

With ℓ the predicted log-odds, labels have the log-odds a + bℓ that fit them best:

    Σ w (y − σ(a + bℓ)) (1, ℓ) = 0.

The calibration slope is b; the intercept is a where b is held at 1, as is usual. Labels enter
by Σ w y and Σ w y ℓ alone, so that (a, b) moves with w_j y_j by H⁻¹(1, ℓ_j), where
H = Σ w σ' (1, ℓ)(1, ℓ)ᵀ.

The calibration error has a term for each bin of predictions: y − p in it, else 0.
"""

from typing import Any

import jax
import numpy as np

from labelwise.estimands.functional import BinaryFunctional
from labelwise.estimands.metrics import Combination
from labelwise.survey.absolute import settle_absolute

BINS = 10
LEAST_CHANCE = 1e-6  # nearer to 0 and 1 log-odds are no larger
STEPS = 25  # of Newton's method
LONGEST = 2.0  # a step, so that none leads astray
SAME = 1e-12  # what the next step changes by less stays as it is


def log_odds(prediction: Any) -> Any:
    """Of predicted probabilities, finite at 0 and 1."""
    xp = prediction.__array_namespace__()
    chance = xp.clip(prediction, LEAST_CHANCE, 1.0 - LEAST_CHANCE)
    return xp.log(chance) - xp.log1p(-chance)


def _sigmoid(odds: Any) -> Any:
    xp = odds.__array_namespace__()
    return 0.5 * (1.0 + xp.tanh(0.5 * odds))


def _intercept(y: Any, weight: Any, prediction: Any) -> Any:
    odds = log_odds(prediction)

    def step(y, numbers):
        (level,) = numbers
        chance = _sigmoid(level[..., None] + odds)
        curve = (weight * chance * (1.0 - chance)).sum(axis=-1)
        return ((weight * (y - chance)).sum(axis=-1) / curve,)

    return _newton(step, y, (0.0,))[0]


def _intercept_slope(y: np.ndarray, weight: np.ndarray, prediction: Any) -> np.ndarray:
    chance = _sigmoid(_intercept(y, weight, prediction) + log_odds(prediction))
    return np.full(len(weight), 1.0 / float(weight @ (chance * (1.0 - chance))))


def _line(y: Any, weight: Any, prediction: Any) -> tuple[Any, ...]:
    """The level and the slope, found together."""
    odds = log_odds(prediction)

    def step(y, numbers):
        level, slope = numbers
        chance = _sigmoid(level[..., None] + slope[..., None] * odds)
        h0, h1, h2 = _curves(weight, chance, odds)
        missed = weight * (y - chance)
        off, tilt = missed.sum(axis=-1), (missed * odds).sum(axis=-1)
        area = h0 * h2 - h1**2
        return (h2 * off - h1 * tilt) / area, (h0 * tilt - h1 * off) / area

    return _newton(step, y, (0.0, 1.0))


def _newton(step: Any, y: Any, start: tuple[float, ...]) -> tuple[Any, ...]:
    """Numbers at which the step from them is none; NaN where there are no such.

    JAX differentiates the last step alone, which is as the root itself moves.
    """
    traced = not isinstance(y, np.ndarray)
    fixed = jax.lax.stop_gradient(y) if traced else y
    numbers = tuple(0.0 * fixed[..., 0] + one for one in start)

    def move(_, numbers):
        steps = zip(numbers, step(fixed, numbers), strict=True)
        return tuple(one + by.clip(-LONGEST, LONGEST) for one, by in steps)

    if traced:
        numbers = jax.lax.stop_gradient(jax.lax.fori_loop(0, STEPS, move, numbers))
    else:
        for count in range(STEPS):
            before, numbers = numbers, move(count, numbers)
            moved = [np.abs(new - old).max() for new, old in zip(numbers, before, strict=True)]
            if max(moved) < SAME:
                break
    last = step(y, numbers)
    return tuple(_settled(one + by, by) for one, by in zip(numbers, last, strict=True))


def _curves(weight: Any, chance: Any, odds: Any) -> tuple[Any, ...]:
    """Σ w σ' (1, ℓ, ℓ²)."""
    curve = weight * chance * (1.0 - chance)
    return tuple((curve * odds**power).sum(axis=-1) for power in (0, 1, 2))


def _settled(number: Any, step: Any) -> Any:
    """NaN where Newton's method has found no end: labels are all alike, or apart.

    JAX plans with how far it has come.
    """
    xp = number.__array_namespace__()
    ended = abs(step) < 1e-6
    return xp.where(ended, number, np.nan if xp is np else jax.lax.stop_gradient(number - step))


def _slope(y: Any, weight: Any, prediction: Any) -> Any:
    return _line(y, weight, prediction)[1]


def _slope_slope(y: np.ndarray, weight: np.ndarray, prediction: Any) -> np.ndarray:
    odds = log_odds(prediction)
    level, slope = _line(y, weight, prediction)
    h0, h1, h2 = _curves(weight, _sigmoid(level + slope * odds), odds)
    return (h0 * odds - h1) / (h0 * h2 - h1**2)


CALIBRATION_SLOPE = BinaryFunctional(_slope, _slope_slope)
CALIBRATION_INTERCEPT = BinaryFunctional(_intercept, _intercept_slope)


def bins_of(prediction: Any) -> Any:
    """Which of the bins of equal width each prediction is in; a border belongs above it."""
    xp = prediction.__array_namespace__()
    return xp.clip(xp.floor(prediction * BINS), 0, BINS - 1)


def bin_terms(y: Any, prediction: Any, _: Any) -> tuple[Any, ...]:
    """One a bin: how far the label is above its predicted probability there."""
    here = bins_of(prediction)
    return tuple((y - prediction) * (here == place) for place in range(BINS))


def _bin_shares(prediction: np.ndarray, mass: np.ndarray) -> np.ndarray:
    here = bins_of(prediction).astype(int)
    return np.bincount(here, mass, minlength=BINS) / mass.sum()


CALIBRATION_ERROR = Combination(
    "smooth",
    BINS,
    lambda means: abs(means).sum(axis=0),
    np.sign,
    lambda values, prediction, mass: settle_absolute(values, _bin_shares(prediction, mass)),
)
