"""Which of two is better: the difference of two estimands on the same target.

Where both losses are linear in the outcome, or squared, the difference is linear: the squares
of the function cancel, and the answer is exact under a Gaussian belief.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from labelwise.errors import InvalidInput
from labelwise.estimands.base import AbstractEstimand, LinearEstimand, same_rows
from labelwise.estimands.combine import Several
from labelwise.estimands.loss import MeanSquaredError
from labelwise.inputs import check_is, is_traced


class Difference(AbstractEstimand):
    """One estimand minus another; see `difference`, which finds closed forms."""

    x: Float[Array, "target dim"]
    mass: Float[Array, " target"]
    first: AbstractEstimand
    second: AbstractEstimand

    def value(self, f, likelihood):
        return self.first.value(f, likelihood) - self.second.value(f, likelihood)


def difference(first: Any, second: Any) -> AbstractEstimand:
    """`first` minus `second`, such as the losses of two models on one target."""
    check_is("first", first, AbstractEstimand)
    check_is("second", second, AbstractEstimand)
    if isinstance(first, Several) or isinstance(second, Several):
        raise InvalidInput(
            "Several estimands have no one difference", "compare them one by one", where="first"
        )
    if not same_rows(first, second):
        raise InvalidInput(
            "Two estimands can be compared only on the same target rows",
            "build both from one x",
            where="second",
        )
    linear = _linear(first, second)
    return Difference(first.x, first.mass, first, second) if linear is None else linear


def _linear(first, second) -> LinearEstimand | None:
    both = lambda kind: isinstance(first, kind) and isinstance(second, kind)
    if both(LinearEstimand):
        slope, offset = first.slope - second.slope, first.offset - second.offset
        return LinearEstimand(first.x, first.mass, slope, offset)
    alike = both(MeanSquaredError) and _same_mass(first, second)
    if not alike:
        return None
    # (y - a)² - (y - b)² = a² - b² - 2 (a - b) y, so the variance of labels cancels too.
    mass, a, b = first.mass, first.prediction, second.prediction
    return LinearEstimand(first.x, mass, -2.0 * mass * (a - b), jnp.sum(mass * (a**2 - b**2)))


def _same_mass(first, second) -> bool:
    return not is_traced(first.mass, second.mass) and np.array_equal(first.mass, second.mass)
