"""The last hidden layer of a network as features, for a Bayesian layer on top of it.

    f(x) = m(x) + b + w · φ(x),      b and w Gaussian

With Gaussian labels that is Bayesian linear regression, with 0/1 labels logistic regression by
Laplace's approximation: updates in closed form, differentiable, and open to exact lookahead.
The features stay as they are while labels come; fitting again makes new ones. Embeddings that
are there already, of images or texts, are features themselves: they need no network, only a
Gaussian process with the `Linear` kernel.

[1] Snoek et al. (2015), Scalable Bayesian optimization using deep neural networks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from labelwise.beliefs.fit import Fitted
from labelwise.beliefs.fit_mixture import COMPONENTS, MixtureFit, fit_mixture
from labelwise.beliefs.kernels import AbstractFeatures, OnFeatures
from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.mixture import Mixture
from labelwise.beliefs.neural.ensemble import HIDDEN
from labelwise.beliefs.neural.layers import (
    Activation,
    Layers,
    last_hidden_and_output,
)
from labelwise.beliefs.neural.registry import neural_belief
from labelwise.inputs import as_matrix, as_vector

LEAST_SPREAD = 1e-6  # a unit that varies less than this is silent


class LastLayer(AbstractFeatures):
    """Standardised units of the last hidden layer of a trained network."""

    layers: Layers
    centre: Float[Array, " units"]
    scale: Float[Array, " units"]
    activation: Activation = eqx.field(static=True)
    columns: int = eqx.field(static=True)

    def __call__(self, x):
        precision = self.layers.weights[0].dtype
        hidden, _ = last_hidden_and_output(self.layers, x.astype(precision), self.activation)
        return (hidden.astype(float) - self.centre[None, :]) / self.scale[None, :]

    @staticmethod
    def of(
        layers: Layers, activation: Activation, x: Float[Array, "n dim"] | None = None
    ) -> "LastLayer":
        """Standardised over these rows, if any; units that are silent there stay small."""
        columns, units = layers.weights[0].shape[0], layers.weights[-1].shape[0]
        raw = LastLayer(
            layers=layers,
            centre=jnp.zeros(units),
            scale=jnp.ones(units),
            activation=activation,
            columns=columns,
        )
        if x is None:
            return raw
        values = np.asarray(raw(x))
        spread = values.std(axis=0)
        scale = np.where(spread > LEAST_SPREAD, spread, 1.0)
        return replace(raw, centre=jnp.asarray(values.mean(axis=0)), scale=jnp.asarray(scale))


@dataclass(frozen=True)
class LastLayerFit(Fitted[Mixture]):
    """A fitted last-layer belief, with what tells whether to trust it."""

    features: LastLayer
    fit: MixtureFit  # on the features


def fit_last_layer(
    x: Any,
    y: Any,
    *,
    population: Any = None,
    link: Any = None,
    hidden: Sequence[int] = HIDDEN,
    activation: Activation = "tanh",
    components: int = COMPONENTS,
    kernel: str = "linear",
    seed: int = 0,
    **options: Any,
) -> LastLayerFit:
    """Train a network on labels, then fit a Bayesian last layer to its features.

    `population` are rows over which features are standardised (the labelled ones, if none are
    given). With a `link` labels are 0 or 1. Options are those of `Learning`.
    """
    x = as_matrix("x", x)
    y = as_vector("y", y, x.shape[0], "x")
    everyone = x if population is None else as_matrix("population", population)
    features = _learn_features(x, y, everyone, link, hidden, activation, seed, options)
    fit = fit_mixture(
        features(x),
        y,
        components=components,
        kernel=kernel,
        per_feature=False,
        spread=np.ones(features.scale.shape[0]),  # a silent unit sets no scale
        weighting="precision",
        link=link,
        seed=seed,
    )
    labelled = Labelled(x, y, jnp.ones(x.shape[0]))
    return LastLayerFit(on_features(fit.prior, features), labelled, features, fit)


def on_features(belief: Mixture, features: AbstractFeatures) -> Mixture:
    """The same belief about features, as one about rows."""
    kernels = lambda belief: belief.components.kernel
    count = belief.size
    repeat = lambda leaf: jnp.broadcast_to(leaf, (count, *leaf.shape))
    stacked = jax.tree.map(repeat, features)
    return eqx.tree_at(kernels, belief, OnFeatures(kernels(belief), stacked))


def _learn_features(
    x: Float[Array, "n dim"],
    y: Float[Array, " n"],
    population: Float[Array, "m dim"],
    link: Any,
    hidden: Sequence[int],
    activation: Activation,
    seed: int,
    options: dict[str, Any],
) -> LastLayer:
    spread = float(np.std(np.asarray(y))) or 1.0
    belief = neural_belief(
        "mlp",
        x.shape[1],
        labels="regression" if link is None else "binary",
        mean=ConstantMean(float(np.mean(np.asarray(y)))) if link is None else None,
        spread=spread if link is None else 1.0,
        hidden=hidden,
        activation=activation,
        seed=seed,
        **options,
    ).learn(x, y)
    layers = jax.tree.map(lambda leaf: leaf[0], belief.weights)  # of the one member
    return LastLayer.of(layers, activation, population)
