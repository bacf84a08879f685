"""What a campaign is to find out: estimands with their columns, groups and thresholds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.estimands.base import AbstractEstimand, LinearEstimand
from labelwise.estimands.catalogue import find_metric
from labelwise.estimands.combine import Combine, Several
from labelwise.estimands.comparison import difference
from labelwise.estimands.forms import build_estimand
from labelwise.estimands.metrics import Bounds, Metric, compared
from labelwise.estimands.own import check_own, path_of
from labelwise.evaluation.class_questions import (
    check_called,
    class_quantities,
    metric_of,
    title_of,
    whether_right,
)
from labelwise.evaluation.data import Arrays, make_arrays, thin_rows
from labelwise.evaluation.question_options import OPTIONS, check_options, option_of
from labelwise.evaluation.spec import Question, Spec
from labelwise.own_code import absolute, is_path
from labelwise.pools.first_phase import FirstPhase
from labelwise.tables.columns import Columns
from labelwise.tables.encoder import Encoder

MOST_GROUPS = 20  # more are hardly groups
# What the positive class is called matters to these.
OF_POSITIVES = ("recall", "precision", "f1", "positive-rate", "mean")


@dataclass(frozen=True)
class Quantity:
    """One number to be known."""

    name: str  # of the estimand
    prediction: str | None = None  # column of the model's output ...
    versus: str | None = None  # ... and of the model it is compared with
    threshold: float | None = None  # or the tolerance, or the quantile
    group: tuple[str, str] | None = None  # only target rows with this value in this column
    positive: str | None = None  # the class that counts as positive, where it has a name
    said: str | None = None  # of several classes: the one that the model says
    classes: tuple[str, ...] = ()  # of labels that are one of several

    @property
    def metric(self) -> Metric:
        """Of one model."""
        return metric_of(self) if self.classes else find_metric(self.name)

    @property
    def averaged(self) -> Metric:
        """What is averaged over rows: of two models, the first's less the second's."""
        return self.metric if self.versus is None else compared(self.metric)

    @property
    def models(self) -> tuple[str, ...]:
        """The columns of predictions that it needs."""
        return tuple(name for name in (self.prediction, self.versus) if name is not None)

    @property
    def title(self) -> str:
        """In words."""
        title = title_of(self) if self.classes else self.metric.title
        if self.positive is not None and not self.classes and self.name in OF_POSITIVES:
            named = {"positive-rate": "share", "mean": "mean"}.get(self.name, title)
            title = f"{named} of {self.positive}"
        if self.metric.option is not None:
            at = "" if self.metric.option == "tolerance" else " at"
            title += f"{at} {0.5 if self.threshold is None else self.threshold:g}"
        if self.versus is not None:
            title += f" of {self.prediction} minus that of {self.versus}"
        return title if self.group is None else f"{title}, {self.group[0]} = {self.group[1]}"

    def build(self, arrays: Arrays, rows: Any = slice(None), mass: Any = None) -> Any:
        """The estimand on some of the target's rows; of several classes, that plans go by."""
        if self.classes:
            return whether_right(self).build(arrays, rows, mass)
        each = [
            build_estimand(
                self.metric,
                arrays.target[rows],
                None if model is None else arrays.predictions[model][rows],
                self.threshold,
                mass,
                self._where(arrays, rows),
                arrays.treatment_column,
            )
            for model in self.models or (None,)
        ]
        return each[0] if len(each) == 1 else difference(*each)

    def shares(self, arrays: Arrays, rows: np.ndarray) -> np.ndarray:
        """How much each of these target rows, which stand for all, counts for."""
        if arrays.thin is None:
            mass = np.ones(len(rows)) if arrays.mass is None else arrays.mass[rows]
        else:
            mass = np.ones(len(rows)) if arrays.thin_mass is None else arrays.thin_mass
        where = self._where(arrays, rows)
        return mass if where is None else mass * where

    def check(self, arrays: Arrays) -> None:
        """Refuse what cannot be answered on this target."""
        where = self._where(arrays, slice(None))
        mass = np.ones(len(arrays.target)) if arrays.mass is None else arrays.mass
        if where is not None and not mass[where].any():
            raise InvalidInput(
                f"No target row that has weight counts for the {self.title}",
                "add some to the target, or ask for something else",
                where="target",
            )
        check_called(self, arrays.predictions, where)
        if ":" in self.name:
            for model in self.models:
                prediction = arrays.predictions[model]
                check_own(self.metric, np.resize(arrays.labels, len(prediction)), prediction)
        self.build(arrays, mass=arrays.mass)

    def bounds(self, low: float | None, high: float | None, arrays: Arrays) -> Bounds:
        """Between which values the answer lies, given those of a label."""
        where = self._where(arrays, slice(None))
        rows = slice(None) if where is None else where
        mass = None if arrays.mass is None else arrays.mass[rows]
        of = lambda prediction: self.metric.bounds(low, high, prediction, mass)
        each = [of(arrays.predictions[model][rows]) for model in self.models] or [of(None)]
        if len(each) == 1:
            return each[0]
        first, second = each
        if None in (*first, *second):
            return None, None
        return first[0] - second[1], first[1] - second[0]  # type: ignore[operator]

    def beats(self, draws: np.ndarray) -> float | None:
        """The chance that the first model is better than the second."""
        if self.versus is None or self.metric.better is None:
            return None
        return float(np.mean(draws < 0 if self.metric.better == "lower" else draws > 0))

    @property
    def restricted(self) -> bool:
        """Whether it is about some of the target only."""
        return self.group is not None or self.name == "att" or self.metric.known_whole

    def _where(self, arrays: Arrays, rows) -> np.ndarray | None:
        marks = []
        if self.group is not None:
            marks.append(arrays.groups[self.group[0]][rows] == self.group[1])
        if self.name == "att":
            marks.append(arrays.target[rows][:, arrays.treatment_column] == 1.0)
        return np.logical_and.reduce(marks) if marks else None


