"""What one may believe: `labelwise.beliefs.neural_belief("ensemble-plus", features=20)`.

Networks and files of beliefs load when they are first named: few campaigns need them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from labelwise.beliefs.base import AbstractBelief as AbstractBelief
from labelwise.beliefs.classifier import GaussianProcessClassifier as GaussianProcessClassifier
from labelwise.beliefs.fit import (
    fit_gaussian_process_classifier as fit_gaussian_process_classifier,
)
from labelwise.beliefs.kernels import Linear as Linear
from labelwise.beliefs.kernels import Matern32 as Matern32
from labelwise.beliefs.kernels import Matern52 as Matern52
from labelwise.beliefs.kernels import OnFeatures as OnFeatures
from labelwise.beliefs.means import ConstantMean as ConstantMean
from labelwise.beliefs.means import PredictorMean as PredictorMean
from labelwise.beliefs.mixture import Mixture as Mixture

if TYPE_CHECKING:
    from labelwise.beliefs.files import load_belief as load_belief
    from labelwise.beliefs.files import save_belief as save_belief
    from labelwise.beliefs.neural.belief import NeuralBelief as NeuralBelief
    from labelwise.beliefs.neural.fitting import fit_neural as fit_neural
    from labelwise.beliefs.neural.last_layer import LastLayer as LastLayer
    from labelwise.beliefs.neural.last_layer import fit_last_layer as fit_last_layer
    from labelwise.beliefs.neural.learning import Learning as Learning
    from labelwise.beliefs.neural.registry import neural_belief as neural_belief

_LATER = {
    "load_belief": "files",
    "save_belief": "files",
    "NeuralBelief": "neural.belief",
    "fit_neural": "neural.fitting",
    "LastLayer": "neural.last_layer",
    "fit_last_layer": "neural.last_layer",
    "Learning": "neural.learning",
    "neural_belief": "neural.registry",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'labelwise.beliefs' has no attribute {name!r}")
    return getattr(import_module(f"labelwise.beliefs.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
