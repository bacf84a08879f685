"""A Gaussian-process prior, of either kind, as plain values, to be stored as JSON.

A mixture is stored as its best single prior, with its components beside.
"""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import KERNELS
from labelwise.beliefs.means import AbstractMean, ConstantMean, PredictorMean, ZeroMean
from labelwise.beliefs.mixture import Mixture
from labelwise.errors import InvalidInput

Prior = GaussianProcess | GaussianProcessClassifier


def describe_prior(belief: Any) -> dict[str, Any]:
    """Hyper-parameters by name; labels seen are not part of a prior."""
    kernel = next((name for name, kind in KERNELS.items() if type(belief.kernel) is kind), None)
    if kernel is None:
        raise InvalidInput(
            f"A {type(belief.kernel).__name__} kernel cannot be stored",
            f"use one of {', '.join(KERNELS)}",
            where="kernel",
        )
    return {
        "kernel": kernel,
        "length_scale": np.asarray(belief.kernel.length_scale).tolist(),
        "variance": float(belief.kernel.variance),
        "mean": describe_mean(belief.prior_mean),
        **_describe_labels(belief),
    }


def describe_mixture(belief: Mixture, best: Prior) -> dict[str, Any]:
    """The best single prior by name, and what of each component differs."""
    components = [describe_prior(belief.component(index)) for index in range(belief.size)]
    shared = ("kernel", "link", "weighting")
    own = [{key: one[key] for key in one if key not in shared} for one in components]
    weights = [float(value) for value in belief.log_prior]
    return describe_prior(best) | {"components": own, "log_prior": weights}


def build_mixture(found: Mapping[str, Any]) -> Prior | Mixture:
    """The prior that was described, or the mixture."""
    if "components" not in found:
        return build_prior(found)
    priors = [build_prior({**found, **one}) for one in found["components"]]
    return Mixture.of(priors, found["log_prior"])


def build_prior(found: Mapping[str, Any]) -> Prior:
    """The prior that was described: a classifier if it has a link."""
    kernel = KERNELS[found["kernel"]](
        jnp.asarray(found["length_scale"], float), found["variance"]
    )
    mean = build_mean(found["mean"])
    if "link" in found:
        return GaussianProcessClassifier(kernel, mean, found["link"])
    return GaussianProcess(kernel, found["noise"], mean, found["weighting"])


def _describe_labels(belief: Prior) -> dict[str, Any]:
    if isinstance(belief, GaussianProcessClassifier):
        return {"link": belief.link}
    return {"noise": float(belief.noise), "weighting": belief.weighting}


def describe_mean(mean: AbstractMean) -> dict[str, Any]:
    """A prior mean as plain values."""
    if isinstance(mean, ConstantMean):
        return {"name": "constant", "level": float(mean.level)}
    if isinstance(mean, PredictorMean):
        return {
            "name": "predictor",
            "column": int(mean.column),
            "intercept": float(mean.intercept),
            "slope": float(mean.slope),
        }
    if isinstance(mean, ZeroMean):
        return {"name": "zero"}
    raise InvalidInput(
        f"A {type(mean).__name__} cannot be stored",
        "use a zero, constant or predictor mean",
        where="mean",
    )


def build_mean(found: Mapping[str, Any]) -> AbstractMean:
    """The prior mean that was described."""
    if found["name"] == "constant":
        return ConstantMean(found["level"])
    if found["name"] == "predictor":
        return PredictorMean(found["column"], found["intercept"], found["slope"])
    return ZeroMean()