@dataclass(frozen=True)
class Inquiry:
    """All questions of a campaign, the first of them its headline, and how they are weighed."""

    questions: tuple[Quantity, ...]
    combine: Combine = "sum"

    @property
    def first(self) -> Quantity:
        return self.questions[0]

    def build(
        self, arrays: Arrays, rows: Any = slice(None), mass: Any = None
    ) -> AbstractEstimand:
        """What is planned for."""
        parts = [question.build(arrays, rows, mass) for question in self.questions]
        return parts[0] if len(parts) == 1 else Several(parts, combine=self.combine)

    @staticmethod
    def of(spec: Spec) -> "Inquiry":
        """All that a specification asks for."""
        return Inquiry.of_parts(spec.question, spec.columns)

    @staticmethod
    def of_parts(question: Question, columns: Columns) -> "Inquiry":
        if columns.several:
            return class_inquiry(question, columns)
        return make_inquiry(
            question.estimand,
            prediction=columns.prediction,
            versus=columns.versus,
            options={name: getattr(question, name) for name in OPTIONS},
            groups=question.groups,
            combine=question.combine,
            positive=_whose(columns),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Of the estimands, each once."""
        return tuple(dict.fromkeys(question.name for question in self.questions))

    def arrays(
        self,
        tables: dict[str, pd.DataFrame],
        spec: Spec,
        encoder: Encoder,
        target_rows: int | None = None,
        phase: FirstPhase | None = None,
    ) -> Arrays:
        """The tables as arrays, with the target rows that plans look at.

        A `phase` says how the pool's rows came into it, if they are a sample.
        """
        arrays = make_arrays(
            tables,
            spec.columns,
            encoder,
            spec.seed,
            {question.group[0] for question in self.questions if question.group is not None},
            spec.sampling.assign,
            target_rows,
            phase if spec.target == "pool" else None,
        )
        return self.thinned(arrays, spec.seed, target_rows)

    def thinned(self, arrays: Arrays, seed: int, target_rows: int | None = None) -> Arrays:
        """Arrays whose thin rows stand for every question's share of the target alike.

        A row is drawn with its mean share over the questions, and weighs the less for it.
        """
        if arrays.thin is None or not any(question.restricted for question in self.questions):
            return arrays
        rows = len(arrays.target)
        parts = [question.build(arrays, mass=arrays.mass) for question in self.questions]
        share = np.mean([_shares(part, rows) for part in parts], axis=0)
        thin = thin_rows(arrays.target, share, seed, target_rows)
        mass = np.ones(rows) if arrays.mass is None else arrays.mass
        return replace(arrays, thin=thin, thin_mass=mass[thin] / share[thin])


def _shares(part: AbstractEstimand, rows: int) -> np.ndarray:
    """How much of an estimand each target row stands for."""
    # An effect has every row twice, once a treatment.
    shares = np.asarray(part.mass).reshape(-1, rows).sum(axis=0)
    if not isinstance(part, LinearEstimand):
        return shares
    # Precision looks at the rows called positive alone, which may be few.
    slopes = np.abs(np.asarray(part.slope)).reshape(-1, rows).sum(axis=0)
    return (shares + slopes / max(slopes.sum(), 1e-300)) / 2.0


def make_inquiry(
    names: Any,
    *,
    prediction: str | None,
    versus: str | None = None,
    options: Mapping[str, Any] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    combine: Any = "sum",
    positive: str | None = None,
) -> Inquiry:
    """The questions that a user's words amount to: each estimand, over all and by group."""
    if combine not in get_args(Combine):
        raise InvalidInput.must("combine", "be 'sum' or 'worst'", f"it is {combine!r}")
    names = [names] if isinstance(names, str) or not isinstance(names, Sequence) else names
    if not names:
        raise InvalidInput("No estimand is named", "name at least one", where="estimand")
    names = [path_of(name) if callable(name) else name for name in names]
    names = [absolute(name) if is_path(name) else name for name in names]
    options = {name: value for name, value in (options or {}).items() if value is not None}
    each = [_question(name, prediction, versus, options) for name in names]
    questions = [replace(question, positive=positive) for question in each]
    check_options(options, [question.metric for question in questions])
    return with_groups(questions, groups, combine)


def _whose(columns: Columns) -> str | None:
    """What labels are of, where that has a name: the positive class, or two verdicts."""
    if columns.second_label is not None:
        return f"{columns.label} minus {columns.second_label}"
    return columns.positive if len(columns.classes) == 2 else None


def class_inquiry(question: Question, columns: Columns) -> Inquiry:
    """The questions about labels of several classes."""
    asked = question.estimand or "accuracy"
    names = [asked] if isinstance(asked, str) else list(asked)
    given = [name for name in OPTIONS if getattr(question, name) is not None]
    if given or columns.versus is not None:
        raise InvalidInput(
            f"Of several classes there is neither a {given[0] if given else 'threshold'} nor a "
            "comparison",
            "leave it out, or make a campaign for each model",
            where=given[0] if given else "compare",
        )
    return with_groups(class_quantities(names, columns), question.groups, question.combine)


def with_groups(
    questions: Sequence[Quantity], groups: Mapping[str, Sequence[str]] | None, combine: Any
) -> Inquiry:
    """Questions over all, and the same of each group."""
    grouped = [
        replace(question, group=(column, value))
        for question in questions
        for column, values in (groups or {}).items()
        for value in values
    ]
    both = (*questions, *grouped)
    if len(set(both)) < len(both):
        raise InvalidInput("An estimand is named twice", "name it once", where="estimand")
    return Inquiry(both, combine)


def _question(name, prediction, versus, options: Mapping[str, Any]) -> Quantity:
    metric = find_metric(name)
    of_model = metric.needs == "prediction"
    if of_model and prediction is None:
        raise InvalidInput(
            f"The estimand {name!r} needs predictions",
            "name the prediction column",
            where="prediction",
        )
    if versus is not None and not of_model:
        raise InvalidInput(
            f"Two models cannot be compared by {name!r}, which does not depend on a model",
            "use mse, accuracy or the like",
            where="compare",
        )
    if not of_model:
        return Quantity(name)
    if versus is not None and metric.labels == "numbers":
        raise InvalidInput(
            f"Two models cannot be compared by {name!r}", "use mae", where="compare"
        )
    return Quantity(name, prediction, versus, option_of(metric, options))


def group_values(column: str, values: np.ndarray) -> list[str]:
    """The groups that a column of the target makes, in order."""
    groups = sorted(set(values.tolist()))
    if len(groups) > MOST_GROUPS:
        raise InvalidInput(
            f"Column {column!r} has {len(groups)} values in the target, too many for groups",
            f"name one with at most {MOST_GROUPS}",
            where=f"target.{column}",
        )
    return groups
