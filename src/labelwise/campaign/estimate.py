"""The answer of a campaign: one fixed shape, whatever stands behind it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.tables.texts import plain

LEVEL = 0.9  # of the interval that is shown unless another is asked for
HIGHEST = 0.99  # beyond it an interval would rest on a handful of draws
# Quantiles kept with a stored estimate, from which any interval can be read.
GRID = np.concatenate([[0.005], np.linspace(0.01, 0.99, 99), [0.995]])
RESTS_ON = {"design": "drawn rows", "belief": "the belief"}  # an answer, by its headline

BELIEF_ALONE = (
    "the interval is the belief's own: it is right if the belief is, and no rows were drawn by "
    "chance to check it"
)


@dataclass(frozen=True)
class Estimate:
    """What is known of the estimand.

    `value`, `std` and `interval` are the headline's: the answer from drawn rows (`design`)
    where there is one, which holds whatever the belief, or else the belief's own (`credible`).
    Both have value, std, quantiles and the usual interval.
    """

    estimand: str  # its name
    title: str  # its name, in words
    quantity: str  # which number exactly
    value: float
    std: float
    quantiles: tuple[float, ...]  # at GRID
    initial: int  # labels from the start
    bought: int  # labels from asked rows
    belief: dict[str, Any]  # the prior and its hyper-parameters
    warnings: tuple[str, ...]
    headline: str = "belief"  # or "design"
    why: str = BELIEF_ALONE  # this one is shown first
    credible: dict[str, Any] | None = None
    design: dict[str, Any] | None = None
    beats: float | None = None  # chance that the first of two models is the better one
    parts: tuple["Estimate", ...] = ()  # further answers: other estimands, groups, models

    def interval(self, level: Any = LEVEL) -> tuple[float, float]:
        """The central interval that holds the estimand with this probability."""
        return interval_of({"quantiles": self.quantiles}, level)

    @property
    def labels(self) -> int:
        return self.initial + self.bought

    def to_dict(self) -> dict[str, Any]:
        """The same keys always, JSON throughout."""
        return {
            "estimand": self.estimand,
            "title": self.title,
            "quantity": self.quantity,
            "value": self.value,
            "std": self.std,
            "level": LEVEL,
            "interval": list(self.interval()),
            "probabilities": [float(level) for level in GRID],
            "quantiles": list(self.quantiles),
            "labels": {"initial": self.initial, "bought": self.bought, "total": self.labels},
            "headline": self.headline,
            "why": self.why,
            "credible": self.credible,
            "design": self.design,
            "belief": self.belief,
            "warnings": list(self.warnings),
            "beats": self.beats,
            "parts": [part.to_dict() for part in self.parts],
        }

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> "Estimate":
        return Estimate(
            estimand=found["estimand"],
            title=found["title"],
            quantity=found["quantity"],
            value=found["value"],
            std=found["std"],
            quantiles=tuple(found["quantiles"]),
            initial=found["labels"]["initial"],
            bought=found["labels"]["bought"],
            belief=found["belief"],
            warnings=tuple(found["warnings"]),
            headline=found["headline"],
            why=found.get("why", BELIEF_ALONE),
            credible=found.get("credible"),
            design=found["design"],
            beats=found.get("beats"),
            parts=tuple(Estimate.from_dict(part) for part in found.get("parts", ())),
        )

    @property
    def line(self) -> str:
        """The answer in one line."""
        low, high = self.interval()
        line = (
            f"{self.title}: {plain(self.value)} ± {plain(self.std, 2)}, "
            f"{100 * LEVEL:.0f} % interval {plain(low)} to {plain(high)}"
        )
        if self.beats is None:
            return line
        return f"{line}; the first is better with chance {self.beats:.2f}, by the belief"

    @property
    def basis(self) -> tuple[str, str]:
        """What the answer rests on, in two lines."""
        return (
            f"from {self.labels} labels ({self.initial} from the start, {self.bought} bought); "
            f"{self.quantity}",
            self.why,
        )

    @property
    def second(self) -> dict[str, Any] | None:
        """The answer that is not the headline."""
        return {"design": self.credible, "belief": self.design}[self.headline]

    @property
    def other(self) -> str | None:
        """The answer that is not the headline, in one line."""
        return self.other_at(LEVEL)

    def other_at(self, level: Any) -> str | None:
        """The same, with its interval at some level."""
        if self.second is None:
            return None
        name = RESTS_ON["belief" if self.headline == "design" else "design"]
        low, high = interval_of(self.second, level)
        return (
            f"by {name} alone: {plain(self.second['value'])} ± "
            f"{plain(self.second['std'], 2)}, {100 * level:g} % interval {plain(low)} to "
            f"{plain(high)}"
        )

    @property
    def anytime(self) -> tuple[float, float] | None:
        """From drawn rows, at the usual level: the interval that is right at every look."""
        found = None if self.design is None else self.design.get("anytime")
        return None if found is None else (found[0], found[1])

    def __str__(self) -> str:
        lines = [
            self.line,
            *([] if self.other is None else [self.other]),
            *(part.line for part in self.parts),
            *self.basis,
        ]
        return "\n".join(lines + [f"warning: {warning}" for warning in self.warnings])


def as_answer(value: float, std: float, quantiles: Any) -> dict[str, Any]:
    """One of the two answers, as an estimate carries it."""
    found = {"value": value, "std": std, "quantiles": list(quantiles)}
    return found | {"interval": list(interval_of(found))}


def interval_of(answer: Mapping[str, Any], level: Any = LEVEL) -> tuple[float, float]:
    """The central interval of an answer, read from its quantiles."""
    check_level(level)
    tail = (1.0 - level) / 2.0
    low, high = np.interp([tail, 1.0 - tail], GRID, answer["quantiles"])
    return float(low), float(high)


def check_level(level: Any) -> None:
    """Refuse what is not a probability."""
    if not isinstance(level, int | float) or not 0.0 < level <= HIGHEST:
        raise InvalidInput.must(
            "level", f"lie between 0 and {HIGHEST}, as 0.9 does", f"it is {level!r}"
        )


def quantiles_of(values: Any, low: float | None, high: float | None) -> tuple[float, ...]:
    """Quantiles of draws at GRID, kept inside the estimand's range."""
    found = np.clip(np.quantile(np.asarray(values, float), GRID), low, high)
    return tuple(float(value) for value in found)
