"""What a reader must know before trusting an estimate."""

from collections.abc import Sequence

import numpy as np

from labelwise.campaign.analysis import FIT_ROWS, KNOWN_ROWS, Analysis
from labelwise.campaign.check import Check

FAR = 0.9  # a target row that keeps this share of its prior variance is far from all labels
MUCH = 0.1  # share of the target that may be far before it is worth a warning


def caveats(analysis: Analysis, checks: Sequence[Check], names: Sequence[str]) -> list[str]:
    """Warnings, the gravest first."""
    found = [*_contradicted(checks), *_far(analysis), *_at_bound(analysis, names)]
    extra = len(analysis.arrays.labels) - KNOWN_ROWS
    if extra > 0:
        found.append(
            f"{extra} of the initial labels were left out: the belief takes {KNOWN_ROWS}."
        )
    if analysis.prior["fitted"] and analysis.prior["fit_rows"] >= FIT_ROWS:
        found.append(f"Hyper-parameters were fitted to a sample of {FIT_ROWS} labels.")
    return found


def _contradicted(checks: Sequence[Check]) -> list[str]:
    if not checks or not checks[-1].contradicted:
        return []
    last = checks[-1]
    return [
        f"The labels of batch {last.round} contradict the belief: labels this far off would "
        f"come with chance {_chance(last.surprise)} if it were right, and "
        f"{_percent(last.inside)} of them fell into their 90 % intervals; do not trust the "
        "interval."
    ]


def _far(analysis: Analysis) -> list[str]:
    belief, x = analysis.belief, analysis.estimand.x
    left = np.asarray(belief.variance(x)) / np.asarray(belief.kernel.diagonal(x))
    share = float(np.asarray(analysis.estimand.mass) @ (left > FAR))
    if share < MUCH:
        return []
    return [
        f"{_percent(share)} of the target is far from everything labelled: there the belief "
        "rests on its prior alone."
    ]


def _at_bound(analysis: Analysis, names: Sequence[str]) -> list[str]:
    edges = [_in_words(name, names) for name in analysis.prior["at_bound"]]
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
    return f"the length scale of {names[index]!r}" if len(names) > 1 else "the length scale"


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f} %"


def _chance(chance: float) -> str:
    return f"{chance:.2g}" if chance >= 1e-4 else "below 0.0001"
