"""Estimands by name, with what a person should be told of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands.base import AbstractQuadraticEstimand
from labelwise.estimands.loss import MeanSquaredError
from labelwise.estimands.outcome import MeanOutcome

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class Entry:
    """An estimand that can be asked for by name."""

    title: str
    build: Callable[[Any, Any, Any], AbstractQuadraticEstimand]  # x, prediction, mass
    needs_prediction: bool
    # Between which values it lies: from the bounds of a label, the predictions and the mass.
    bounds: Callable[[float | None, float | None, Any, Any], Bounds]


def _largest_error(low, high, prediction, mass) -> float | None:
    """The mean squared error if every label were as far from its prediction as it can be."""
    if low is None or high is None:
        return None
    worst = np.maximum((prediction - low) ** 2, (prediction - high) ** 2)
    return float(np.average(worst, weights=mass))


ESTIMANDS: dict[str, Entry] = {
    "mse": Entry(
        title="mean squared error",
        build=lambda x, prediction, mass: MeanSquaredError(x, prediction, mass),
        needs_prediction=True,
        bounds=lambda low, high, prediction, mass: (
            0.0,
            _largest_error(low, high, prediction, mass),
        ),
    ),
    "mean": Entry(
        title="mean outcome",
        build=lambda x, prediction, mass: MeanOutcome(x, mass),
        needs_prediction=False,
        bounds=lambda low, high, prediction, mass: (low, high),
    ),
}


def find_estimand(name: Any) -> Entry:
    """The entry of this name."""
    if not isinstance(name, str) or name not in ESTIMANDS:
        raise InvalidInput(
            f"There is no estimand {name!r}; choose from {', '.join(ESTIMANDS)}."
        )
    return ESTIMANDS[name]
