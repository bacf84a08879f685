"""Prior means of a Gaussian process: what is expected before any label."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Scalar

from labelwise.codec import register
from labelwise.inputs import as_count, as_scalar, check_is


class AbstractMean(eqx.Module):
    """m(x), the prior mean of the labelling function."""

    @abc.abstractmethod
    def __call__(self, x: Float[Array, "n dim"]) -> Float[Array, " n"]:
        """The mean at each row."""


class ZeroMean(AbstractMean):
    """m(x) = 0."""

    def __call__(self, x):
        return jnp.zeros(x.shape[0])


def as_mean(mean: AbstractMean | None) -> AbstractMean:
    """A mean, if it is one; none is zero."""
    mean = ZeroMean() if mean is None else mean
    check_is("mean", mean, AbstractMean)
    return mean


class ConstantMean(AbstractMean):
    """m(x) = level."""

    level: Scalar

    def __init__(self, level: Any):
        self.level = as_scalar("mean level", level)

    def __call__(self, x):
        return jnp.full(x.shape[0], self.level)


class PredictorMean(AbstractMean):
    """m(x) = intercept + slope · ψ(x), where ψ(x) stands in one column of x.

    The column is a feature for the kernel too; an infinite length scale hides it there.
    """

    intercept: Scalar
    slope: Scalar
    column: int = eqx.field(static=True)  # where the predictor's output stands in x

    def __init__(self, column: int, intercept: Any = 0.0, slope: Any = 1.0):
        self.column = as_count("mean column", column, least=-(2**31))
        self.intercept = as_scalar("mean intercept", intercept)
        self.slope = as_scalar("mean slope", slope)

    def __call__(self, x):
        return self.intercept + self.slope * x[:, self.column]


MEANS = register(
    "mean", {"zero": ZeroMean, "constant": ConstantMean, "predictor": PredictorMean}
)
