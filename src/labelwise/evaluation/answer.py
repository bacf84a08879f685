"""One answer to one question: a number, how uncertain it is, and what that rests on."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from labelwise.errors import InvalidInput

LEVEL = 0.9  # of the interval that is shown unless another is asked for
LEVELS = (0.8, 0.9, 0.95, 0.99)  # at which any-time intervals are kept
HIGHEST = 0.99  # beyond it an interval would rest on a handful of draws
# Quantiles that an answer holds, from which any interval can be read.
GRID = np.concatenate([[0.005], np.linspace(0.01, 0.99, 99), [0.995]])
BELIEF, DESIGN, COMBINED = "belief", "design", "combined"
# In words.
RESTS_ON = {
    DESIGN: "drawn rows",
    BELIEF: "the belief",
    COMBINED: "the belief and drawn rows together",
}


@dataclass(frozen=True)
class Answer:
    """What the belief says, what rows drawn by chance say, or both together."""

    value: float
    std: float
    quantiles: tuple[float, ...]  # at GRID
    rests_on: str = BELIEF
    # Where drawn rows have a part in it:
    anytime: tuple[float, float] | None = None  # right at every look, at the usual level
    anytime_at: Mapping[str, list[float]] = field(default_factory=dict)  # at other levels
    draws: int = 0
    waiting: int = 0  # draws whose label has come, but not all earlier ones
    dropped: int = 0  # draws that failed or expired
    skipped: int = 0  # rows that cannot be labelled
    heavy: bool = False  # whether the spread rests on a few draws
    beyond: float = 0.0  # how far outside the estimand's range the draws' number was
    first_phase: float = 0.0  # part of the standard deviation: the pool is a sample

    @staticmethod
    def of_quantiles(quantiles: tuple[float, ...]) -> "Answer":
        """The belief's, where its draws have tails that would rule a mean and a spread."""
        low, middle, high = np.interp([0.15866, 0.5, 0.84134], GRID, quantiles)
        return Answer(float(middle), float(high - low) / 2.0, quantiles)

    def interval(self, level: Any = LEVEL) -> tuple[float, float]:
        """The central interval that holds the estimand with this probability."""
        check_level(level)
        tail = (1.0 - level) / 2.0
        low, high = np.interp([tail, 1.0 - tail], GRID, self.quantiles)
        return float(low), float(high)

    def to_dict(self) -> dict[str, Any]:
        """As JSON; of the belief's, what it has."""
        stored = asdict(self) | {
            "quantiles": list(self.quantiles),
            "interval": list(self.interval()),
            "anytime": None if self.anytime is None else list(self.anytime),
        }
        del stored["rests_on"]
        if self.rests_on != BELIEF:
            return stored
        kept = ("value", "std", "quantiles", "interval", "first_phase")
        return {key: stored[key] for key in kept}

    @staticmethod
    def from_dict(stored: Mapping[str, Any], rests_on: str) -> "Answer":
        known = {key: value for key, value in stored.items() if key in Answer.__annotations__}
        anytime = known.get("anytime")
        return Answer(
            **known
            | {
                "quantiles": tuple(stored["quantiles"]),
                "anytime": None if anytime is None else tuple(anytime),
                "rests_on": rests_on,
            }
        )


def check_level(level: Any) -> None:
    """Refuse what is not a probability."""
    if not isinstance(level, int | float) or not 0.0 < level <= HIGHEST:
        raise InvalidInput.must(
            "level", f"lie between 0 and {HIGHEST}, as 0.9 does", f"it is {level!r}"
        )


def quantiles_of(values: Any, low: float | None, high: float | None) -> tuple[float, ...]:
    """Quantiles of draws at GRID, kept inside the estimand's range."""
    quantiles = np.clip(np.quantile(np.asarray(values, float), GRID), low, high)
    return tuple(float(value) for value in quantiles)
