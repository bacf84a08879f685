"""Estimands by name, with what a person should be told of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labelwise.errors import InvalidInput
from labelwise.estimands.base import AbstractQuadraticEstimand
from labelwise.estimands.loss import MeanSquaredError
from labelwise.estimands.outcome import MeanOutcome


@dataclass(frozen=True)
class Entry:
    """An estimand that can be asked for by name."""

    title: str
    build: Callable[[Any, Any, Any], AbstractQuadraticEstimand]  # x, prediction, mass
    needs_prediction: bool
    low: float | None = None  # the smallest value it can have
    high: float | None = None


ESTIMANDS: dict[str, Entry] = {
    "mse": Entry(
        title="mean squared error",
        build=lambda x, prediction, mass: MeanSquaredError(x, prediction, mass),
        needs_prediction=True,
        low=0.0,
    ),
    "mean": Entry(
        title="mean outcome",
        build=lambda x, prediction, mass: MeanOutcome(x, mass),
        needs_prediction=False,
    ),
}


def find_estimand(name: Any) -> Entry:
    """The entry of this name."""
    if not isinstance(name, str) or name not in ESTIMANDS:
        raise InvalidInput(
            f"There is no estimand {name!r}; choose from {', '.join(ESTIMANDS)}."
        )
    return ESTIMANDS[name]
