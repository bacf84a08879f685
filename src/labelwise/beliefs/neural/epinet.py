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

from labelwise.beliefs.neural.base import AbstractNetwork
from labelwise.beliefs.neural.ensemble import HIDDEN
from labelwise.beliefs.neural.layers import (
    Activation,
    Layers,
    apply_layers,
    check_activation,
    check_sizes,
    draw_layers,
    last_hidden_and_output,
)
from labelwise.inputs import as_count, as_scalar

DIMENSIONS = 8
EPINET_HIDDEN = (15, 15)
PRIOR_HIDDEN = (5, 5)


class EpinetWeights(eqx.Module):
    base: Layers  # ζ
    epinet: Layers  # η
    seen: Layers | None = None  # the base whose last layer the epinet sees, if another


class Epinet(AbstractNetwork):
    """A base network, an epinet on its last layer, and prior functions. [1]"""

    features: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)
    dimensions: int = eqx.field(static=True)
    hidden: tuple[int, ...] = eqx.field(static=True)
    epinet_hidden: tuple[int, ...] = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)
    prior: Layers  # p_1 ... p_D, along a further axis in front
    prior_scale: Scalar

    def __init__(
        self,
        key: PRNGKeyArray,
        features: int,
        outputs: int = 1,
        *,
        dimensions: int = DIMENSIONS,
        hidden: Sequence[int] = HIDDEN,
        epinet_hidden: Sequence[int] = EPINET_HIDDEN,
        prior_hidden: Sequence[int] = PRIOR_HIDDEN,
        prior_scale: Any = 0.3,
        activation: Activation = "relu",
    ):
        self.features = as_count("features", features)
        self.outputs = as_count("outputs", outputs)
        self.dimensions = as_count("dimensions", dimensions)
        self.hidden = check_sizes("hidden", hidden)
        self.epinet_hidden = check_sizes("epinet_hidden", epinet_hidden)
        self.activation = check_activation(activation)
        sizes = (self.features, *check_sizes("prior_hidden", prior_hidden), self.outputs)
        keys = jax.random.split(key, self.dimensions)
        self.prior = jax.vmap(lambda key: draw_layers(key, sizes))(keys)
        self.prior_scale = as_scalar("prior_scale", prior_scale, low=0.0)

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
        return base + self._epinet(weights.epinet, exposed, index) + self._prior(x, index)

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

    def _prior(self, x, index) -> Float[Array, "n outputs"]:
        return self._weigh(self._priors(x), index)

    def _priors(self, x) -> Float[Array, "dimensions n outputs"]:
        fixed = jax.vmap(lambda own: apply_layers(own, x, self.activation))(self.prior)
        return jax.lax.stop_gradient(self.prior_scale * fixed)

    def _weigh(self, priors, index) -> Float[Array, "n outputs"]:
        return jnp.tensordot(index, priors, axes=1)
