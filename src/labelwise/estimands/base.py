"""What is to be known: a number g(f) that depends on the labelling function.

An estimand holds the target rows it is about; its value is computed from one draw of the
function at those rows, as an expectation over labels given that draw: no label noise enters.
Estimands that are quadratic in the function have exact moments under a Gaussian belief.
"""

import abc

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Scalar

from labelwise.inputs import is_traced
from labelwise.likelihoods import AbstractLikelihood


class AbstractEstimand(eqx.Module):
    """g(f), from f at the rows `x`; each stands for its `mass` of the population."""

    x: eqx.AbstractVar[Float[Array, "target dim"]]
    mass: eqx.AbstractVar[Float[Array, " target"]]

    @abc.abstractmethod
    def value(self, f: Float[Array, " target"], likelihood: AbstractLikelihood) -> Scalar:
        """g of one draw; `likelihood` is the law of a label given the function."""


def same_rows(first: AbstractEstimand, second: AbstractEstimand) -> bool:
    """Whether two estimands are about the same rows."""
    if first.x.shape != second.x.shape:
        return False
    return is_traced(first.x, second.x) or np.array_equal(first.x, second.x)


class Expansion(eqx.Module):
    """g(m + d) = value + slopeᵀd + Σ curvature_i d_i², exactly, for every d."""

    value: Scalar
    slope: Float[Array, " target"]
    curvature: Float[Array, " target"]


class AbstractQuadraticEstimand(AbstractEstimand):
    """An estimand that is quadratic in f if labels are Gaussian, without products of rows."""

    @abc.abstractmethod
    def expand(
        self, mean: Float[Array, " target"], likelihood: AbstractLikelihood
    ) -> Expansion:
        """Expand g around function values `mean`; labels are Gaussian."""


class LinearEstimand(AbstractQuadraticEstimand):
    """g = offset + Σ slope_i E[label_i]: linear in the outcome, or in the chance of a 1."""

    x: Float[Array, "target dim"]
    mass: Float[Array, " target"]
    slope: Float[Array, " target"]
    offset: Scalar

    def value(self, f, likelihood):
        return self.offset + self.slope @ likelihood.mean(f)

    def expand(self, mean, likelihood):
        return Expansion(self.value(mean, likelihood), self.slope, jnp.zeros_like(self.slope))


class QuadraticEstimand(AbstractQuadraticEstimand):
    """g = constant + Σ E[slope_i d_i + curvature_i d_i²], d_i = label_i - prediction_i.

    The variance of a label counts with its curvature, whatever the law of labels.
    """

    x: Float[Array, "target dim"]
    mass: Float[Array, " target"]
    prediction: Float[Array, " target"]
    constant: Scalar
    slope: Float[Array, " target"]
    curvature: Float[Array, " target"]

    def value(self, f, likelihood):
        away = likelihood.mean(f) - self.prediction
        squares = self.curvature @ (away**2 + likelihood.variance(f))
        return self.constant + self.slope @ away + squares

    def expand(self, mean, likelihood):
        slope = self.slope + 2.0 * self.curvature * (mean - self.prediction)
        return Expansion(self.value(mean, likelihood), slope, self.curvature)
