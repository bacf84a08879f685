"""Covariance functions of a Gaussian process: RBF and Matérn, linear, and on learnt features.

RBF and Matérn depend on rows only through their distance in units of the length scale,
r² = Σ_d ((x_d - x'_d) / ℓ_d)². An infinite length scale makes a feature irrelevant.

A kernel compares features of rows. For most these are the rows themselves; where they cost
something, as those of a network, they are computed once for a table of rows.

[1] Rasmussen, Williams (2006), Gaussian Processes for Machine Learning, section 4.2.
"""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Scalar

from labelwise.codec import register
from labelwise.errors import InvalidInput
from labelwise.inputs import as_jax, as_scalar, check_same_features, is_traced

# Up to here summing squared differences is about as fast as a matrix product, and exact.
FEW_FEATURES = 8
ROOT_3, ROOT_5 = 3.0**0.5, 5.0**0.5  # Python's numbers, which leave single precision as it is


class AbstractFeatures(eqx.Module):
    """What a row is compared by: numbers made of its columns."""

    columns: eqx.AbstractVar[int]  # that a row must have

    @abc.abstractmethod
    def __call__(self, x: Float[Array, "n dim"]) -> Float[Array, "n features"]:
        """The features of each row."""


class AbstractKernel(eqx.Module):
    """k(x, x'), from the features of both rows."""

    @abc.abstractmethod
    def __call__(
        self, x: Float[Array, "n features"], other: Float[Array, "m features"]
    ) -> Float[Array, "n m"]:
        """Covariances between rows, given by their features."""

    @abc.abstractmethod
    def diagonal(self, x: Float[Array, "n features"]) -> Float[Array, " n"]:
        """Variance at each row, given by its features."""

    def features(self, x: Float[Array, "n dim"]) -> Float[Array, "n features"]:
        """What rows are compared by."""
        return x

    def check(self, name: str, x: Float[Array, "n dim"]) -> None:
        """Refuse rows whose columns the kernel does not know."""


def _as_length_scale(value: Any) -> Array:
    traced, rule = is_traced(value), "be one number or one a feature"
    try:
        scales = (jnp.asarray if traced else np.array)(value, float)
    except (TypeError, ValueError):
        raise InvalidInput.must("length_scale", rule, f"it is {value!r}") from None
    if scales.ndim > 1:
        raise InvalidInput.must("length_scale", rule, f"it has shape {scales.shape}")
    if traced:
        return jnp.asarray(scales)
    if not (scales > 0.0).all():
        raise InvalidInput.must("length_scale", "be positive", f"it is {scales}")
    return as_jax(np.asarray(scales))


def _as_variance(value: Any) -> Array:
    return as_scalar("kernel variance", value, strict=True, low=0.0)


def _as_centre(value: Any) -> Array:
    return as_scalar("line centre", value)


def _as_part(value: Any) -> Array:
    return as_scalar("line variance", value, low=0.0)


class AbstractScaledKernel(AbstractKernel):
    """A kernel with a variance and a length scale, which is one number or one a feature."""

    length_scale: Float[Array, "*dim"] = eqx.field(default=1.0, converter=_as_length_scale)
    variance: Scalar = eqx.field(default=1.0, converter=_as_variance)

    def scaled(self, x: Float[Array, "n dim"]) -> Float[Array, "n dim"]:
        """Rows in units of the length scale."""
        return x / jnp.broadcast_to(self.length_scale, (1, x.shape[1]))

    def check(self, name, x):
        if self.length_scale.ndim == 1:
            scales = self.length_scale.shape[0]
            check_same_features(name, x, "the kernel's length_scale", scales)


