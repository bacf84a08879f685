"""The parts of a specification, from what a user gives: in full or in short, then completed.

`as_…` read what is given; `complete_…` take and check every choice that the tables leave open.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.named import are_binary
from labelwise.errors import InvalidInput
from labelwise.evaluation.data import as_groups
from labelwise.evaluation.history import check_own_output, is_expected_by_others
from labelwise.evaluation.one_table import check_tables
from labelwise.evaluation.question import Inquiry, group_values
from labelwise.evaluation.spec import Limits, Question, Sampling, Tables, is_binary, read_part
from labelwise.evaluation.stop import read_stop
from labelwise.evaluation.survey import check_sampling
from labelwise.evaluation.treatment import make_assignment
from labelwise.inputs import as_count, as_positive
from labelwise.names import CLASSIFIER, DRAWS
from labelwise.own_code import is_path
from labelwise.policies.registry import describe_policy
from labelwise.tables.cells import read_numbers
from labelwise.tables.columns import Columns
from labelwise.tables.headers import is_one_table
from labelwise.tables.text import listed
from labelwise.tables.words import MOST_CLASSES

Part = TypeVar("Part")
MOST_DAYS = 36_500  # that a row may be out
# Policies that weigh gains against prices; the others know only a limit.
PRICED = ("lookahead", "uncertainty-sequential", "integrated-variance")
SCALES = ("linear", "log")
PATTERNS = ("history", "draws", "text", "embedding", "show")  # mostly one name or pattern
MOST_SHOWN = 10  # classes of an example
FEWEST = 2  # labels of numbers from which their unit can be told
FEWEST_SAMPLED = 1000  # rows of a first phase, so that each of its strata has some


def as_part(kind: type[Part], given: Any, name: str) -> Part:
    """Read a part, or in short its first field: the estimand, the policy, or the budget."""
    if given is None:
        return kind()
    return read_part(kind, given, name) if isinstance(given, kind | Mapping) else kind(given)  # type: ignore[operator,call-arg]


def as_tables(given: Any) -> Tables:
    """Read tables, a mapping of them, labelled, pool and target in this order, or one table."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        if not 2 <= len(given) <= 3:
            raise InvalidInput.must(
                "tables", "be labelled, pool and perhaps target", f"there are {len(given)}"
            )
        return check_tables(Tables(*given))
    if is_one_table(given):
        return Tables(table=given)
    return check_tables(read_part(Tables, given, "tables"))


def as_columns(given: Any, question: Question) -> Columns:
    """Read columns, with those of the two models that a question compares."""
    columns = read_part(Columns, given, "columns")
    inside = columns.predictor_in_belief
    if not isinstance(inside, bool):  # a text such as "no" would count as yes
        raise InvalidInput.must("predictor_in_belief", "be true or false", f"it is {inside!r}")
    columns = replace(
        columns,
        features=_as_names("features", columns.features),
        categorical=_as_names("categorical", columns.categorical),
        **{name: _as_names(name, _one_or_more(columns, name)) for name in PATTERNS},
        classes=_as_names("classes", columns.classes),
        label_range=_as_range(columns.label_range),
    )
    if isinstance(columns.prediction, list | tuple):
        columns = replace(columns, prediction=_as_names("prediction", columns.prediction))
    if question.compare is None:
        return columns
    models = [] if isinstance(question.compare, str) else list(question.compare)
    if len(models) != 2:
        raise InvalidInput.must(
            "compare", "name the columns of two models", f"it is {question.compare!r}"
        )
    if columns.prediction is not None:
        raise InvalidInput(
            "Name the models by prediction or by compare, not both",
            "compare names two",
            where="compare",
        )
    return replace(columns, prediction=models[0], versus=models[1])


def _one_or_more(columns: Columns, name: str) -> Any:
    given = getattr(columns, name)
    return [given] if isinstance(given, str) else given


def _as_names(what: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable | None):
        raise InvalidInput.must(what, "be a list of column names", f"it is {names!r}")
    return tuple(names or ())


def _as_range(bounds: Any) -> tuple[float | None, float | None] | None:
    if bounds is None:
        return None
    try:
        low, high = (None if end is None else float(end) for end in bounds)
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


