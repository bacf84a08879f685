"""Know how good your model is, with the fewest labels.

Names load on first use, and a campaign starts JAX when it first reasons, not to be told labels.
JAX is then switched to 64-bit numbers for the whole process; see `labelwise.numerics`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelwise import beliefs as beliefs
    from labelwise import diagnostics as diagnostics
    from labelwise import estimands as estimands
    from labelwise import policies as policies
    from labelwise.beliefs.fit import fit_gaussian_process as fit_gaussian_process
    from labelwise.beliefs.fit_mixture import fit_mixture as fit_mixture
    from labelwise.beliefs.gaussian_process import GaussianProcess as GaussianProcess
    from labelwise.beliefs.kernels import RBF as RBF
    from labelwise.beliefs.named import fit as fit
    from labelwise.campaign.campaign import Campaign as Campaign
    from labelwise.datasets.synthetic import make_clusters as make_clusters
    from labelwise.errors import InvalidInput as InvalidInput
    from labelwise.errors import LabelwiseError as LabelwiseError
    from labelwise.errors import NumericalError as NumericalError
    from labelwise.errors import StoreError as StoreError
    from labelwise.estimands.moments import exact_moments as exact_moments
    from labelwise.estimands.named import MeanSquaredError as MeanSquaredError
    from labelwise.evaluation import stop as stop
    from labelwise.evaluation.answer import Answer as Answer
    from labelwise.evaluation.estimate import Estimate as Estimate
    from labelwise.evaluation.evaluation import Evaluation as Evaluation
    from labelwise.evaluation.measure import measure as measure
    from labelwise.evaluation.spec import Limits as Limits
    from labelwise.evaluation.spec import Question as Question
    from labelwise.evaluation.spec import Sampling as Sampling
    from labelwise.evaluation.spec import Tables as Tables
    from labelwise.lookahead.expected import expected_variance as expected_variance
    from labelwise.policies.draw import Draw as Draw
    from labelwise.policies.lookahead import Lookahead as Lookahead
    from labelwise.policies.registry import make_policy as make_policy
    from labelwise.simulation.loop import simulate as simulate
    from labelwise.simulation.problem import Problem as Problem
    from labelwise.tables.columns import Columns as Columns
    from labelwise.types import Assignment as Assignment
    from labelwise.types import Pool as Pool

__version__ = "0.1.0"

_HOMES = {
    "beliefs.fit": ["fit_gaussian_process"],
    "beliefs.gaussian_process": ["GaussianProcess"],
    "beliefs.kernels": ["RBF"],
    "beliefs.fit_mixture": ["fit_mixture"],
    "beliefs.named": ["fit"],
    "simulation.problem": ["Problem"],
    "campaign.campaign": ["Campaign"],
    "datasets.synthetic": ["make_clusters"],
    "evaluation.answer": ["Answer"],
    "evaluation.estimate": ["Estimate"],
    "evaluation.evaluation": ["Evaluation"],
    "evaluation.measure": ["measure"],
    "evaluation.spec": ["Limits", "Question", "Sampling", "Tables"],
    "tables.columns": ["Columns"],
    "errors": ["InvalidInput", "LabelwiseError", "NumericalError", "StoreError"],
    "estimands.named": ["MeanSquaredError"],
    "estimands.moments": ["exact_moments"],
    "lookahead.expected": ["expected_variance"],
    "policies.draw": ["Draw"],
    "policies.lookahead": ["Lookahead"],
    "policies.registry": ["make_policy"],
    "simulation.loop": ["simulate"],
    "types": ["Assignment", "Pool"],
}
_MODULES = {
    **{name: name for name in ("beliefs", "diagnostics", "estimands", "policies")},
    "stop": "evaluation.stop",
}
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
    return sorted([*_HOME, *_MODULES, "__version__"])
