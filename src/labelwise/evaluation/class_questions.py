"""Questions about labels of several classes, and the one that they are planned by."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands.class_metrics import (
    NAMES,
    OF_CHANCES,
    OF_EACH,
    called,
    class_metric,
)
from labelwise.names import ESTIMANDS, OF_CLASSES
from labelwise.tables.columns import Columns
from labelwise.tables.numbers import as_numbers
from labelwise.tables.verdicts import ASKED

if TYPE_CHECKING:
    from labelwise.evaluation.question import Inquiry, Quantity

MOST_CONFUSED = 10  # classes of a table of who is called what
NUMBERS = ("mse", "mae", "bias", "r2", "mean")  # asked of classes that are numbers


def are_asked(names: object) -> bool:
    """Whether some estimand is of classes, be they numbers."""
    return any(name in OF_CLASSES for name in _each(names))


def is_confusion(names: object) -> bool:
    """Whether every pair of classes is asked for, be there only two."""
    return "confusion" in _each(names)


def _each(names: object) -> Sequence[object]:
    return [names] if isinstance(names, str) else names if isinstance(names, Sequence) else []


def class_quantities(names: Sequence[str], columns: Columns) -> list["Quantity"]:
    """What is asked for: some of every class, some of every pair of classes."""
    from labelwise.evaluation.question import Quantity

    found = []
    for name in names:
        _check(name, columns)
        whole = Quantity(name, columns.prediction, classes=tuple(columns.classes))
        every = columns.classes if name in (*OF_EACH, "confusion") else [None]
        said = columns.classes if name == "confusion" else [None]
        found += [replace(whole, positive=of, said=one) for of in every for one in said]
    return found


def _check(name: str, columns: Columns) -> None:
    of_verdicts = columns.second_label is not None
    if name in ASKED and of_verdicts:
        return
    if name not in NAMES or of_verdicts:
        raise InvalidInput(
            f"The estimand {name!r} is not of labels of {len(columns.classes)} classes",
            _instead(name, columns),
            where="estimand",
        )
    if name in OF_CHANCES and not columns.chances:
        raise InvalidInput(
            f"The estimand {name!r} needs a chance for every class",
            "name one column a class as the prediction, such as p_*",
            where="prediction",
        )
    if name == "confusion" and len(columns.classes) > MOST_CONFUSED:
        raise InvalidInput(
            f"A confusion matrix of {len(columns.classes)} classes has "
            f"{len(columns.classes) ** 2} numbers",
            "ask for recall and precision of each class instead",
            where="estimand",
        )


def check_called(question: "Quantity", predictions: Any, where: Any) -> None:
    """Refuse the precision of a class that no row is called: it is of nobody."""
    if question.name != "precision" or not question.classes or question.positive is None:
        return
    chances = predictions[question.prediction][slice(None) if where is None else where]
    if not (called(chances) == question.classes.index(question.positive)).any():
        raise InvalidInput(
            f"The model calls no row {question.positive!r}, so there is no {question.title}",
            "ask for macro-precision, which counts it as 0, or for f1 of every class",
            where="estimand",
        )


def _instead(name: str, columns: Columns) -> str:
    """What to do for an estimand that several classes have not."""
    if name in NUMBERS and not np.isnan(as_numbers(columns.classes)).any():
        return "ask for it in a campaign of its own, where labels are numbers"
    if len(columns.classes) == 2 and name in ESTIMANDS:
        score = columns.chances[-1] if columns.chances else "the score"
        return f"leave out confusion, and name one column as the prediction ({score})"
    return f"choose from {', '.join(NAMES)}"


def metric_of(question: "Quantity"):
    """The metric of a question about several classes."""
    place = lambda word: 0 if word is None else question.classes.index(word)
    size = len(question.classes)
    return class_metric(question.name, size, place(question.positive), place(question.said))


def title_of(question: "Quantity") -> str:
    title = metric_of(question).title
    of = "" if question.said else "of "  # a share that is this and is called that
    title += "" if question.positive is None else f" {of}{question.positive}"
    return title if question.said is None else f"{title} and is called {question.said}"


def whether_right(question: "Quantity") -> "Quantity":
    """How often the model is right, on the same rows: what such questions are planned by."""
    return replace(
        question, name="positive-rate", prediction=None, positive=None, said=None, classes=()
    )


def planned_by(inquiry: "Inquiry") -> "Inquiry":
    """The same inquiry of labels that say whether the model is right."""
    every = dict.fromkeys(whether_right(question) for question in inquiry.questions)
    return replace(inquiry, questions=tuple(every))
