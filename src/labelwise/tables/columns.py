"""Which column plays which part."""

from dataclasses import dataclass, field
from typing import Any

# Parts that a column can play, but for features.
ROLES = ("id", "label", "prediction", "versus", "treatment", "probability", "weight", "cost")


def told(help: str, *, needed: bool = False, **default: Any) -> Any:
    """Make a field that carries a line of help, its default, and whether it must be given."""
    return field(metadata={"help": help, "needed": needed}, **default)


@dataclass(frozen=True)
class Columns:
    """Names of columns; every other shared column is a feature unless features are named."""

    id: str = told("Column that names a row; default: its number in the table.", default="")
    label: str = told(
        "Column with the label: a number, or a class in words.", default="", needed=True
    )
    prediction: Any = told(
        "Column with the output of the model under evaluation; of several classes the class, "
        "or one column a class, such as p_*.",
        default=None,
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
    text: Any = told(
        "Features that are texts; default: those of several words a cell.", default=()
    )
    embedding: Any = told(
        "Columns of numbers that belong together, such as emb_*; lists of numbers do anyway.",
        default=(),
    )
    history: Any = told(
        "Columns with other models' results on the same rows, such as model_*.", default=()
    )
    draws: Any = told(
        "Columns with draws of a belief of your own, such as draw_*: each is what labels are "
        "expected to be in one draw (of 0/1 labels, the chance of a 1).",
        default=(),
    )
    missing: str = told(
        "Missing features: impute (with an indicator) or refuse.", default="impute"
    )
    positive: str | None = told(
        "The class that counts as positive, where labels are words.", default=None
    )
    classes: Any = told(
        "Classes in words, of two the positive one last; default: those that are there.",
        default=(),
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
    second_label: str | None = told(
        "Column with the verdict on a second model's answer, where two are judged a row.",
        default=None,
    )
    versus: str | None = None  # the second of two models that are compared
    derived: Any = ()  # columns that were made here, such as components of texts
    reduced: Any = ()  # texts that components stand for
    chances: Any = ()  # of several classes: what the model gives each
    called: str | None = None  # the class that the model gives a row, in words

    def roles(self) -> dict[str, str]:
        """The column of each part but the features, where it is named."""
        return {role: name for role in ROLES if (name := getattr(self, role)) not in (None, "")}

    @property
    def taken(self) -> set[str]:
        """Columns that have a part, and so are no features."""
        return {*self.roles().values(), *self.chances, *self.reduced}

    @property
    def several(self) -> bool:
        """Whether labels are of several classes, which are no numbers."""
        return self.called is not None

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The numbers between which a label lies."""
        low, high = self.label_range or (None, None)
        return low, high
