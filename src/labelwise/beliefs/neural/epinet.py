"""An epinet: a small network beside a base network that says how unsure to be.

    f(x, z) = μ(x) + σ(φ(x), z) + α Σ_j z_j p_j(x),        z ~ N(0, I)

φ(x) are the inputs and the last hidden layer of μ, through which the epinet's loss does not
reach the base while learning; p_j are small networks that never learn.

[1] Osband, Wen, Asghari, Dwaracherla, Ibrahimi, Lu, Van Roy (2023), Epistemic neural networks.
"""

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
    draw_layers,
    last_hidden_and_output,
    sizes,
)
from labelwise.inputs import as_count

DIMENSIONS = 8
EPINET_HIDDEN = (15, 15)
PRIOR_HIDDEN = (5, 5)


class EpinetWeights(eqx.Module):
    base: Layers  # ζ
    epinet: Layers  # η
    seen: Layers | None = None  # the base whose last layer the epinet sees, if another


class Epinet(AbstractNetwork):
    """A base network, an epinet on its last layer, and prior functions. [1]"""

    features: int = count("features")
    outputs: int = count("outputs")
    prior: Layers = eqx.field(kw_only=True)  # p_1 ... p_D, along a further axis in front
    dimensions: int = count("dimensions", DIMENSIONS)
    hidden: tuple[int, ...] = sizes("hidden", HIDDEN)
    epinet_hidden: tuple[int, ...] = sizes("epinet_hidden", EPINET_HIDDEN)
    activation: Activation = choice("activation", Activation, "relu")
    prior_scale: Scalar | float = scalar("prior_scale", 0.3)

    @staticmethod
    def make(
        key: PRNGKeyArray,
        features: int,
        outputs: int = 1,
        *,
        dimensions: int = DIMENSIONS,
        prior_hidden: Sequence[int] = PRIOR_HIDDEN,
        **shape: Any,
    ) -> "Epinet":
        """With prior functions drawn with `key`; the rest of its shape are fields."""
        layers = (features, *check_sizes("prior_hidden", prior_hidden), outputs)
        keys = jax.random.split(key, as_count("dimensions", dimensions))
        prior = jax.vmap(lambda key: draw_layers(key, layers))(keys)
        return Epinet(features, outputs, prior=prior, dimensions=dimensions, **shape)

    @property
    def gaussian_index(self):
        return self.dimensions, 1.0

    def start(self, key):
        base_key, epinet_key = jax.random.split(key)
        exposed = self.features + (self.features, *self.hidden)[-1]
        inputs, outputs = self.dimensions + exposed, self.outputs * self.dimensions
        return EpinetWeights(
            draw_layers(base_key, (self.features, *self.hidden, self.outputs)),
            draw_layers(epinet_key, (inputs, *self.epinet_hidden, outputs)),
        )

    def draw(self, key, count):
        return jax.random.normal(key, (count, self.dimensions))

    def shielded(self, weights, still):
        return EpinetWeights(weights.base, weights.epinet, still.base)

    def evaluate(self, weights, x, index):
        base, exposed = self._base(weights, x)
        prior = self._weigh(self._priors(x), index)
        return base + self._epinet(weights.epinet, exposed, index) + prior

    def each(self, weights, x, indices=None):
        """The base and the priors are computed once for all indices."""
        base, exposed = self._base(weights, x)
        priors = self._priors(x)
        of = lambda index: (
            self._epinet(weights.epinet, exposed, index) + self._weigh(priors, index)
        )
        return base[None] + jax.vmap(of)(indices)

    def decay(self, strength, rows):
        return strength * (self.features / rows) ** 0.7

    def _base(self, weights: EpinetWeights, x):
        """μ(x) and φ(x)."""
        hidden, base = last_hidden_and_output(weights.base, x, self.activation)
        if weights.seen is not None:
            hidden, _ = last_hidden_and_output(weights.seen, x, self.activation)
        return base, jnp.concatenate([x, hidden], axis=1)

    def _epinet(self, epinet: Layers, exposed, index) -> Float[Array, "n outputs"]:
        repeated = jnp.broadcast_to(index[None, :], (exposed.shape[0], self.dimensions))
        inputs = jnp.concatenate([repeated, exposed], axis=1)
        out = apply_layers(epinet, inputs, self.activation)
        return out.reshape(-1, self.outputs, self.dimensions) @ index

    def _priors(self, x) -> Float[Array, "dimensions n outputs"]:
        fixed = jax.vmap(lambda own: apply_layers(own, x, self.activation))(self.prior)
        return jax.lax.stop_gradient(self.prior_scale * fixed)

    def _weigh(self, priors, index) -> Float[Array, "n outputs"]:
        return jnp.tensordot(index, priors, axes=1)
