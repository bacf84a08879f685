"""What a reader must know before trusting an estimate."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from labelwise.evaluation.check import Check
from labelwise.evaluation.fit import FIT_ROWS
from labelwise.evaluation.labels import KNOWN_ROWS
from labelwise.evaluation.posterior import Posterior
from labelwise.tables.shift import uncovered

ENOUGH = 10  # labels that must agree with the belief before a contradiction is forgotten
MUCH = 0.1  # share of the target that may be far before it is worth a warning


def caveats(
    analysis: Posterior, checks: Sequence[Check], names: Sequence[str], radius: float
) -> list[str]:
    """List warnings, the gravest first; `radius` is how far a neighbour may be."""
    arrays, estimand = analysis.arrays, analysis.estimand
    labelled = np.concatenate([arrays.labelled, arrays.pool[list(analysis.known.rows)]])
    target = np.asarray(estimand.x), np.asarray(estimand.mass)
    return [
        *_contradicted(checks),
        *_certain(analysis),
        *_few(analysis),
        *_far(labelled, *target, radius),
        *_beyond(labelled, *target, arrays.predictor_column),
        *_at_bound(analysis.prior, names),
        *_sampled(len(arrays.labels), analysis.prior),
    ]


def _contradicted(checks: Sequence[Check]) -> list[str]:
    """Name the latest batch that contradicts the belief, until enough labels agree again."""
    since = 0
    for check in reversed(checks):
        if check.contradicted:
            tiny = check.surprise < 1e-4
            return [
                f"The labels of batch {check.round} contradict the belief: labels this far off "
                f"would come with chance {'below 0.0001' if tiny else f'{check.surprise:.2g}'} "
                f"if it were right, and {_percent(check.inside)} of them fell into their 90 % "
                "intervals; do not trust the interval."
            ]
        since += check.labels
        if since >= ENOUGH:
            return []
    return []


def _few(analysis: Posterior) -> list[str]:
    labels = np.concatenate([analysis.arrays.labels, analysis.known.labels])
    if not len(labels):
        return ["There are no labels yet: all that is said rests on the model's own output."]
    if np.ptp(labels) == 0.0:
        return ["All labels are the same, so the belief cannot know how much they may differ."]
    if len(labels) < ENOUGH:
        return [f"With {len(labels)} labels the belief is little more than its prior."]
    return []


def _certain(analysis: Posterior) -> list[str]:
    if not analysis.belief.certain:
        return []
    return [
        "A single network is sure of everything: its interval has no width, and rows are taken "
        "at random; choose an ensemble to plan with."
    ]


def _beyond(
    labelled: np.ndarray, x: np.ndarray, mass: np.ndarray, column: int | None
) -> list[str]:
    """Warn of predictions beyond all labelled rows, where the belief extends a line."""
    if column is None or not len(labelled):
        return []
    seen, wanted = labelled[:, column], x[:, column]
    share = float(mass @ ((wanted < seen.min()) | (wanted > seen.max())))
    if share < MUCH:
        return []
    return [
        f"{_percent(share)} of the target has predictions beyond those of all labelled rows; "
        "there the belief extends a line."
    ]


def _far(labelled: np.ndarray, x: np.ndarray, mass: np.ndarray, radius: float) -> list[str]:
    share = uncovered(labelled, x, radius, mass) if len(labelled) else 0.0
    if share < MUCH:
        return []
    return [
        f"{_percent(share)} of the target has no labelled neighbour: there the belief rests on "
        "what it learnt elsewhere."
    ]


def _sampled(labels: int, prior: Mapping[str, Any]) -> list[str]:
    """Warn of labels that were left out, where there are very many."""
    warnings = []
    if labels > KNOWN_ROWS:
        extra = labels - KNOWN_ROWS
        warnings.append(
            f"{extra} of the initial labels were left out: the belief takes {KNOWN_ROWS}."
        )
    if prior["fitted"] and prior["fit_rows"] >= FIT_ROWS:
        warnings.append(f"Hyper-parameters were fitted to a sample of {FIT_ROWS} labels.")
    return warnings


def _at_bound(prior: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    scales = np.size(prior.get("length_scale", ()))
    named = names if scales == len(names) else []
    edges = [_in_words(name, named) for name in prior["at_bound"]]
    if not edges:
        return []
    return [
        f"The labels pushed {', '.join(edges)} to the edge of what is allowed; the belief may "
        "not suit them."
    ]


def _in_words(parameter: str, names: Sequence[str]) -> str:
    """Call length_scale[3] the length scale of the feature it belongs to."""
    if not parameter.startswith("length_scale"):
        return f"the {parameter}"
    index = int(parameter[len("length_scale[") : -1])
    return f"the length scale of {names[index]!r}" if names else "the length scale"


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f} %"
