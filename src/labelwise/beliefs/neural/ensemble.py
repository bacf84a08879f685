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

from labelwise.beliefs.fields import check_choice, choice, count, scalar
from labelwise.beliefs.neural.base import AbstractNetwork
from labelwise.beliefs.neural.layers import (
    Activation,
    Law,
    Layers,
    apply_layers,
    check_sizes,
    draw_layers,
    sizes,
)
from labelwise.inputs import as_count

HIDDEN = (50, 50)
MEMBERS = 100


class Ensemble(AbstractNetwork):
    """Independent networks; one of them is a plain network, without uncertainty. [1]"""

    features: int = count("features")
    outputs: int = count("outputs", 1)
    members: int = count("members", MEMBERS)
    hidden: tuple[int, ...] = sizes("hidden", HIDDEN)
    activation: Activation = choice("activation", Activation, "relu")
    law: Law = choice("law", Law, "truncated")
    first_bias: bool = eqx.field(static=True, default=False)
    prior: Layers | None = None  # one a member, with a further axis in front
    prior_scale: Scalar | float = scalar("prior_scale", 0.0)  # α

    @staticmethod
    def plus(
        key: PRNGKeyArray,
        features: int,
        outputs: int = 1,
        *,
        members: int = MEMBERS,
        prior_hidden: Sequence[int] = HIDDEN,
        prior_scale: Any = 3.0,
        prior_law: Law = "truncated",
        **shape: Any,
    ) -> "Ensemble":
        """Ensemble+: each member has a prior function of its own, drawn with `key`. [2]

        The rest of its shape are fields.
        """
        check_choice("prior_law", prior_law, Law)
        layers = (features, *check_sizes("prior_hidden", prior_hidden), outputs)
        draw = lambda key: draw_layers(key, layers, law=prior_law, first_bias=True)
        prior = jax.vmap(draw)(jax.random.split(key, as_count("members", members)))
        own = {"first_bias": True, "prior": prior, "prior_scale": prior_scale}
        return Ensemble(features, outputs, members=members, **own, **shape)

    @property
    def size(self):
        return self.members

    def start(self, key):
        layers = (self.features, *self.hidden, self.outputs)
        draw = lambda key: draw_layers(key, layers, law=self.law, first_bias=self.first_bias)
        return jax.vmap(draw)(jax.random.split(key, self.members))

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