class AbstractStationaryKernel(AbstractScaledKernel):
    """k(x, x') = variance · correlation(r²)."""

    @abc.abstractmethod
    def correlation(self, squared_distance: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """Correlation of two rows at this squared scaled distance; 1 at 0."""

    def __call__(self, x, other):
        distance = squared_distance(self.scaled(x), self.scaled(other))
        return self.variance * self.correlation(distance)

    def diagonal(self, x):
        return jnp.full(x.shape[0], self.variance)


class RBF(AbstractStationaryKernel):
    """Infinitely smooth functions: exp(-r²/2). [1, eq. 4.9]"""

    def correlation(self, squared_distance):
        return jnp.exp(-0.5 * squared_distance)


class Matern32(AbstractStationaryKernel):
    """Once-differentiable functions: (1 + √3 r) exp(-√3 r). [1, eq. 4.17]"""

    def correlation(self, squared_distance):
        r = ROOT_3 * _root(squared_distance)
        return (1.0 + r) * jnp.exp(-r)


class Matern52(AbstractStationaryKernel):
    """Twice-differentiable functions: (1 + √5 r + 5r²/3) exp(-√5 r). [1, eq. 4.17]"""

    def correlation(self, squared_distance):
        r = ROOT_5 * _root(squared_distance)
        return (1.0 + r + r**2 / 3.0) * jnp.exp(-r)


class Linear(AbstractScaledKernel):
    """Bayesian linear regression: f(x) = b + w · x/ℓ, all coefficients N(0, variance)."""

    def __call__(self, x, other):
        return self.variance * (1.0 + self.scaled(x) @ self.scaled(other).T)

    def diagonal(self, x):
        return self.variance * (1.0 + jnp.sum(self.scaled(x) ** 2, axis=1))


class OnFeatures(AbstractKernel):
    """A kernel that compares rows by what `extract` makes of them."""

    kernel: AbstractKernel
    extract: AbstractFeatures

    def __call__(self, x, other):
        return self.kernel(x, other)

    def diagonal(self, x):
        return self.kernel.diagonal(x)

    def features(self, x):
        return self.kernel.features(self.extract(x))

    def check(self, name, x):
        check_same_features(name, x, "the network", self.extract.columns)


class WithLine(AbstractKernel):
    """A kernel beside a line in one column whose level and slope are not known.

    f(x) = g(x) + a + b · (x_c - centre), with g of the kernel, a and b normal around 0.
    """

    kernel: AbstractKernel
    column: int = eqx.field(static=True)
    centre: Scalar = eqx.field(converter=_as_centre)
    level: Scalar = eqx.field(converter=_as_part)  # variance of a
    slope: Scalar = eqx.field(converter=_as_part)  # variance of b

    def __call__(self, x, other):
        line = self.level + self.slope * self._along(x)[:, None] * self._along(other)[None, :]
        return self.kernel(x, other) + line

    def diagonal(self, x):
        return self.kernel.diagonal(x) + self.level + self.slope * self._along(x) ** 2

    def features(self, x):
        return self.kernel.features(x)

    def check(self, name, x):
        self.kernel.check(name, x)

    def _along(self, x):
        return x[:, self.column] - self.centre


KERNELS = register(
    "kernel", {"rbf": RBF, "matern32": Matern32, "matern52": Matern52, "linear": Linear}
)


def check_kernel(name: Any) -> None:
    """Refuse a kernel that there is not."""
    if name not in KERNELS:
        raise InvalidInput.must("kernel", f"be one of {', '.join(KERNELS)}", f"it is {name!r}")


def squared_distance(
    x: Float[Array, "n dim"], other: Float[Array, "m dim"]
) -> Float[Array, "n m"]:
    """Squared Euclidean distances between the rows of two tables."""
    if x.shape[1] <= FEW_FEATURES:
        # One fused pass with no (n, m, dim) array, which a sum over the last axis would build.
        columns = zip(x.T, other.T, strict=True)
        return sum(
            (jnp.square(a[:, None] - b[None, :]) for a, b in columns),
            start=jnp.zeros((x.shape[0], other.shape[0]), x.dtype),
        )
    # Distances do not see a shift; centring keeps the cancellation below small.
    centre = other.mean(axis=0, keepdims=True) if other.shape[0] else 0.0
    x, other = x - centre, other - centre
    norms = jnp.sum(x**2, axis=1)[:, None] + jnp.sum(other**2, axis=1)[None, :]
    return jnp.maximum(norms - 2.0 * x @ other.T, 0.0)


def _root(squared):
    """√r² with derivative 0 at r = 0, where the kernels are flat.

    A floor and not a test for zero: compiled, the test and the root may each compute r² anew
    and round it to different sides of zero, and the gradient becomes NaN.
    """
    return jnp.sqrt(jnp.maximum(squared, 1e-30))
