"""Any prior of the project from its description: plain values, as a campaign keeps them."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.base import AbstractBelief
from labelwise.beliefs.description import build_mixture
from labelwise.beliefs.kernels import OnFeatures
from labelwise.beliefs.mixture import Mixture
from labelwise.beliefs.neural.fitting import NeuralPrior
from labelwise.beliefs.neural.last_layer import LastLayer, on_features
from labelwise.beliefs.neural.layers import Layers

DIGITS = 8  # significant, of a network's weights


def build_belief(found: Mapping[str, Any]) -> AbstractBelief:
    """The belief that was described, before any label."""
    if "neural" in found:
        return NeuralPrior.from_dict(found).build()
    belief = build_mixture(found)
    if "last_layer" not in found:
        return belief
    features = build_features(found["last_layer"])
    if isinstance(belief, Mixture):
        return on_features(belief, features)
    return eqx.tree_at(
        lambda belief: belief.kernel, belief, OnFeatures(belief.kernel, features)
    )


def describe_features(features: LastLayer) -> dict[str, Any]:
    """A network's last layer as plain values."""
    layers = features.layers
    return {
        "weights": [_as_lists(array) for array in layers.weights[:-1]],
        "biases": [_as_lists(array) for array in layers.biases[:-1]],
        "centre": _as_lists(features.centre),
        "scale": _as_lists(features.scale),
        "activation": features.activation,
    }


def build_features(found: Mapping[str, Any]) -> LastLayer:
    """The features that were described; the output layer of their network is not needed."""
    weights = tuple(jnp.asarray(array, float) for array in found["weights"])
    biases = tuple(jnp.asarray(array, float) for array in found["biases"])
    units = weights[-1].shape[1]
    nothing = Layers((*weights, jnp.zeros((units, 1))), (*biases, jnp.zeros(1)))
    return LastLayer(
        layers=nothing,
        centre=jnp.asarray(found["centre"], float),
        scale=jnp.asarray(found["scale"], float),
        activation=found["activation"],
        columns=int(weights[0].shape[0]),
    )


def _as_lists(array: Any) -> Any:
    numbers = np.asarray(array, float)
    rounded = [float(f"{value:.{DIGITS}g}") for value in numbers.ravel()]
    return np.reshape(rounded, numbers.shape).tolist()
