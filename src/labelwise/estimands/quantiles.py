"""The median absolute error: the t below which half of all rows' errors stay.

With F(t) = Σ w P(|y − p| ≤ t) and its density f, ψ(y) = −1[|y − p| ≤ t] / f(t). What is
predicted of a row are the means of y − p and of its square; its law is taken for normal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from labelwise.estimands.functional import AbstractFunctional, AbstractInfluence

HALVINGS, ROUGHLY = 48, 16  # of an interval: to rounding, and for a width
APART = 0.1  # of F on both sides of the median, between which the density is measured
ROUNDING = 1e-12


def error_terms(y: Any, prediction: Any, _: Any) -> tuple[Any, ...]:
    """How far a label is off, and the square of it."""
    return y - prediction, (y - prediction) ** 2


def _within(terms: np.ndarray, reach: float) -> np.ndarray:
    """P(|d| ≤ reach) of normal d, from its mean and that of its square."""
    spread = np.sqrt(np.maximum(terms[1] - terms[0] ** 2, 1e-24))
    below = lambda end: scipy.special.ndtr((end - terms[0]) / spread)
    return below(reach) - below(-reach)


@dataclass(frozen=True)
class ErrorInfluence(AbstractInfluence):
    """ψ at an estimate `value` of the median, where errors have this `density`."""

    value: float
    density: float
    prediction: Any

    def of_labels(self, y):
        return -1.0 * (np.abs(y - self.prediction) <= self.value) / self.density

    def of_terms(self, terms):
        return -_within(terms, self.value) / self.density

    def spread(self, terms, covariance):
        share = _within(np.stack([terms[0], terms[0] ** 2 + covariance[0, 0]]), self.value)
        return np.sqrt(share * (1.0 - share)) / self.density


@dataclass(frozen=True)
class MedianError(AbstractFunctional):
    """Of labels that are numbers."""

    def value(self, y, weight, prediction):
        errors = np.abs(y - prediction)
        order = np.argsort(errors, axis=-1)
        ordered = lambda numbers: np.take_along_axis(numbers, order, axis=-1)
        errors, weight = ordered(errors), ordered(np.broadcast_to(weight, y.shape))
        sums = np.cumsum(weight, axis=-1)

        def at(share):
            place = np.minimum(np.sum(sums < share, axis=-1), y.shape[-1] - 1)
            return np.take_along_axis(errors, place[..., None], axis=-1)[..., 0]

        # Where half is reached exactly, in the middle between two, as of an even number.
        return 0.5 * (at(0.5 - ROUNDING) + at(0.5 + ROUNDING))

    def expected(self, f, likelihood, weight, prediction):
        away = likelihood.mean(f) - prediction
        spread = jnp.maximum(jnp.sqrt(likelihood.variance(f)), 1e-12)
        below = lambda end: jax.scipy.special.ndtr((end - away) / spread)
        share = lambda reach: weight @ (below(reach) - below(-reach))
        most = jnp.max(jnp.abs(away) + 8.0 * spread)
        fixed = jax.lax.stop_gradient
        root = fixed(_root(lambda reach: fixed(share(reach)), most))
        # One step of Newton's method changes nothing but the derivative, which it makes right.
        slope = fixed(jax.grad(share)(root))
        flat = slope <= 1e-9
        return root - jnp.where(flat, 0.0, (share(root) - 0.5) / jnp.where(flat, 1.0, slope))

    def influence(self, means, weight, prediction):
        largest = means(
            lambda y: np.abs(y - prediction), lambda terms: np.sqrt(np.maximum(terms[1], 0.0))
        )
        most = 10.0 * float(np.max(np.abs(largest), initial=0.0)) + 1e-12
        share = lambda reach: float(
            weight
            @ means(
                lambda y: np.abs(y - prediction) <= reach,
                lambda terms: _within(terms, reach),
            )
        )
        at = lambda wanted, halvings: _bisect(share, wanted, most, halvings)
        ends = at(0.5 - ROUNDING, HALVINGS), at(0.5 + ROUNDING, HALVINGS)
        width = at(0.5 + APART, ROUGHLY) - at(0.5 - APART, ROUGHLY)
        value, width = 0.5 * sum(ends), max(width, most / 2.0**ROUGHLY)
        return ErrorInfluence(value, 2.0 * APART / width, prediction)


def _root(share: Callable[[Any], Any], most: Any) -> Any:
    def halve(_, ends):
        low, high = ends
        middle = 0.5 * (low + high)
        enough = share(middle) >= 0.5
        return jnp.where(enough, low, middle), jnp.where(enough, middle, high)

    return jax.lax.fori_loop(0, HALVINGS, halve, (jnp.zeros_like(most), most))[1]


def _bisect(
    share: Callable[[float], float], wanted: float, most: float, halvings: int
) -> float:
    low, high = 0.0, most
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if share(middle) >= wanted else (middle, high)
    return high