def complete_question(question: Question, columns: Columns, target: pd.DataFrame) -> Question:
    """Add the groups that the target has, and an estimand."""
    by = _as_names("by", [question.by] if isinstance(question.by, str) else question.by)
    for column in by:
        if column not in target:
            raise InvalidInput(
                f"The target table has no column {column!r} to group by",
                f"name one that it has: {listed(target.columns)}",
                where="by",
            )
    if question.scale not in SCALES:
        raise InvalidInput.must("scale", "be linear or log", f"it is {question.scale!r}")
    question = replace(
        question,
        estimand=_usual(columns) if question.estimand is None else question.estimand,
        by=by,
        groups={column: group_values(column, as_groups(target[column])) for column in by},
    )
    inquiry = Inquiry.of_parts(question, columns)
    check_own_output(inquiry, columns)
    _check_treatments(inquiry, columns, target)
    return replace(question, estimand=inquiry.names)


def _usual(columns: Columns) -> str:
    """What is asked for where nobody says."""
    if columns.treatment is not None:
        return "ate"
    if is_expected_by_others(columns):
        return "mean"
    if not columns.classes:
        return "mse"
    return "positive-rate" if not (columns.prediction or columns.several) else "accuracy"


def _check_treatments(inquiry: Inquiry, columns: Columns, target: pd.DataFrame) -> None:
    """Effects are on both treatments of each target row, other estimands on the rows."""
    effects = [quantity.metric.is_effect for quantity in inquiry.questions]
    for quantity, is_effect in zip(inquiry.questions, effects, strict=True):
        if is_effect and columns.treatment is None:
            raise InvalidInput(
                f"The estimand {quantity.name!r} needs treatments",
                "name the treatment column, as --treatment z",
                where="treatment",
            )
        if quantity.name != "ate" and not _treatment_known(columns, target):
            raise InvalidInput(
                f"The estimand {quantity.name!r} needs to know who of the target is treated",
                f"fill in the column {columns.treatment!r} of the target",
                where=f"target.{columns.treatment}",
            )
    if any(effects) and not all(effects):
        other = inquiry.questions[effects.index(False)].name
        raise InvalidInput(
            f"An effect and {other!r} cannot be asked for in one campaign",
            "make one for each",
            where="estimand",
        )


def _treatment_known(columns: Columns, target: pd.DataFrame) -> bool:
    """Whether every target row says how it is treated, where there are treatments."""
    if columns.treatment is None:
        return True
    if columns.treatment not in target:
        return False
    treatments = read_numbers(target, columns.treatment, "target", missing=True)
    return not np.isnan(treatments).any()


def complete_sampling(sampling: Sampling, columns: Columns, pool: pd.DataFrame) -> Sampling:
    """Chance chooses, unless the choice is weighed against a price or a treatment."""
    policy = describe_policy(sampling.policy)
    if sampling.price is not None and policy["name"] not in PRICED:
        raise InvalidInput(
            f"The policy {policy['name']!r} does not weigh prices",
            f"use {' or '.join(PRICED)}, or spend instead of price",
            where="price",
        )
    sampling = check_sizes(check_sampling(sampling))
    assignment = make_assignment(sampling.assign, columns, pool)
    planned = assignment is not None and assignment["mode"] == "planned"
    by = None if sampling.price is not None or planned else sampling.by
    # Random rows have equal probabilities, whatever is predicted of them.
    by = "policy" if by is not None and policy["name"] == "random" else by
    return replace(
        sampling,
        policy=policy,
        by=by,
        batch=as_count("batch", sampling.batch),
        assign=assignment,
        spend=_as_money("spend", sampling.spend, columns),
        price=_as_money("price", sampling.price, columns),
    )


def check_sizes(sampling: Sampling) -> Sampling:
    """Check how large a pool may be, and how large a sample of it."""
    return replace(
        sampling,
        whole=as_count("whole", sampling.whole),
        sample=as_count("sample", sampling.sample, least=FEWEST_SAMPLED),
    )


def _as_money(name: str, amount: Any, columns: Columns) -> float | None:
    if amount is not None and columns.cost is None:
        raise InvalidInput(
            f"{name} needs what each row costs", "name the cost column", where=name
        )
    return None if amount is None else as_positive(name, amount)


