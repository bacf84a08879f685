"""A campaign's belief: what it may be, and its hyper-parameters, given or fitted."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.description import describe_mixture, describe_prior
from labelwise.beliefs.gp import GaussianProcess
from labelwise.beliefs.kernels import KERNELS, AbstractScaledKernel
from labelwise.beliefs.labels import BernoulliLabels
from labelwise.beliefs.mixing import COMPONENTS, MixtureFit, fit_mixture
from labelwise.campaign.arrays import Arrays
from labelwise.campaign.known import Known, known_rows
from labelwise.errors import InvalidInput
from labelwise.inputs import as_count

FIT_ROWS = 600  # hyper-parameters are fitted to at most this many labels
MANY_LABELS = 200  # with more than this, one start of the fit is enough
FEW_FEATURES = 60  # up to here every feature has its own length scale
MANY_ROWS = 1500  # with more labels than this a mixture has few components
FEW_COMPONENTS = 3
CLASSIFIER = "gp-classifier"


def check_belief(belief: Any, features: int, labels: Any = None) -> dict[str, Any]:
    """A belief's settings from a name, options, or a process whose numbers stay.

    "auto" is a classifier if all labels are 0 or 1, and else a Gaussian process.
    """
    if isinstance(belief, GaussianProcess | GaussianProcessClassifier):
        name = "gp" if isinstance(belief, GaussianProcess) else CLASSIFIER
        return {"name": name, "fixed": _check_fixed(belief, features)}
    options = {"name": belief} if isinstance(belief, str) else belief
    name = options.get("name", "auto") if isinstance(options, Mapping) else None
    if name == "auto":
        name = CLASSIFIER if labels is not None and are_binary(labels) else "gp"
    if name not in ("gp", CLASSIFIER):
        raise InvalidInput(
            f"There is no belief {belief!r}; use 'auto', 'gp', '{CLASSIFIER}', its options, or "
            "a GaussianProcess."
        )
    link = {"link": "logit"} if name == CLASSIFIER else {}
    usual = {"kernel": "matern52", "starts": 2, "components": COMPONENTS, **link}
    found = {**usual, **options, "name": name}
    known = {"name", *usual}
    strange = sorted(set(found) - known)
    if strange:
        raise InvalidInput(
            f"The belief has no option {strange[0]!r}; it has "
            f"{', '.join(sorted(known - {'name'}))}."
        )
    if found["kernel"] not in KERNELS:
        raise InvalidInput(
            f"kernel must be one of {', '.join(KERNELS)}; it is {found['kernel']!r}."
        )
    if link:
        BernoulliLabels(found["link"])  # refuses an unknown one
    counts = {key: as_count(key, found[key]) for key in ("starts", "components")}
    return found | counts


def are_binary(labels: Any) -> bool:
    """Whether all labels are 0 or 1."""
    return bool(np.isin(np.asarray(labels, float), [0.0, 1.0]).all())


def _check_fixed(
    belief: GaussianProcess | GaussianProcessClassifier, features: int
) -> dict[str, Any]:
    kernel = belief.kernel
    scales = np.size(kernel.length_scale) if isinstance(kernel, AbstractScaledKernel) else 1
    if belief.seen is not None:
        raise InvalidInput(
            "The belief has seen labels already; give the prior, and the labels as tables."
        )
    if scales not in (1, features):
        raise InvalidInput(
            f"The belief has {scales} length scales but the tables give {features} features; "
            "give one, or one a feature."
        )
    return describe_prior(belief)


def fit_prior(
    arrays: Arrays,
    known: Known,
    belief: Mapping[str, Any],
    seed: int,
    start: Sequence[float] | None = None,
) -> dict[str, Any]:
    """Hyper-parameters as the belief's settings say: given, or fitted to the labels.

    A fit may `start` where an earlier one ended.
    """
    if "fixed" in belief:
        return {**belief["fixed"], "fitted": False, "at_bound": [], "fit_rows": 0}
    x, y = known_rows(arrays, known, seed, FIT_ROWS)
    if len(y) < 2:
        raise InvalidInput(
            f"Fitting needs at least 2 labelled rows; there are {len(y)}: give more, or a "
            "belief with fixed hyper-parameters."
        )
    column = arrays.predictor_column
    fit = fit_mixture(
        x,
        y,
        components=_components(belief, len(arrays.labels) + len(known.rows)),
        kernel=belief["kernel"],
        mean="constant" if column is None else "predictor",
        predictor_column=column,
        per_feature=arrays.features <= FEW_FEATURES,
        spread=arrays.spread,
        link=belief["link"] if belief["name"] == CLASSIFIER else None,
        starts=belief["starts"] if len(y) <= MANY_LABELS else 1,
        start=start,
        seed=seed,
    )
    return {
        **_describe(fit),
        "fitted": True,
        "at_bound": list(fit.best.at_bound),
        "fit_rows": len(y),
        "log_evidence": fit.best.log_evidence,
        "position": list(fit.best.position),
    }


def _describe(fit: MixtureFit) -> dict[str, Any]:
    if fit.belief.size == 1:
        return describe_prior(fit.best.belief)
    return describe_mixture(fit.belief, fit.best.belief) | {"effective": fit.effective}  # type: ignore[arg-type]


def _components(belief: Mapping[str, Any], labels: int) -> int:
    """With many labels hyper-parameters are known well, and every component takes memory.

    Campaigns made before there were mixtures have one.
    """
    wanted = belief.get("components", 1)
    return wanted if labels <= MANY_ROWS else min(wanted, FEW_COMPONENTS)
