"""What a campaign's belief may be: its name and options, checked and made complete."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.fit_mixture import COMPONENTS
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import KERNELS, AbstractScaledKernel
from labelwise.beliefs.neural.registry import NAMES as NEURAL
from labelwise.beliefs.neural.registry import neural_belief
from labelwise.beliefs.stored import describe_prior
from labelwise.errors import InvalidInput
from labelwise.inputs import as_count
from labelwise.likelihoods import BernoulliLikelihood

CLASSIFIER = "gp-classifier"
LAST_LAYER = "last-layer"
BELIEFS = ("gp", CLASSIFIER, *NEURAL, LAST_LAYER)
MEMBERS = 30  # of an ensemble, in campaigns: enough for a spread, and learnt in seconds
# Of the network whose last layer becomes Bayesian.
FEATURES: dict[str, Any] = {"hidden": (50, 50), "activation": "tanh"}


def check_belief(belief: Any, features: int, labels: Any = None) -> dict[str, Any]:
    """A belief's settings from a name, options, or a process whose numbers stay.

    "auto" is a classifier if all labels are 0 or 1, and else a Gaussian process.
    """
    if isinstance(belief, GaussianProcess | GaussianProcessClassifier):
        name = "gp" if isinstance(belief, GaussianProcess) else CLASSIFIER
        return {"name": name, "fixed": _check_fixed(belief, features)}
    options = {"name": belief} if isinstance(belief, str) else belief
    name = options.get("name", "auto") if isinstance(options, Mapping) else None
    binary = labels is not None and are_binary(labels)
    if name == "auto":
        name = CLASSIFIER if binary else "gp"
    if name not in BELIEFS:
        raise InvalidInput(
            f"There is no belief {belief!r}",
            f"use 'auto', {_listed()}, its options, or a GaussianProcess",
            where="belief",
        )
    given = {key: value for key, value in options.items() if key != "name"}
    if name in NEURAL:
        return {"name": name, **_check_network(name, given, features, binary)}
    if name == LAST_LAYER:
        return {"name": name, **_check_last_layer(given, features, binary)}
    return {"name": name, **_check_process(given, name == CLASSIFIER)}


def is_binary(belief: Mapping[str, Any]) -> bool:
    """Whether a belief is about labels that are 0 or 1."""
    return belief["name"] == CLASSIFIER or belief.get("labels") == "binary"


def are_binary(labels: Any) -> bool:
    """Whether all labels are 0 or 1."""
    return bool(np.isin(np.asarray(labels, float), [0.0, 1.0]).all())


def _listed() -> str:
    return ", ".join(f"'{name}'" for name in BELIEFS)


def _check_process(given: Mapping[str, Any], classifier: bool) -> dict[str, Any]:
    link = {"link": "logit"} if classifier else {}
    usual = {"kernel": "matern52", "starts": 2, "components": COMPONENTS, **link}
    _refuse_strange(given, usual)
    found = {**usual, **given}
    _check_kernel(found["kernel"])
    if link:
        BernoulliLikelihood(found["link"])  # refuses an unknown one
    counts = {key: as_count(key, found[key]) for key in ("starts", "components")}
    return found | counts


def _check_network(
    name: str, given: Mapping[str, Any], features: int, binary: bool
) -> dict[str, Any]:
    usual = {"members": MEMBERS} if name.startswith("ensemble") else {}
    kind = {"labels": "binary" if binary else "regression"}
    found = {**usual, **given, **kind}
    neural_belief(name, features, **found)  # refuses options that do not exist, or are wrong
    return found


def _check_last_layer(given: Mapping[str, Any], features: int, binary: bool) -> dict[str, Any]:
    own = {"kernel": "linear", "components": COMPONENTS}
    network = {key: value for key, value in {**FEATURES, **given}.items() if key not in own}
    neural_belief("mlp", features, **network)
    found = {**own, **FEATURES, **given}
    _check_kernel(found["kernel"])
    found["components"] = as_count("components", found["components"])
    return found | {"labels": "binary" if binary else "regression"}


def _check_kernel(kernel: Any) -> None:
    if kernel not in KERNELS:
        raise InvalidInput.must(
            "kernel", f"be one of {', '.join(KERNELS)}", f"it is {kernel!r}"
        )


def _refuse_strange(given: Mapping[str, Any], usual: Mapping[str, Any]) -> None:
    strange = sorted(set(given) - set(usual))
    if strange:
        raise InvalidInput(
            f"The belief has no option {strange[0]!r}",
            f"it has {', '.join(sorted(usual))}",
            where=strange[0],
        )


def _check_fixed(
    belief: GaussianProcess | GaussianProcessClassifier, features: int
) -> dict[str, Any]:
    kernel = belief.kernel
    scales = np.size(kernel.length_scale) if isinstance(kernel, AbstractScaledKernel) else 1
    if belief.seen is not None:
        raise InvalidInput(
            "The belief has seen labels already",
            "give the prior, and the labels as tables",
            where="belief",
        )
    if scales not in (1, features):
        raise InvalidInput(
            f"The belief has {scales} length scales but the tables give {features} features",
            "give one, or one a feature",
            where="belief",
        )
    return describe_prior(belief)