def complete_limits(limits: Limits) -> Limits:
    """Check limits and bring them into the form that is stored."""
    never = limits.expiry_days in (None, "none")
    rule = f"be a positive number of days up to {MOST_DAYS}, or None for never"
    days = None if never else as_positive("expiry_days", limits.expiry_days, MOST_DAYS, rule)
    return Limits(
        budget=None if limits.budget is None else as_count("budget", limits.budget),
        stop=read_stop(limits.stop),
        expiry_days=days,
    )


def as_seed(seed: Any) -> int:
    """Refuse what is not a whole number that every generator takes."""
    seed = as_count("seed", seed, least=0)
    if seed >= 2**32:
        raise InvalidInput.must("seed", "be less than 2**32", f"it is {seed}")
    return seed


def expects_binary(
    question: Question, columns: Columns, belief: Any, labels: np.ndarray
) -> bool:
    """Whether labels are 0 or 1: by those at hand, or before any by what is asked of them."""
    if columns.classes or len(labels):
        return (
            columns.several
            or len(columns.classes) == 2
            or (not columns.classes and are_binary(labels))
        )
    name = belief.get("name") if isinstance(belief, Mapping) else belief
    if name == CLASSIFIER or isinstance(belief, GaussianProcessClassifier):
        return True
    asked = replace(question, estimand=question.estimand or _usual(columns))
    questions = Inquiry.of_parts(asked, columns).questions
    return any(quantity.metric.labels == "binary" for quantity in questions)


def check_start(belief: Mapping[str, Any], columns: Columns, labels: np.ndarray) -> None:
    """Before labels a process knows their unit if they are classes, or by a model's output."""
    learnt = belief.get("prior") == "learnt" and columns.predictor_in_belief
    process = belief["name"] in ("gp", CLASSIFIER) and (is_binary(belief) or learnt)
    process |= belief["name"] == DRAWS and (is_binary(belief) or "noise" in belief)
    own = is_path(belief["name"]) and is_binary(belief) and not columns.several
    if own and len(labels) >= FEWEST and np.ptp(labels) == 0.0:
        raise InvalidInput(
            "A classifier cannot be fitted to labels that are all alike",
            "give labels of both classes, or the usual belief",
            where="labelled",
        )
    if len(labels) < FEWEST and not process and "fixed" not in belief:
        raise InvalidInput(
            f"There {'is 1 label' if len(labels) else 'are no labels'}, and the belief has "
            "nothing else to start from",
            f"give {FEWEST} labels, or the usual belief and a prediction column",
            where="labelled",
        )


def check_binary(
    inquiry: Inquiry, belief: Mapping[str, Any], labels: np.ndarray, column: str
) -> None:
    """Metrics of classifiers, and classifiers as beliefs, need labels that are 0 or 1."""
    needs = [
        quantity.name for quantity in inquiry.questions if quantity.metric.labels == "binary"
    ]
    for quantity in inquiry.questions:
        if quantity.metric.labels == "numbers" and is_binary(belief):
            raise InvalidInput(
                f"The estimand {quantity.name!r} is of labels that are numbers, but these are "
                "0 or 1",
                "use accuracy or brier",
                where="estimand",
            )
    what = f"The estimand {needs[0]!r}" if needs else "The belief"
    if (needs or is_binary(belief)) and not are_binary(labels):
        strange = next(label for label in labels if label not in (0.0, 1.0))
        raise InvalidInput(
            f"{what} needs labels that are 0 or 1, but the labelled table has {strange:g}",
            f"make {column!r} 1 where it counts and 0 elsewhere, {_named(labels)}or ask for a "
            "metric of numbers, such as mse (see `labelwise metrics`)",
            where=f"labelled.{column}",
        )


def _named(labels: np.ndarray) -> str:
    """How to say that numbers are classes, where they may be."""
    every = np.unique(labels)
    if len(every) > MOST_CLASSES or (every != np.round(every)).any():
        return ""
    named = ", ".join(f"{label:g}" for label in every[:MOST_SHOWN])
    return f"name all classes if these numbers are such (--set 'columns.classes=[{named}]'), "
