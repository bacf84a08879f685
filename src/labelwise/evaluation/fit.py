"""A campaign's prior, given or fitted to its labels, as plain values."""

from collections.abc import Mapping, Sequence
from typing import Any

from labelwise.beliefs.named import fit_named
from labelwise.beliefs.stored import describe_fit
from labelwise.errors import InvalidInput
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.labels import LabelSet, known_rows
from labelwise.names import CLASSIFIER, LAST_LAYER, NEURAL

FIT_ROWS = 600  # hyper-parameters are fitted to at most this many labels
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
    options, about = _for_many(arrays, known, belief), _about_rows(arrays, belief)
    column = arrays.predictor_column
    fit = fit_named(belief["name"], options, x, y, column, seed, start=start, **about)
    return {**describe_fit(fit), "fitted": True, "fit_rows": len(y)}


def _for_many(arrays: Arrays, known: LabelSet, belief: Mapping[str, Any]) -> dict[str, Any]:
    """With many labels a network learns in batches, and a mixture has few components.

    Hyper-parameters are known well then, and every component takes memory. Campaigns made
    before there were mixtures have one.
    """
    if belief["name"] in NEURAL:
        return {**({"batch": BATCH} if len(arrays.labels) > MANY_ROWS else {}), **belief}
    if belief["name"] == LAST_LAYER:
        return dict(belief)
    most = FEW_COMPONENTS if len(arrays.labels) + len(known.rows) > MANY_ROWS else None
    components = belief.get("components", 1)
    return {**belief, "components": components if most is None else min(components, most)}


def _about_rows(arrays: Arrays, belief: Mapping[str, Any]) -> dict[str, Any]:
    """What the target tells of the population, for the beliefs that ask for it."""
    if belief["name"] in NEURAL:
        return {}
    if belief["name"] != LAST_LAYER:
        output, log_odds = arrays.output, belief["name"] == CLASSIFIER
        fits = output is not None and output.log_odds == log_odds
        return {"spread": arrays.spread, **({"output": output} if fits else {})}
    return {"population": arrays.target if arrays.thin is None else arrays.target[arrays.thin]}
