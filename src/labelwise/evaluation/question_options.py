"""Options that some metrics depend on: threshold, tolerance and quantile."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands.metrics import Metric
from labelwise.tables.text import listed, plain

# By name, who asks for it.
OPTIONS = {
    "threshold": "accuracy, recall or the like",
    "tolerance": "within",
    "quantile": "quantile-loss",
}


def check_options(options: Mapping[str, Any], metrics: Sequence[Metric]) -> None:
    """Refuse an option that none of these metrics depends on."""
    for name in options:
        if not any(metric.option == name for metric in metrics):
            raise InvalidInput(
                f"A {name} does not matter to {listed([metric.name for metric in metrics])}",
                f"leave it out, or ask for {OPTIONS[name]}",
                where=name,
            )


def option_of(metric: Metric, options: Mapping[str, Any]) -> float | None:
    """The number that the metric depends on; None if it has none, or its usual one."""
    name = metric.option
    if name is None or (name not in options and name != "tolerance"):
        return None
    if name not in options:
        raise InvalidInput(
            f"The estimand {metric.name!r} needs a tolerance",
            "say how far a label may be off: tolerance=0.5, or --set question.tolerance=0.5",
            where="tolerance",
        )
    number = options[name]
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise InvalidInput.must(name, "be a number", f"it is {number!r}")
    if not np.isfinite(number):
        raise InvalidInput.must(name, "be finite", f"it is {number!r}")
    if name == "tolerance" and number < 0.0:
        raise InvalidInput.must(name, "not be negative", f"it is {number!r}")
    if name == "quantile" and not 0.0 < number < 1.0:
        raise InvalidInput.must(name, "lie between 0 and 1", f"it is {number!r}")
    return float(number)


def threshold_notes(
    metrics: Sequence[Metric], options: Mapping[str, Any], scores: Mapping[str, np.ndarray]
) -> list[str]:
    """Say so where scores that are no probabilities are cut at one half, as nobody chose."""
    cut = any(metric.thresholded for metric in metrics) and options.get("threshold") is None
    return [
        f"Column {name!r} goes from {plain(values.min(), 3)} to {plain(values.max(), 3)} and "
        "holds no probabilities: rows are called positive from 0.5 on, as no --threshold was "
        "given."
        for name, values in scores.items()
        if cut and (values.min() < 0.0 or values.max() > 1.0)
    ]
