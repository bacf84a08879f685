"""GLIDE's own estimators on draws that the study `peers` made; for a Python that has it.

GLIDE wants a newer Python than this project, so this file is run by another one and imports
nothing of the project. It reads one JSON object: labels and predictions of all rows, the level,
and draws, each with the estimator that is to look at it. It writes a JSON list: an interval a
draw, as value, low and high, or null where GLIDE refuses the draw.
"""

import json
import sys
from importlib.metadata import version

import numpy as np
from glide.estimators import (  # type: ignore[import-not-found]
    ASIMeanEstimator,
    PPIMeanEstimator,
    StratifiedPPIMeanEstimator,
)


def main() -> None:
    asked = json.load(sys.stdin)
    y, f = np.asarray(asked["y"], float), np.asarray(asked["f"], float)
    found = [_measure(y, f, draw, asked["level"]) for draw in asked["draws"]]
    json.dump({"version": version("glide-py"), "intervals": found}, sys.stdout)


def _measure(y: np.ndarray, f: np.ndarray, draw: dict, level: float) -> list[float] | None:
    seen = np.full(len(y), np.nan)
    seen[draw["rows"]] = y[draw["rows"]]
    estimator, more = PPIMeanEstimator(), ()
    if draw["strata"] is not None:
        estimator, more = StratifiedPPIMeanEstimator(), (np.asarray(draw["strata"]),)
    if draw["chance"] is not None:
        estimator, more = ASIMeanEstimator(), (np.asarray(draw["chance"]),)
    try:
        found = estimator.estimate(seen, f, *more, confidence_level=level)
    except ValueError:  # labels that are all alike, of one stratum maybe
        return None
    ends = found.confidence_interval
    return [float(ends.mean), float(ends.lower_bound), float(ends.upper_bound)]


if __name__ == "__main__":
    main()
