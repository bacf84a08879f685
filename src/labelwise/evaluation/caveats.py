"""What a reader must know before trusting an estimate."""

from collections.abc import Sequence

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
    """Warnings, the gravest first; `radius` is how far a neighbour may be."""
    found = [*_contradicted(checks), *_certain(analysis), *_few(analysis)]
    found += _far(analysis, radius)
    found += [*_beyond(analysis), *_at_bound(analysis, names)]
    extra = len(analysis.arrays.labels) - KNOWN_ROWS
    if extra > 0:
        found.append(
            f"{extra} of the initial labels were left out: the belief takes {KNOWN_ROWS}."
        )
    if analysis.prior["fitted"] and analysis.prior["fit_rows"] >= FIT_ROWS:
        found.append(f"Hyper-parameters were fitted to a sample of {FIT_ROWS} labels.")
    return found


def _contradicted(checks: Sequence[Check]) -> list[str]:
    """The latest batch that contradicts the belief, until enough labels agree with it again."""
    since = 0
    for one in reversed(checks):
        if one.contradicted:
            return [
                f"The labels of batch {one.round} contradict the belief: labels this far off "
                f"would come with chance {_chance(one.surprise)} if it were right, and "
                f"{_percent(one.inside)} of them fell into their 90 % intervals; do not trust "
                "the interval."
            ]
        since += one.labels
        if since >= ENOUGH:
            return []
    return []


def _few(analysis: Posterior) -> list[str]:
    labels = np.concatenate([analysis.arrays.labels, analysis.known.labels])
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


def _beyond(analysis: Posterior) -> list[str]:
    """Predictions that no labelled row comes near, where the belief extends a line."""
    column = analysis.arrays.predictor_column
    if column is None:
        return []
    rows = list(analysis.known.rows)
    seen = np.concatenate([analysis.arrays.labelled, analysis.arrays.pool[rows]])[:, column]
    asked = np.asarray(analysis.estimand.x)[:, column]
    outside = (asked < seen.min()) | (asked > seen.max())
    share = float(np.asarray(analysis.estimand.mass) @ outside)
    if share < MUCH:
        return []
    return [
        f"{_percent(share)} of the target has predictions beyond those of all labelled rows; "
        "there the belief extends a line."
    ]


def _far(analysis: Posterior, radius: float) -> list[str]:
    arrays = analysis.arrays
    labelled = np.concatenate([arrays.labelled, arrays.pool[list(analysis.known.rows)]])
    mass = np.asarray(analysis.estimand.mass)
    share = uncovered(labelled, np.asarray(analysis.estimand.x), radius, mass)
    if share < MUCH:
        return []
    return [
        f"{_percent(share)} of the target has no labelled neighbour: there the belief rests on "
        "what it learnt elsewhere."
    ]


def _at_bound(analysis: Posterior, names: Sequence[str]) -> list[str]:
    scales = np.size(analysis.prior.get("length_scale", ()))
    named = names if scales == len(names) else []
    edges = [_in_words(name, named) for name in analysis.prior["at_bound"]]
    if not edges:
        return []
    return [
        f"The labels pushed {', '.join(edges)} to the edge of what is allowed; the belief may "
        "not suit them."
    ]


def _in_words(parameter: str, names: Sequence[str]) -> str:
    """length_scale[3] as the length scale of the feature it belongs to."""
    if not parameter.startswith("length_scale"):
        return f"the {parameter}"
    index = int(parameter[len("length_scale[") : -1])
    return f"the length scale of {names[index]!r}" if names else "the length scale"


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f} %"


def _chance(chance: float) -> str:
    return f"{chance:.2g}" if chance >= 1e-4 else "below 0.0001"
