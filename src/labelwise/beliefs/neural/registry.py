"""Neural beliefs by name, with the options that suit each."""

import inspect
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import Any, Literal

import jax

from labelwise.beliefs.fields import check_known
from labelwise.beliefs.means import AbstractMean
from labelwise.beliefs.neural.belief import NeuralBelief, Precision
from labelwise.beliefs.neural.dropout import Dropout
from labelwise.beliefs.neural.ensemble import Ensemble
from labelwise.beliefs.neural.epinet import Epinet
from labelwise.beliefs.neural.hypermodel import Hypermodel
from labelwise.beliefs.neural.learning import Learning
from labelwise.beliefs.neural.model import Model, count_outputs
from labelwise.errors import InvalidInput
from labelwise.inputs import as_scalar
from labelwise.likelihoods import (
    AbstractLikelihood,
    BernoulliLikelihood,
    CategoricalLikelihood,
    GaussianLikelihood,
)

Kind = Literal["regression", "binary"] | int

# The networks: what each is, how it is made, and how it learns where not as all others do.
NETWORKS: dict[str, tuple[type, Any, dict[str, Any]]] = {
    "mlp": (Ensemble, partial(Ensemble, members=1), {}),
    "dropout": (Dropout, Dropout, {}),
    "ensemble": (Ensemble, Ensemble, {}),
    "ensemble-plus": (Ensemble, Ensemble.plus, {}),
    "hypermodel": (Hypermodel, Hypermodel.make, {"indices": 16, "steps": 2000}),
    "epinet": (Epinet, Epinet.make, {"indices": 8, "decay": 0.2}),
}
NAMES = tuple(NETWORKS)
_NOT_CHOSEN = {"key", "features", "outputs", "prior", "first_bias", "shape"}
_ALONE = {"mlp": {"members", "prior_scale"}, "ensemble": {"prior_scale"}}  # nor of these


def neural_belief(
    name: str,
    features: int,
    *,
    labels: Kind = "regression",
    noise: Any = 0.0,
    mean: AbstractMean | None = None,
    spread: Any = 1.0,
    precision: Precision = "single",
    seed: int = 0,
    **options: Any,
) -> NeuralBelief:
    """A neural belief before any label.

    `name` is one of mlp, dropout, ensemble, ensemble-plus, hypermodel and epinet. `labels` are
    any numbers ("regression", with the variance `noise` around the function), 0 or 1
    ("binary"), or a number of classes. `mean` is what is expected before any label and
    `spread` how far labels lie around it. Options are those of the network and of `Learning`.
    """
    shape, learning = split_options(name, options)
    law = as_law(labels, noise)
    prior_key, key = jax.random.split(jax.random.key(seed))
    _, make, usual = NETWORKS[name]
    drawn = (prior_key,) if "key" in inspect.signature(make).parameters else ()
    network = make(*drawn, features, count_outputs(law), **shape)
    learning = Learning(**{**usual, **learning})
    return NeuralBelief(Model(network, law, mean, spread), learning, key, precision=precision)


def split_options(
    name: str, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the network, and of how it learns."""
    if name not in NAMES:
        raise InvalidInput(
            f"There is no neural belief {name!r}",
            f"use one of {', '.join(NAMES)}",
            where="name",
        )
    of_network = network_options(name)
    check_known(f"The belief {name!r}", options, of_network | Learning.option_names())
    own = {key: value for key, value in options.items() if key in of_network}
    return own, {key: value for key, value in options.items() if key not in of_network}


def network_options(name: str) -> set[str]:
    """What can be chosen of a network: its fields, and how its prior functions are drawn."""
    kind, make, _ = NETWORKS[name]
    names = {field.name for field in fields(kind)} | {*inspect.signature(make).parameters}
    return names - _NOT_CHOSEN - _ALONE.get(name, set())


def as_law(labels: Any, noise: Any = 0.0) -> AbstractLikelihood:
    """The law of labels that a kind stands for."""
    if labels == "regression":
        return GaussianLikelihood(as_scalar("noise", noise, low=0.0))
    if labels == "binary" or labels == 2:
        return BernoulliLikelihood()
    if isinstance(labels, int) and not isinstance(labels, bool) and labels > 2:
        return CategoricalLikelihood(labels)
    raise InvalidInput.must(
        "labels", "be 'regression', 'binary' or a number of classes", f"it is {labels!r}"
    )
