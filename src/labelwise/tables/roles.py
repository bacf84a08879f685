"""Which column plays which part."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Columns:
    """Names of columns; every other shared column is a feature unless features are named."""

    id: str
    label: str
    prediction: str | None = None  # output of the predictor under evaluation
    weight: str | None = None  # of a target row in the population
    cost: str | None = None  # of labelling a pool row
    features: tuple[str, ...] = ()

    def roles(self) -> set[str]:
        """Columns that are not features."""
        named = (self.id, self.label, self.prediction, self.weight, self.cost)
        return {name for name in named if name is not None}

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"features": list(self.features)}

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> "Columns":
        return Columns(**{**found, "features": tuple(found["features"])})
