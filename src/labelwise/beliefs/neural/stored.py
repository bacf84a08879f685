"""Networks, and last layers of networks, as plain values."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.neural.belief import NeuralBelief
from labelwise.beliefs.neural.fitting import NeuralPrior
from labelwise.beliefs.neural.last_layer import LastLayer
from labelwise.beliefs.neural.layers import Layers
from labelwise.codec import decode, encode

DIGITS = 8  # significant, of a network's weights in a description


def describe_network(prior: NeuralPrior) -> dict[str, Any]:
    """How a network is made, as plain values."""
    return {field.name: encode(getattr(prior, field.name)) for field in fields(prior)}


def build_network(stored: Mapping[str, Any]) -> NeuralBelief:
    """The network that was described, before any label."""
    names = [field.name for field in fields(NeuralPrior)]
    return NeuralPrior(**decode({name: stored[name] for name in names})).build()


def describe_features(features: LastLayer) -> dict[str, Any]:
    """A network's last layer as plain values, its weights rounded."""
    layers = features.layers
    return {
        "weights": [_rounded(array) for array in layers.weights[:-1]],
        "biases": [_rounded(array) for array in layers.biases[:-1]],
        "centre": _rounded(features.centre),
        "scale": _rounded(features.scale),
        "activation": features.activation,
    }


def build_features(stored: Mapping[str, Any]) -> LastLayer:
    """The features that were described; the output layer of their network is not needed."""
    weights = tuple(jnp.asarray(array, float) for array in stored["weights"])
    biases = tuple(jnp.asarray(array, float) for array in stored["biases"])
    units = weights[-1].shape[1]
    return LastLayer(
        layers=Layers((*weights, jnp.zeros((units, 1))), (*biases, jnp.zeros(1))),
        centre=jnp.asarray(stored["centre"], float),
        scale=jnp.asarray(stored["scale"], float),
        activation=stored["activation"],
        columns=int(weights[0].shape[0]),
    )


def _rounded(array: Any) -> Any:
    numbers = np.asarray(array, float)
    rounded = [float(f"{value:.{DIGITS}g}") for value in numbers.ravel()]
    return np.reshape(rounded, numbers.shape).tolist()
