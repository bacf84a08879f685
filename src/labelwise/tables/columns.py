"""Which column plays which part."""

from dataclasses import dataclass, field
from typing import Any

# Parts that a column can play, but for features.
ROLES = ("id", "label", "prediction", "versus", "treatment", "probability", "weight", "cost")


def told(help: str, **default: Any) -> Any:
    """Make a field that carries a line of help, with its default if it has one."""
    return field(metadata={"help": help}, **default)


@dataclass(frozen=True)
class Columns:
    """Names of columns; every other shared column is a feature unless features are named."""

    id: str = told("Column that names a row.")
    label: str = told("Column with the label, a number.")
    prediction: str | None = told(
        "Column with the output of the model under evaluation.", default=None
    )
    weight: str | None = told("Column with the weight of a target row.", default=None)
    cost: str | None = told("Column with the cost of labelling a row.", default=None)
    treatment: str | None = told(
        "Column with the treatment, 0 or 1 (for ate, att).", default=None
    )
    probability: str | None = told(
        "Column of the pool with each row's probability of treatment.", default=None
    )
    features: Any = told(
        "Feature columns; default: all others that the tables share.", default=()
    )
    categorical: Any = told("Features of numbers that name kinds.", default=())
    missing: str = told(
        "Missing features: impute (with an indicator) or refuse.", default="impute"
    )
    show: Any = told(
        "Columns that labellers see in a batch; default: all but predictions and numbered "
        "ones, ten or more of a kind, as of an embedding.",
        default=(),
    )
    label_range: Any = told("Smallest and largest label allowed; null: no bound.", default=None)
    predictor_in_belief: bool = told(
        "Whether the belief knows what the model says of a row, as a feature and in its "
        "mean (of probabilities, by their log-odds).",
        default=True,
    )
    versus: str | None = None  # the second of two models that are compared

    def roles(self) -> dict[str, str]:
        """The column of each part but the features, where it is named."""
        return {role: name for role in ROLES if (name := getattr(self, role)) is not None}

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The numbers between which a label lies."""
        low, high = self.label_range or (None, None)
        return low, high
