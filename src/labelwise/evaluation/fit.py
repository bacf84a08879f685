"""A campaign's prior, given or fitted to its labels, as plain values."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from labelwise.beliefs.fit import PAD
from labelwise.beliefs.named import fit_named
from labelwise.beliefs.stored import build_belief, describe_fit
from labelwise.errors import LabelwiseError
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.labels import LabelSet, known_rows
from labelwise.names import CLASSIFIER, LAST_LAYER, NEURAL
from labelwise.own_code import is_path

FIT_ROWS = 400  # hyper-parameters are fitted to at most this many labels
MANY_ROWS = 1500  # with more labels than this a network learns in batches
# With more labels than the first, as many components as the second; where posteriors are padded
# to more rows, so that programs are made anew there anyway.
FEWER = ((12 * PAD, 3), (2 * PAD, 4))
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
    options, about = _for_many(arrays, known, belief), about_rows(arrays, belief)
    column = arrays.predictor_column
    fit = fit_named(belief["name"], options, x, y, column, seed, start=start, **about)
    return {**describe_fit(fit), "fitted": True, "fit_rows": len(y)}


def usable_fit(stored: Any, belief: Mapping[str, Any]) -> dict[str, Any] | None:
    """A fit that was kept, if a belief can be made of it; None if not: then it is made anew.

    Nothing binds it but a hash of its own, so it may name no code but the campaign's.
    """
    if not isinstance(stored, dict) or not {"fitted", "fit_rows"} <= stored.keys():
        return None
    if "own" in stored and json.dumps(stored["own"]) not in json.dumps(dict(belief)):
        return None
    try:
        build_belief(stored)
    except (LabelwiseError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return stored


def _for_many(arrays: Arrays, known: LabelSet, belief: Mapping[str, Any]) -> dict[str, Any]:
    """With many labels a network learns in batches, and a mixture has few components.

    Hyper-parameters are known well then, and every component takes memory. Campaigns made
    before there were mixtures have one.
    """
    if belief["name"] in NEURAL:
        return {**({"batch": BATCH} if len(arrays.labels) > MANY_ROWS else {}), **belief}
    if belief["name"] == LAST_LAYER or is_path(belief["name"]):
        return dict(belief)
    labels, components = len(arrays.labels) + len(known.rows), belief.get("components", 1)
    most = next((few for many, few in FEWER if labels > many), components)
    return {**belief, "components": min(components, most)}


def about_rows(arrays: Arrays, belief: Mapping[str, Any]) -> dict[str, Any]:
    """What the target tells of the population, for the beliefs that ask for it."""
    if belief["name"] in NEURAL or is_path(belief["name"]):
        return {}
    if belief["name"] != LAST_LAYER:
        output, log_odds = arrays.output, belief["name"] == CLASSIFIER
        fits = output is not None and output.log_odds == log_odds
        return {"spread": arrays.spread, **({"output": output} if fits else {})}
    return {"population": arrays.target if arrays.thin is None else arrays.target[arrays.thin]}
