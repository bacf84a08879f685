"""Dropout as a belief: every mask of the hidden units is a function.

An index is a random key, from which the mask is drawn: one mask for all rows, so that a draw
is a function. Masks are on while learning and after.

[1] Gal, Ghahramani (2016), Dropout as a Bayesian approximation.
"""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Scalar

from labelwise.beliefs.fields import choice, count, scalar
from labelwise.beliefs.neural.base import AbstractNetwork
from labelwise.beliefs.neural.ensemble import HIDDEN
from labelwise.beliefs.neural.layers import Activation, Law, apply_layers, draw_layers, sizes
from labelwise.errors import InvalidInput
from labelwise.inputs import is_traced


class Dropout(AbstractNetwork):
    """One network, of whose hidden units a share `rate` is silent at a time. [1]"""

    features: int = count("features")
    outputs: int = count("outputs", 1)
    hidden: tuple[int, ...] = sizes("hidden", HIDDEN)
    activation: Activation = choice("activation", Activation, "relu")
    law: Law = choice("law", Law, "truncated")
    drop_inputs: bool = eqx.field(static=True, default=False)
    rate: Scalar | float = scalar("rate", 0.1)

    def __check_init__(self):
        if not is_traced(self.rate) and self.rate >= 1.0:
            raise InvalidInput.must("rate", "be below 1", f"it is {float(self.rate):g}")

    def start(self, key):
        layers = (self.features, *self.hidden, self.outputs)
        return draw_layers(key, layers, law=self.law, first_bias=True)

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
        units = (self.features, *self.hidden)
        draw = lambda key, size: jax.random.bernoulli(key, keep, (size,)) / keep
        return [draw(key, size) for key, size in zip(keys, units, strict=True)]

    def decay(self, strength, rows):
        """`strength` is a length scale ℓ: ℓ² (1 - rate) / 2 for each row. [1, eq. 7]"""
        return strength**2 * (1.0 - self.rate) / (2.0 * rows)
