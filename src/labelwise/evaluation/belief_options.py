"""What a campaign's belief may be: its name and options, or a process whose numbers stay."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import AbstractScaledKernel
from labelwise.beliefs.named import check_options, find_name
from labelwise.beliefs.stored import describe_prior
from labelwise.errors import InvalidInput
from labelwise.evaluation.checked import check_candidates
from labelwise.names import CHECKED, CLASSIFIER


def check_belief(belief: Any, features: int, binary: bool = False) -> dict[str, Any]:
    """A belief's settings from a name, options, or a process whose numbers stay.

    `binary` says that labels are 0 or 1.
    """
    if isinstance(belief, GaussianProcess | GaussianProcessClassifier):
        name = "gp" if isinstance(belief, GaussianProcess) else CLASSIFIER
        return {"name": name, "fixed": _check_fixed(belief, features)}
    options = dict(belief) if isinstance(belief, Mapping) else {"name": belief}
    name = options.pop("name", "auto")
    if name == CHECKED:
        return {"name": name, **check_candidates(options, features, binary)}
    name = find_name(name, binary)
    return {"name": name, **check_options(name, options, features, binary)}


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
