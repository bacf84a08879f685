"""Priors as plain values, as campaigns keep them.

A prior is described by its hyper-parameters, a mixture by its best single prior with what of
each component differs beside, a network by how it is made.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from labelwise.beliefs.base import AbstractBelief
from labelwise.beliefs.brought import DrawsPrior
from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.fit_mixture import MixtureFit
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import OnFeatures, WithLine
from labelwise.beliefs.mixture import Mixture
from labelwise.beliefs.process import AbstractProcess
from labelwise.codec import decode, encode
from labelwise.errors import InvalidInput

# Networks are slow to load: what needs them asks for them.
if TYPE_CHECKING:
    from labelwise.beliefs.neural.fitting import NeuralPrior
    from labelwise.beliefs.neural.last_layer import LastLayerFit

LINE = ("column", "centre", "level", "slope")  # of a kernel with a line
SHARED = ("kernel", "link", "weighting")  # by all components of a mixture


def describe_prior(belief: Any) -> dict[str, Any]:
    """Hyper-parameters by name; labels seen are not part of a prior."""
    kernel, line = belief.kernel, {}
    if isinstance(kernel, WithLine):
        own = {name: encode(getattr(kernel, name)) for name in LINE}
        kernel, line = kernel.kernel, {"line": own}
    kernel, mean = encode(kernel, "kernel"), encode(belief.prior_mean, "mean")
    own = ("noise", "weighting") if isinstance(belief, GaussianProcess) else ("link",)
    labels = {name: encode(getattr(belief, name)) for name in own}
    return {"kernel": kernel.pop("name"), **kernel, **line, "mean": mean, **labels}


def describe_mixture(belief: Mixture, best: AbstractProcess) -> dict[str, Any]:
    """The best single prior by name, and what of each component differs."""
    components = jax.tree.map(np.asarray, belief.components)
    component = lambda index: jax.tree.map(lambda leaf: leaf[index], components)
    priors = [describe_prior(component(index)) for index in range(belief.size)]
    own = [{key: prior[key] for key in prior if key not in SHARED} for prior in priors]
    weights = np.asarray(belief.log_prior).tolist()
    return describe_prior(best) | {"components": own, "log_prior": weights}


def describe_fit(fit: "MixtureFit | LastLayerFit | NeuralPrior") -> dict[str, Any]:
    """A fitted prior, and what tells whether to trust it."""
    if hasattr(fit, "recipe"):  # of a user's own model
        return {**fit.describe(), "at_bound": []}  # type: ignore[union-attr]
    if isinstance(fit, DrawsPrior):
        return fit.describe()
    if not isinstance(fit, MixtureFit):
        return _describe_neural(fit)
    if fit.prior.size == 1:
        prior = describe_prior(fit.best.prior)
    else:
        prior = describe_mixture(fit.prior, fit.best.prior) | {"effective": fit.effective}
    return {
        **prior,
        "at_bound": list(fit.best.at_bound),
        "log_evidence": fit.best.log_evidence,
        "position": list(fit.best.position),
    }


def _describe_neural(fit: "LastLayerFit | NeuralPrior") -> dict[str, Any]:
    from labelwise.beliefs.neural.fitting import NeuralPrior
    from labelwise.beliefs.neural.stored import describe_features, describe_network

    if isinstance(fit, NeuralPrior):
        return {**describe_network(fit), "at_bound": []}
    return {**describe_fit(fit.fit), "last_layer": describe_features(fit.features)}


def build_belief(stored: Mapping[str, Any]) -> AbstractBelief:
    """The belief that was described, before any label."""
    try:
        if "own" in stored:
            from labelwise.beliefs.bootstrap import BootstrapPrior

            return BootstrapPrior.build(stored)
        if "draws" in stored:
            return DrawsPrior.of(stored).build()
        if "neural" in stored:
            from labelwise.beliefs.neural.stored import build_network

            return build_network(stored)
        if "components" not in stored:
            return _build_prior(stored)
        priors = [_build_prior({**stored, **own}) for own in stored["components"]]
        return Mixture.of(priors, stored["log_prior"])
    except KeyError as missing:
        raise InvalidInput(
            f"The stored prior has no {missing}",
            "it was damaged, or written by another version",
            where="belief",
        ) from None


def _build_prior(stored: Mapping[str, Any]) -> AbstractProcess:
    """A classifier if it has a link."""
    own = {key: stored[key] for key in ("length_scale", "variance")}
    kernel = decode({"name": stored["kernel"], **own}, "kernel")
    if "line" in stored:
        kernel = WithLine(kernel, *(stored["line"][name] for name in LINE))
    if "last_layer" in stored:
        from labelwise.beliefs.neural.stored import build_features

        kernel = OnFeatures(kernel, build_features(stored["last_layer"]))
    mean = decode(stored["mean"], "mean")
    if "link" in stored:
        return GaussianProcessClassifier(kernel, mean, stored["link"])
    return GaussianProcess(kernel, stored["noise"], mean, stored["weighting"])
