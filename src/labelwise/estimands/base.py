"""What is to be known: a number g(f) that depends on the labelling function.

An estimand holds the target rows it is about; its value is computed from one draw of the
function at those rows. Estimands that are quadratic in the function have exact moments
under a Gaussian belief.
"""

import abc

import equinox as eqx
from jaxtyping import Array, Float, Scalar


class AbstractEstimand(eqx.Module):
    """g(f), from f at the rows `x`; each stands for its `mass` of the population."""

    x: eqx.AbstractVar[Float[Array, "target dim"]]
    mass: eqx.AbstractVar[Float[Array, " target"]]

    @abc.abstractmethod
    def value(self, f: Float[Array, " target"], noise: Scalar) -> Scalar:
        """g of one draw; `noise` is the variance of a label given the function."""


class Expansion(eqx.Module):
    """g(m + d) = value + slopeᵀd + Σ curvature_i d_i², exactly, for every d."""

    value: Scalar
    slope: Float[Array, " target"]
    curvature: Float[Array, " target"]


class AbstractQuadraticEstimand(AbstractEstimand):
    """An estimand that is quadratic in f, with no products between rows."""

    @abc.abstractmethod
    def expand(self, mean: Float[Array, " target"], noise: Scalar) -> Expansion:
        """Expand g around function values `mean`."""
