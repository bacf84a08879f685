"""Dropout as a belief: every mask of the hidden units is a function.

An index is a random key, from which the mask is drawn: one mask for all rows, so that a draw
is a function. Masks are on while learning and after.

[1] Gal, Ghahramani (2016), Dropout as a Bayesian approximation.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Scalar

from labelwise.beliefs.neural.base import AbstractNetwork
from labelwise.beliefs.neural.ensemble import HIDDEN
from labelwise.beliefs.neural.layers import (
    Activation,
    Law,
    apply_layers,
    check_activation,
    check_law,
    check_sizes,
    draw_layers,
)
from labelwise.errors import InvalidInput
from labelwise.inputs import as_count, as_scalar


class Dropout(AbstractNetwork):
    """One network, of whose hidden units a share `rate` is silent at a time. [1]"""

    features: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)
    hidden: tuple[int, ...] = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)
    law: Law = eqx.field(static=True)
    drop_inputs: bool = eqx.field(static=True)
    rate: Scalar

    def __init__(
        self,
        features: int,
        outputs: int = 1,
        *,
        rate: Any = 0.1,
        hidden: Sequence[int] = HIDDEN,
        activation: Activation = "relu",
        law: Law = "truncated",
        drop_inputs: bool = False,
    ):
        self.features = as_count("features", features)
        self.outputs = as_count("outputs", outputs)
        self.hidden = check_sizes("hidden", hidden)
        self.activation = check_activation(activation)
        self.law, self.drop_inputs = check_law("law", law), drop_inputs
        self.rate = as_scalar("rate", rate, low=0.0)
        if not eqx.is_array(rate) and float(rate) >= 1.0:
            raise InvalidInput.must("rate", "be below 1", f"it is {float(rate):g}")

    def start(self, key):
        sizes = (self.features, *self.hidden, self.outputs)
        return draw_layers(key, sizes, law=self.law, first_bias=True)

    def draw(self, key, count):
        return jax.random.key_data(jax.random.split(key, count))

    def evaluate(self, weights, x, index):
        inputs, *masks = self.masks(index)
        x = x * inputs[None, :] if self.drop_inputs else x
        return apply_layers(weights, x, self.activation, masks)

    def masks(self, index) -> list[Any]:
        """Of the inputs and of each hidden layer: 0, or 1/(1 - rate), with mean 1."""
        key = jax.random.wrap_key_data(index)
        keep = 1.0 - self.rate
        keys = jax.random.split(key, len(self.hidden) + 1)
        sizes = (self.features, *self.hidden)
        draw = lambda key, size: jax.random.bernoulli(key, keep, (size,)) / keep
        return [draw(key, size) for key, size in zip(keys, sizes, strict=True)]

    def decay(self, strength, rows):
        """`strength` is a length scale ℓ: ℓ² (1 - rate) / 2 for each row. [1, eq. 7]"""
        return strength**2 * (1.0 - self.rate) / (2.0 * rows)
