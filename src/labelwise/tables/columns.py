"""Which column plays which part."""

from dataclasses import dataclass, field
from typing import Any


def told(help: str) -> dict[str, str]:
    """A line of help that a field carries."""
    return {"help": help}


@dataclass(frozen=True)
class Columns:
    """Names of columns; every other shared column is a feature unless features are named."""

    id: str = field(metadata=told("Column that names a row."))
    label: str = field(metadata=told("Column with the label, a number."))
    prediction: str | None = field(
        default=None, metadata=told("Column with the output of the model under evaluation.")
    )
    weight: str | None = field(
        default=None, metadata=told("Column with the weight of a target row.")
    )
    cost: str | None = field(
        default=None, metadata=told("Column with the cost of labelling a row.")
    )
    treatment: str | None = field(
        default=None, metadata=told("Column with the treatment, 0 or 1 (for ate, att).")
    )
    probability: str | None = field(
        default=None,
        metadata=told("Column of the pool with each row's probability of treatment."),
    )
    features: Any = field(
        default=(), metadata=told("Feature columns; default: all others that the tables share.")
    )
    categorical: Any = field(default=(), metadata=told("Features of numbers that name kinds."))
    missing: str = field(
        default="impute",
        metadata=told("Missing features: impute (with an indicator) or refuse."),
    )
    label_range: Any = field(
        default=None, metadata=told("Smallest and largest label allowed; null: no bound.")
    )
    predictor_in_belief: bool = field(
        default=True,
        metadata=told(
            "Whether the belief knows what the model says of a row, as a feature and in its "
            "mean (of probabilities, by their log-odds)."
        ),
    )
    versus: str | None = field(default=None)  # the second of two models that are compared

    def roles(self) -> set[str]:
        """Columns that are not features."""
        return {name for name in self.named() if name is not None}

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Between which numbers a label lies."""
        low, high = self.label_range or (None, None)
        return low, high

    def named(self) -> tuple[str | None, ...]:
        """The column of each part but the features, if there is one."""
        models = (self.prediction, self.versus)
        trial = (self.treatment, self.probability)
        return (self.id, self.label, *models, self.weight, self.cost, *trial)
