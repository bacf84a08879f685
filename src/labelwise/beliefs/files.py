"""Beliefs in files: arrays and plain values, nothing that runs when it is read."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from labelwise.beliefs.base import AbstractBelief
from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import OnFeatures
from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.mixture import Mixture
from labelwise.beliefs.neural.belief import NeuralBelief
from labelwise.beliefs.neural.dropout import Dropout
from labelwise.beliefs.neural.ensemble import Ensemble
from labelwise.beliefs.neural.epinet import Epinet, EpinetWeights
from labelwise.beliefs.neural.hypermodel import Hypermodel, Line, Lines
from labelwise.beliefs.neural.last_layer import LastLayer
from labelwise.beliefs.neural.layers import Layers
from labelwise.beliefs.neural.learning import Descent, Differentiation, Learning
from labelwise.beliefs.neural.model import Model
from labelwise.beliefs.neural.registry import as_law
from labelwise.beliefs.process import Seen
from labelwise.codec import decode, encode, load, register, save
from labelwise.errors import InvalidInput
from labelwise.likelihoods import (
    BernoulliLikelihood,
    CategoricalLikelihood,
    GaussianLikelihood,
)

FORMAT = 2

_NETWORKS: dict[str, Any] = {
    kind.__name__: kind for kind in (Ensemble, Dropout, Hypermodel, Epinet)
}
_BELIEFS = (GaussianProcess, GaussianProcessClassifier, Mixture, NeuralBelief)
_LIKELIHOODS = (GaussianLikelihood, BernoulliLikelihood, CategoricalLikelihood)
_PARTS = (Seen, Labelled, OnFeatures, LastLayer, Model)
_LEARNING = (Learning, Descent, Differentiation)
_WEIGHTS = (Layers, Line, Lines, EpinetWeights)
register("belief", {kind.__name__: kind for kind in _BELIEFS})
register("network", _NETWORKS)
_EVERY_PART = (*_LIKELIHOODS, *_PARTS, *_LEARNING, *_WEIGHTS)
register("part of a belief", {kind.__name__: kind for kind in _EVERY_PART})


def save_belief(path: str | Path, belief: AbstractBelief) -> None:
    """Write a belief, with all it has learnt, to one file."""
    save(path, belief, FORMAT)


def load_belief(path: str | Path) -> AbstractBelief:
    """The belief that was saved: the same draws from the same keys."""
    header, arrays = load(path, "belief")
    version = header.get("format")
    if version not in (1, FORMAT):
        raise InvalidInput(
            f"{path} has format {version}, and this version reads {FORMAT}",
            "save it again with the version that reads it",
            where=str(path),
        )
    try:
        stored = header["record"] if version == FORMAT else _record_of_1(header)
    except KeyError as missing:
        raise InvalidInput(
            f"The header of {path} has no {missing}", "it was damaged", where=str(path)
        ) from None
    belief = decode(stored, str(path), arrays)
    if not isinstance(belief, AbstractBelief):
        raise InvalidInput(
            f"{path} does not hold a belief", "save one with save_belief", where=str(path)
        )
    return belief


def _record_of_1(header: dict[str, Any]) -> Any:
    """What format 2 says of a belief in format 1: a neural one, with its arrays in their order.

    A belief of the same make is built, of which only the number of arrays matters.
    """
    shape = dict(header["shape"])
    if header["prior_layers"] is not None:
        nothing = (jnp.zeros(()),) * header["prior_layers"]
        shape |= {"prior": Layers(nothing, nothing)}
    network = _NETWORKS[header["network"]](**shape)
    mean, law = decode(header["mean"], "mean"), as_law(header["labels"])
    learning = Learning(**header["learning"])
    belief = NeuralBelief(Model(network, law, mean), learning, 0)
    if header["labelled"] is not None:
        rows = Labelled(jnp.zeros((0, 0)), jnp.zeros(0), jnp.zeros(0))
        belief = eqx.tree_at(
            lambda belief: belief.labelled, belief, rows, is_leaf=lambda leaf: leaf is None
        )
    return encode(belief, arrays={})
