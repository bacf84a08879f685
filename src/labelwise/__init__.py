"""Know how good your model is, with the fewest labels.

Names load on first use, so that the command line answers without starting JAX. The first of
them switches JAX to 64-bit numbers for the whole process; see `labelwise.numerics`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelwise import beliefs as beliefs
    from labelwise import estimands as estimands
    from labelwise.beliefs.classifier import (
        GaussianProcessClassifier as GaussianProcessClassifier,
    )
    from labelwise.beliefs.fitting import fit_gaussian_process as fit_gaussian_process
    from labelwise.beliefs.fitting import (
        fit_gaussian_process_classifier as fit_gaussian_process_classifier,
    )
    from labelwise.beliefs.gp import GaussianProcess as GaussianProcess
    from labelwise.beliefs.kernels import RBF as RBF
    from labelwise.beliefs.kernels import Matern32 as Matern32
    from labelwise.beliefs.kernels import Matern52 as Matern52
    from labelwise.beliefs.means import ConstantMean as ConstantMean
    from labelwise.beliefs.means import PredictorMean as PredictorMean
    from labelwise.beliefs.mixing import fit_mixture as fit_mixture
    from labelwise.campaign import stop as stop
    from labelwise.campaign.campaign import Campaign as Campaign
    from labelwise.datasets.base import Problem as Problem
    from labelwise.datasets.clusters import make_clusters as make_clusters
    from labelwise.errors import InvalidInput as InvalidInput
    from labelwise.errors import LabelwiseError as LabelwiseError
    from labelwise.errors import NumericalError as NumericalError
    from labelwise.errors import StoreError as StoreError
    from labelwise.estimands.loss import MeanSquaredError as MeanSquaredError
    from labelwise.estimands.moments import exact_moments as exact_moments
    from labelwise.lookahead.expected import expected_variance as expected_variance
    from labelwise.policies.autodiff import SmoothedAutodiff as SmoothedAutodiff
    from labelwise.policies.drawing import Draw as Draw
    from labelwise.policies.lookahead import Lookahead as Lookahead
    from labelwise.policies.offer import Spending as Spending
    from labelwise.policies.registry import make_policy as make_policy
    from labelwise.policies.reinforce import Reinforce as Reinforce
    from labelwise.policies.training import Training as Training
    from labelwise.simulation import simulate as simulate
    from labelwise.types import Assignment as Assignment
    from labelwise.types import Pool as Pool

__version__ = "0.1.0"

_HOMES = {
    "beliefs.classifier": ["GaussianProcessClassifier"],
    "beliefs.fitting": ["fit_gaussian_process", "fit_gaussian_process_classifier"],
    "beliefs.gp": ["GaussianProcess"],
    "beliefs.kernels": ["RBF", "Matern32", "Matern52"],
    "beliefs.means": ["ConstantMean", "PredictorMean"],
    "beliefs.mixing": ["fit_mixture"],
    "datasets.base": ["Problem"],
    "campaign.campaign": ["Campaign"],
    "datasets.clusters": ["make_clusters"],
    "errors": ["InvalidInput", "LabelwiseError", "NumericalError", "StoreError"],
    "estimands.loss": ["MeanSquaredError"],
    "estimands.moments": ["exact_moments"],
    "lookahead.expected": ["expected_variance"],
    "policies.autodiff": ["SmoothedAutodiff"],
    "policies.drawing": ["Draw"],
    "policies.lookahead": ["Lookahead"],
    "policies.offer": ["Spending"],
    "policies.registry": ["make_policy"],
    "policies.reinforce": ["Reinforce"],
    "policies.training": ["Training"],
    "simulation": ["simulate"],
    "types": ["Assignment", "Pool"],
}
_MODULES = {"beliefs": "beliefs", "estimands": "estimands", "stop": "campaign.stop"}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"labelwise.{_MODULES[name]}")
    if name not in _HOME:
        raise AttributeError(f"module 'labelwise' has no attribute {name!r}")
    value = getattr(import_module(f"labelwise.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
