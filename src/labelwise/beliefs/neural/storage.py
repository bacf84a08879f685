"""Neural beliefs in files: arrays and plain values, nothing that runs when it is read.

A file is a NumPy archive with all arrays of a belief, weights and labels included, and a text
that says how to build the belief they belong to.
"""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.description import build_mean, describe_mean
from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.neural.belief import NeuralBelief
from labelwise.beliefs.neural.dropout import Dropout
from labelwise.beliefs.neural.ensemble import Ensemble
from labelwise.beliefs.neural.epinet import Epinet
from labelwise.beliefs.neural.hypermodel import Hypermodel
from labelwise.beliefs.neural.layers import Layers
from labelwise.beliefs.neural.learning import Learning
from labelwise.beliefs.neural.model import Model
from labelwise.beliefs.neural.registry import as_law
from labelwise.errors import InvalidInput
from labelwise.likelihoods import CategoricalLikelihood, GaussianLikelihood

FORMAT = 1
_NETWORKS = {kind.__name__: kind for kind in (Ensemble, Dropout, Hypermodel, Epinet)}


def save_belief(path: str | Path, belief: NeuralBelief) -> None:
    """Write a belief, with all it has learnt, to one file."""
    arrays: dict[str, Any] = _as_arrays(belief)
    header = json.dumps({"format": FORMAT, **_describe(belief)})
    with Path(path).open("wb") as file:
        np.savez_compressed(file, header=np.array(header), **arrays)


def load_belief(path: str | Path) -> NeuralBelief:
    """The belief that was saved: the same draws from the same keys."""
    path = Path(path)
    if not path.is_file():
        raise InvalidInput(
            f"There is no file {path}", "give the path of a saved belief", where=str(path)
        )
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
        header = json.loads(str(found.pop("header")))
    except (ValueError, KeyError, OSError):
        raise InvalidInput(
            f"{path} does not hold a belief", "save one with save_belief", where=str(path)
        ) from None
    if header.get("format") != FORMAT:
        raise InvalidInput(
            f"{path} has format {header.get('format')}, and this version reads {FORMAT}",
            "save it again with the version that reads it",
            where=str(path),
        )
    return _filled(_build(header), found, path)


def _describe(belief: NeuralBelief) -> dict[str, Any]:
    network, likelihood = belief.network, belief.likelihood
    kind: Any = "binary"
    if isinstance(likelihood, GaussianLikelihood):
        kind = "regression"
    if isinstance(likelihood, CategoricalLikelihood):
        kind = likelihood.classes
    prior = getattr(network, "prior", None)
    single = jax.tree.leaves(belief.start)[0].dtype == jnp.float32
    return {
        "network": type(network).__name__,
        "shape": _static(network),
        "prior_layers": None if prior is None else len(prior.weights),
        "learning": _static(belief.learning),
        "labels": kind,
        "mean": describe_mean(belief.model.prior_mean),
        "labelled": None if belief.labelled is None else list(belief.labelled.x.shape),
        "precision": "single" if single else "double",
    }


def _static(module: eqx.Module) -> dict[str, Any]:
    """The fields that are not arrays."""
    static = [one for one in fields(module) if one.metadata.get("static", False)]
    return {one.name: getattr(module, one.name) for one in static}


def _build(header: dict[str, Any]) -> NeuralBelief:
    """A belief of the same make, whose arrays are to be filled in."""
    network = _network(header)
    model = Model(network, as_law(header["labels"]), build_mean(header["mean"]))
    belief = NeuralBelief(
        model, Learning(**header["learning"]), 0, precision=header["precision"]
    )
    if header["labelled"] is None:
        return belief
    rows, dim = header["labelled"]
    labelled = Labelled(jnp.zeros((rows, dim)), jnp.zeros(rows), jnp.zeros(rows))
    return eqx.tree_at(
        lambda belief: belief.labelled, belief, labelled, is_leaf=lambda leaf: leaf is None
    )


def _network(header: dict[str, Any]) -> Any:
    shape, kind = dict(header["shape"]), _NETWORKS[header["network"]]
    if kind in (Hypermodel, Epinet):
        # Of prior functions only the number of layers matters here: arrays are filled in.
        hidden = (1,) * (header["prior_layers"] - 1)
        return kind(jax.random.key(0), **shape, prior_hidden=hidden)
    if kind is Ensemble and header["prior_layers"] is not None:
        nothing = tuple(jnp.zeros(()) for _ in range(header["prior_layers"]))
        return Ensemble(**shape, prior=Layers(nothing, nothing))
    return kind(**shape)


def _as_arrays(belief: NeuralBelief) -> dict[str, np.ndarray]:
    plain = lambda leaf: jax.random.key_data(leaf) if _is_key(leaf) else leaf
    leaves = jax.tree.leaves(eqx.filter(belief, eqx.is_array))
    return {f"array_{place}": np.asarray(plain(leaf)) for place, leaf in enumerate(leaves)}


def _filled(belief: NeuralBelief, arrays: dict[str, np.ndarray], path: Path) -> NeuralBelief:
    dynamic, static = eqx.partition(belief, eqx.is_array)
    leaves, structure = jax.tree.flatten(dynamic)
    if len(leaves) != len(arrays):
        raise InvalidInput(
            f"The file holds {len(arrays)} arrays and the belief has {len(leaves)}",
            "it was damaged, or saved by another version",
            where=str(path),
        )
    as_leaf = lambda array, leaf: (
        jax.random.wrap_key_data(jnp.asarray(array)) if _is_key(leaf) else jnp.asarray(array)
    )
    new = [as_leaf(arrays[f"array_{place}"], leaf) for place, leaf in enumerate(leaves)]
    return eqx.combine(jax.tree.unflatten(structure, new), static)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
