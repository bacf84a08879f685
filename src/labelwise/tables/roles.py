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
    versus: str | None = None  # output of a second predictor, to compare with
    treatment: str | None = None  # 0 or 1
    chance: str | None = None  # that a pool row will be treated

    def roles(self) -> set[str]:
        """Columns that are not features."""
        return {name for name in self.named() if name is not None}

    def named(self) -> tuple[str | None, ...]:
        """The column of each part but the features, if there is one."""
        models = (self.prediction, self.versus)
        trial = (self.treatment, self.chance)
        return (self.id, self.label, *models, self.weight, self.cost, *trial)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"features": list(self.features)}

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> "Columns":
        return Columns(**{**found, "features": tuple(found["features"])})
