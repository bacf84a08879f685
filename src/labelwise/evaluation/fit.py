"""A campaign's prior, given or fitted to its labels, as plain values."""

from collections.abc import Mapping, Sequence
from typing import Any

from labelwise.beliefs.fit_mixture import MixtureFit, fit_mixture
from labelwise.beliefs.neural.fitting import fit_neural
from labelwise.beliefs.neural.last_layer import fit_last_layer
from labelwise.beliefs.neural.registry import NAMES as NEURAL
from labelwise.beliefs.stored import (
    describe_features,
    describe_mixture,
    describe_network,
    describe_prior,
)
from labelwise.errors import InvalidInput
from labelwise.evaluation.belief_options import CLASSIFIER, LAST_LAYER
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.labels import LabelSet, known_rows

FIT_ROWS = 600  # hyper-parameters are fitted to at most this many labels
MANY_LABELS = 200  # with more than this, one start of the fit is enough
FEW_FEATURES = 60  # up to here every feature has its own length scale
MANY_ROWS = 1500  # with more labels than this a mixture has few components
FEW_COMPONENTS = 3
BATCH = 256  # rows of a step, where a network learns from many


def fit_prior(
    arrays: Arrays,
    known: LabelSet,
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
            "Fitting needs at least 2 labelled rows",
            f"there are {len(y)}: give more, or a belief with fixed hyper-parameters",
            where="labelled",
        )
    if belief["name"] in NEURAL:
        return _fit_network(arrays, x, y, belief, seed)
    if belief["name"] == LAST_LAYER:
        return _fit_last_layer(arrays, x, y, belief, seed)
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
    return _described(fit, len(y))


def _fit_network(arrays: Arrays, x, y, belief: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """What the network takes as given; it learns when it is conditioned."""
    options = {key: value for key, value in belief.items() if key not in ("name", "labels")}
    if len(arrays.labels) > MANY_ROWS:
        options = {"batch": BATCH, **options}
    prior = fit_neural(
        belief["name"],
        x,
        y,
        labels=belief["labels"],
        predictor_column=arrays.predictor_column,
        seed=seed,
        **options,
    )
    return {**describe_network(prior), "fitted": True, "at_bound": [], "fit_rows": len(y)}


def _fit_last_layer(
    arrays: Arrays, x, y, belief: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    options = {key: value for key, value in belief.items() if key not in ("name", "labels")}
    fit = fit_last_layer(
        x,
        y,
        population=arrays.target if arrays.thin is None else arrays.target[arrays.thin],
        link="logit" if belief["labels"] == "binary" else None,
        seed=seed,
        **options,
    )
    features = {"last_layer": describe_features(fit.features)}
    return _described(fit.fit, len(y)) | features


def _described(fit: MixtureFit, rows: int) -> dict[str, Any]:
    return {
        **_describe(fit),
        "fitted": True,
        "at_bound": list(fit.best.at_bound),
        "fit_rows": rows,
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
