"""A network whose weights are linear in a Gaussian index.

For each array t of the base network, vec(θ_t) = A_t z + c_t with z ~ N(0, I/D). The prior
function is a small network whose own weights are linear in z, each layer in a part of it.

[1] Dwaracherla, Lu, Ibrahimi, Osband, Wen, Van Roy (2020), Hypermodels for exploration.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Scalar

from labelwise.beliefs.fields import choice, count, scalar
from labelwise.beliefs.neural.base import AbstractNetwork
from labelwise.beliefs.neural.ensemble import HIDDEN
from labelwise.beliefs.neural.layers import (
    Activation,
    Layers,
    apply_layers,
    check_sizes,
    sizes,
)
from labelwise.inputs import as_count

DIMENSIONS = 6  # D
PRIOR_HIDDEN = (10,)
CUT = 0.87962566103423978  # standard deviation of a standard normal cut at ±2


class Line(eqx.Module):
    """θ = slope · z + offset, for one array of the base network."""

    slope: Float[Array, "*shape dimensions"]
    offset: Float[Array, "*shape"]

    def at(self, index: Float[Array, " dimensions"]) -> Float[Array, "*shape"]:
        return self.slope @ index + self.offset


class Lines(eqx.Module):
    """What a hypermodel learns: one line for each array of the base network."""

    weights: tuple[Line, ...]
    biases: tuple[Line, ...]


class Hypermodel(AbstractNetwork):
    """f(x, z) = net(x; A z + c) + α · prior(x, z). [1]"""

    features: int = count("features")
    outputs: int = count("outputs")
    prior: Layers = eqx.field(
        kw_only=True
    )  # with a last axis: the part of the index that a layer looks at
    dimensions: int = count("dimensions", DIMENSIONS)
    hidden: tuple[int, ...] = sizes("hidden", HIDDEN)
    activation: Activation = choice("activation", Activation, "relu")
    prior_scale: Scalar | float = scalar("prior_scale", 1.0)

    @staticmethod
    def make(
        key: PRNGKeyArray,
        features: int,
        outputs: int = 1,
        *,
        dimensions: int = DIMENSIONS,
        prior_hidden: Sequence[int] = PRIOR_HIDDEN,
        **shape: Any,
    ) -> "Hypermodel":
        """With prior functions drawn with `key`; the rest of its shape are fields."""
        layers = (features, *check_sizes("prior_hidden", prior_hidden), outputs)
        prior = _draw_prior(key, layers, as_count("dimensions", dimensions))
        return Hypermodel(features, outputs, prior=prior, dimensions=dimensions, **shape)

    @property
    def gaussian_index(self):
        return self.dimensions, self.dimensions**-0.5

    def start(self, key):
        return _draw_lines(key, (self.features, *self.hidden, self.outputs), self.dimensions)

    def draw(self, key, count):
        normal = jax.random.normal(key, (count, self.dimensions))
        return normal / jnp.sqrt(self.dimensions)

    def evaluate(self, weights, x, index):
        learnt = apply_layers(self.generate(weights, index), x, self.activation)
        fixed = apply_layers(self._prior_at(index), x, self.activation)
        return learnt + jax.lax.stop_gradient(self.prior_scale * fixed)

    def generate(self, weights: Lines, index: Float[Array, " dimensions"]) -> Layers:
        """The base network that an index stands for."""
        at = lambda lines: tuple(line.at(index) for line in lines)
        return Layers(at(weights.weights), at(weights.biases))

    def decay(self, strength, rows):
        return strength / rows

    def _prior_at(self, index) -> Layers:
        parts = _parts(self.dimensions, len(self.prior.weights))
        at = lambda arrays: tuple(
            array @ index[part] for array, part in zip(arrays, parts, strict=True)
        )
        return Layers(at(self.prior.weights), at(self.prior.biases))


@eqx.filter_jit
def _draw_lines(key, units: Sequence[int], dimensions: int) -> Lines:
    pairs = list(itertools.pairwise(units))
    keys = iter(jax.random.split(key, 2 * len(pairs)))
    weights = tuple(_draw_line(next(keys), pair, dimensions) for pair in pairs)
    biases = tuple(_draw_line(next(keys), pair[1:], dimensions) for pair in pairs)
    return Lines(weights, biases)


def _draw_line(key, shape: tuple[int, ...], dimensions: int) -> Line:
    """Slopes of variance 2/(D + entries), offsets of variance 1/entries, cut at two widths."""
    slope_key, offset_key = jax.random.split(key)
    entries = 1
    for length in shape:
        entries *= length
    cut = lambda key, shape: jax.random.truncated_normal(key, -2.0, 2.0, shape, float) / CUT
    slope = cut(slope_key, (*shape, dimensions)) * (2.0 / (dimensions + entries)) ** 0.5
    return Line(slope, cut(offset_key, shape) * entries**-0.5)


@eqx.filter_jit
def _draw_prior(key, units: Sequence[int], dimensions: int) -> Layers:
    pairs = list(itertools.pairwise(units))
    parts = _parts(dimensions, len(pairs))
    weights, biases = [], []
    for number, ((inputs, outputs), part) in enumerate(zip(pairs, parts, strict=True)):
        weight_key, bias_key = jax.random.split(jax.random.fold_in(key, number))
        length = len(range(dimensions)[part])
        scale = 1.0 if number == 0 else inputs**-0.5
        weights.append(scale * _unit(weight_key, (inputs, outputs, length)))
        biases.append(_unit(bias_key, (outputs, length)))
    return Layers(tuple(weights), tuple(biases))


def _unit(key, shape):
    """Random directions along the last axis."""
    normal = jax.random.normal(key, shape)
    return normal / jnp.linalg.norm(normal, axis=-1, keepdims=True)


def _parts(dimensions: int, layers: int) -> list[slice]:
    """Disjoint parts of the index, one a layer; all of it to each where it is too short."""
    if dimensions < layers:
        return [slice(0, dimensions)] * layers
    edges = [round(number * dimensions / layers) for number in range(layers + 1)]
    return [slice(low, high) for low, high in itertools.pairwise(edges)]
