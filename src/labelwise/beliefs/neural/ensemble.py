"""Networks that differ by where they start, and by prior functions that never learn.

An index is the number of a member. A prior function α p_m(x) is added to member m: far from
labels, where members learn nothing, they keep the spread of their priors. [2]

[1] Lakshminarayanan, Pritzel, Blundell (2017), Simple and scalable predictive uncertainty
    estimation using deep ensembles.
[2] Osband, Aslanides, Cassirer (2018), Randomized prior functions for deep reinforcement
    learning.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray, Scalar

from labelwise.beliefs.neural.base import AbstractNetwork
from labelwise.beliefs.neural.layers import (
    Activation,
    Law,
    Layers,
    apply_layers,
    check_activation,
    check_law,
    check_sizes,
    draw_layers,
)
from labelwise.inputs import as_count, as_scalar

HIDDEN = (50, 50)
MEMBERS = 100


class Ensemble(AbstractNetwork):
    """Independent networks; one of them is a plain network, without uncertainty. [1]"""

    features: int = eqx.field(static=True)
    outputs: int = eqx.field(static=True)
    members: int = eqx.field(static=True)
    hidden: tuple[int, ...] = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)
    law: Law = eqx.field(static=True)
    first_bias: bool = eqx.field(static=True)
    prior: Layers | None  # one a member, with a further axis in front
    prior_scale: Scalar  # α

    def __init__(
        self,
        features: int,
        outputs: int = 1,
        *,
        members: int = MEMBERS,
        hidden: Sequence[int] = HIDDEN,
        activation: Activation = "relu",
        law: Law = "truncated",
        first_bias: bool = False,
        prior: Layers | None = None,
        prior_scale: Any = 0.0,
    ):
        self.features = as_count("features", features)
        self.outputs = as_count("outputs", outputs)
        self.members = as_count("members", members)
        self.hidden = check_sizes("hidden", hidden)
        self.activation = check_activation(activation)
        self.law, self.first_bias = check_law("law", law), first_bias
        self.prior = prior
        self.prior_scale = as_scalar("prior_scale", prior_scale, low=0.0)

    @staticmethod
    def plus(
        key: PRNGKeyArray,
        features: int,
        outputs: int = 1,
        *,
        members: int = MEMBERS,
        hidden: Sequence[int] = HIDDEN,
        prior_hidden: Sequence[int] = HIDDEN,
        prior_scale: Any = 3.0,
        activation: Activation = "relu",
        law: Law = "truncated",
        prior_law: Law = "truncated",
    ) -> "Ensemble":
        """Ensemble+: each member has a prior function of its own, drawn with `key`. [2]"""
        check_law("prior_law", prior_law)
        sizes = (features, *check_sizes("prior_hidden", prior_hidden), outputs)
        one = lambda key: draw_layers(key, sizes, law=prior_law, first_bias=True)
        return Ensemble(
            features,
            outputs,
            members=members,
            hidden=hidden,
            activation=activation,
            law=law,
            first_bias=True,
            prior=jax.vmap(one)(jax.random.split(key, members)),
            prior_scale=prior_scale,
        )

    @property
    def size(self):
        return self.members

    def start(self, key):
        sizes = (self.features, *self.hidden, self.outputs)
        one = lambda key: draw_layers(key, sizes, law=self.law, first_bias=self.first_bias)
        return jax.vmap(one)(jax.random.split(key, self.members))

    def draw(self, key, count):
        return jax.random.randint(key, (count,), 0, self.members)

    def evaluate(self, weights, x, index):
        own = lambda tree: jax.tree.map(lambda leaf: leaf[index], tree)
        prior = None if self.prior is None else own(self.prior)
        return self._member(own(weights), prior, x)

    def each(self, weights, x, indices=None):
        """Without `indices` every member, none of them looked up."""
        if indices is not None:
            return super().each(weights, x, indices)
        if self.prior is None:
            return jax.vmap(lambda own: self._member(own, None, x))(weights)
        return jax.vmap(lambda own, prior: self._member(own, prior, x))(weights, self.prior)

    def reduce(self, losses):
        """The sum: members learn apart, as each would alone."""
        return losses.sum()

    def decay(self, strength, rows):
        return strength / rows

    def _member(self, own: Layers, prior: Layers | None, x):
        learnt = apply_layers(own, x, self.activation)
        if prior is None:
            return learnt
        fixed = apply_layers(prior, x, self.activation)
        return learnt + jax.lax.stop_gradient(self.prior_scale * fixed)
