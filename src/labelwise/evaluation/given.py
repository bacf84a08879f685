"""What a user gives, in full or in short, as parts of a specification."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Limits, Question, Sampling, Tables, read_part
from labelwise.tables.columns import Columns


def as_tables(given: Any) -> Tables:
    """Tables, a mapping of them, or labelled, pool and target in this order."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        if not 2 <= len(given) <= 3:
            raise InvalidInput.must(
                "tables", "be labelled, pool and perhaps target", f"there are {len(given)}"
            )
        return Tables(*given)
    return read_part(Tables, given, "tables")


def as_question(given: Any) -> Question:
    """A question, or in short one estimand or several."""
    if given is None or isinstance(given, str | list | tuple) or callable(given):
        return Question(given)
    return read_part(Question, given, "question")


def as_sampling(given: Any) -> Sampling:
    """Sampling, or in short its policy."""
    if given is None:
        return Sampling()
    is_part = isinstance(given, Sampling | Mapping)
    return read_part(Sampling, given, "sampling") if is_part else Sampling(given)


def as_limits(given: Any) -> Limits:
    """Limits, or in short the budget."""
    if given is None:
        return Limits()
    is_part = isinstance(given, Limits | Mapping)
    return read_part(Limits, given, "limits") if is_part else Limits(given)


def as_columns(given: Any) -> Columns:
    columns = read_part(Columns, given, "columns")
    return replace(
        columns,
        features=as_names("features", columns.features),
        categorical=as_names("categorical", columns.categorical),
        label_range=_label_range(columns.label_range),
    )


def as_names(what: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable | None):
        raise InvalidInput.must(what, "be a list of column names", f"it is {names!r}")
    return tuple(names or ())


def _label_range(bounds: Any) -> tuple[float | None, float | None] | None:
    if bounds is None:
        return None
    try:
        low, high = (None if one is None else float(one) for one in bounds)
        if isinstance(bounds, str) or not np.isfinite([low or 0.0, high or 0.0]).all():
            raise ValueError
    except (TypeError, ValueError):
        raise InvalidInput.must(
            "label_range",
            "be a pair of numbers (low, high), None for no bound",
            f"it is {bounds!r}",
        ) from None
    if low is not None and high is not None and not low < high:
        raise InvalidInput.must("label_range", "go from low to high", f"it is {bounds!r}")
    return None if low is None and high is None else (low, high)


def with_models(columns: Columns, question: Question) -> Columns:
    """The column of the model under evaluation, and of the one it is compared with."""
    if question.compare is None:
        return columns
    both = [] if isinstance(question.compare, str) else list(question.compare)
    if len(both) != 2:
        raise InvalidInput.must(
            "compare", "name the columns of two models", f"it is {question.compare!r}"
        )
    if columns.prediction is not None:
        raise InvalidInput(
            "Name the models by prediction or by compare, not both",
            "compare names two",
            where="compare",
        )
    return replace(columns, prediction=both[0], versus=both[1])
