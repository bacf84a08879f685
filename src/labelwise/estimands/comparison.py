"""Which of two is better: the difference of two estimands on the same target.

Where both losses are polynomials of the label, so is the difference; where their squares
cancel it is linear, and the variance of labels cancels too.
"""

from typing import Any

import numpy as np
from jaxtyping import Array, Float

from labelwise.errors import InvalidInput
from labelwise.estimands.base import (
    AbstractEstimand,
    LinearEstimand,
    QuadraticEstimand,
    same_rows,
)
from labelwise.estimands.combine import Several
from labelwise.inputs import check_is, is_traced

SAME = 1e-12  # curvatures that differ by less, relative to the largest, are the same


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
    both = lambda kind: isinstance(first, kind) and isinstance(second, kind)
    if both(LinearEstimand):
        slope, offset = first.slope - second.slope, first.offset - second.offset
        return LinearEstimand(first.x, first.mass, slope, offset)
    if both(QuadraticEstimand):
        return _of_polynomials(first, second)
    return Difference(first.x, first.mass, first, second)


def _of_polynomials(first: QuadraticEstimand, second: QuadraticEstimand) -> AbstractEstimand:
    """With the second as a polynomial around the first's predictions."""
    apart = first.prediction - second.prediction
    constant = first.constant - second.constant
    constant = constant - second.slope @ apart - second.curvature @ apart**2
    slope = first.slope - second.slope - 2.0 * second.curvature * apart
    curvature = first.curvature - second.curvature
    if _vanishes(curvature, first.curvature):
        return LinearEstimand(first.x, first.mass, slope, constant - slope @ first.prediction)
    return QuadraticEstimand(first.x, first.mass, first.prediction, constant, slope, curvature)


def _vanishes(difference: Any, scale: Any) -> bool:
    if is_traced(difference, scale):
        return False
    return bool(np.abs(difference).max() <= SAME * np.abs(np.asarray(scale)).max())
