"""Parts made complete: every choice that the tables leave open is taken and checked."""

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from labelwise.beliefs.named import are_binary
from labelwise.errors import InvalidInput
from labelwise.evaluation.belief_options import is_binary
from labelwise.evaluation.data import as_groups
from labelwise.evaluation.given import as_names
from labelwise.evaluation.question import Inquiry, group_values
from labelwise.evaluation.spec import Limits, Question, Sampling
from labelwise.evaluation.stop import read_stop
from labelwise.evaluation.survey import check_sampling
from labelwise.evaluation.treatment import make_assignment
from labelwise.inputs import as_count
from labelwise.policies.registry import describe_policy
from labelwise.tables.cells import (
    read_numbers,
)
from labelwise.tables.columns import Columns
from labelwise.tables.text import listed

MOST_DAYS = 36_500  # that a row may be out
# Policies that weigh gains against prices; the others know only a limit.
PRICED = ("lookahead", "uncertainty-sequential", "integrated-variance")
SCALES = ("linear", "log")


def resolve_question(question: Question, columns: Columns, target: pd.DataFrame) -> Question:
    """With the groups that the target has, and an estimand."""
    by = as_names("by", [question.by] if isinstance(question.by, str) else question.by)
    for column in by:
        if column not in target:
            raise InvalidInput(
                f"The target table has no column {column!r} to group by",
                f"name one that it has: {listed(target.columns)}",
                where="by",
            )
    if question.scale not in SCALES:
        raise InvalidInput.must("scale", "be linear or log", f"it is {question.scale!r}")
    usual = "mse" if columns.treatment is None else "ate"
    question = replace(
        question,
        estimand=usual if question.estimand is None else question.estimand,
        by=by,
        groups={column: group_values(column, as_groups(target[column])) for column in by},
    )
    inquiry = Inquiry.of_parts(question, columns)
    for one in inquiry.questions:
        if one.entry.needs == "treatment" and columns.treatment is None:
            raise InvalidInput(
                f"The estimand {one.name!r} needs treatments",
                "name the treatment column",
                where="treatment",
            )
        if one.name != "ate" and not _treatment_known(columns, target):
            raise InvalidInput(
                f"The estimand {one.name!r} needs to know who of the target is treated",
                f"fill in the column {columns.treatment!r} of the target",
                where=f"target.{columns.treatment}",
            )
    _check_one_kind(inquiry)
    return replace(question, estimand=inquiry.names)


def _treatment_known(columns: Columns, target: pd.DataFrame) -> bool:
    """Whether every target row says how it is treated, where there are treatments."""
    if columns.treatment is None:
        return True
    if columns.treatment not in target:
        return False
    found = read_numbers(target, columns.treatment, "target", missing=True)
    return not np.isnan(found).any()


def _check_one_kind(inquiry: Inquiry) -> None:
    """Effects are on both treatments of each target row, other estimands on the rows."""
    effects = [one.entry.needs == "treatment" for one in inquiry.questions]
    if any(effects) and not all(effects):
        other = inquiry.questions[effects.index(False)].name
        raise InvalidInput(
            f"An effect and {other!r} cannot be asked for in one campaign",
            "make one for each",
            where="estimand",
        )


def resolve_sampling(sampling: Sampling, columns: Columns, pool: pd.DataFrame) -> Sampling:
    """Chance chooses, unless the choice is weighed against a price or a treatment."""
    policy = describe_policy(sampling.policy)
    if sampling.price is not None and policy["name"] not in PRICED:
        raise InvalidInput(
            f"The policy {policy['name']!r} does not weigh prices",
            f"use {' or '.join(PRICED)}, or spend instead of price",
            where="price",
        )
    sampling = check_sampling(sampling)
    assignment = make_assignment(sampling.assign, columns, pool)
    planned = assignment is not None and assignment["mode"] == "planned"
    by = None if sampling.price is not None or planned else sampling.by
    # Random rows have equal probabilities, whatever is foreseen of them.
    by = "policy" if by is not None and policy["name"] == "random" else by
    return replace(
        sampling,
        policy=policy,
        by=by,
        batch=as_count("batch", sampling.batch),
        assign=assignment,
        spend=_money("spend", sampling.spend, columns),
        price=_money("price", sampling.price, columns),
    )


def _money(name: str, amount: Any, columns: Columns) -> float | None:
    if amount is None:
        return None
    if columns.cost is None:
        raise InvalidInput(
            f"{name} needs what each row costs", "name the cost column", where=name
        )
    if isinstance(amount, bool) or not isinstance(amount, Real):
        raise InvalidInput.must(name, "be a positive number", f"it is {amount!r}")
    if not 0.0 < float(amount) < np.inf:
        raise InvalidInput.must(name, "be a positive number", f"it is {amount!r}")
    return float(amount)


def resolve_limits(limits: Limits) -> Limits:
    return Limits(
        budget=None if limits.budget is None else as_count("budget", limits.budget),
        stop=read_stop(limits.stop),
        expiry_days=_expiry(limits.expiry_days),
    )


def _expiry(days: Any) -> float | None:
    if days is None or days == "none":
        return None
    if (
        isinstance(days, bool)
        or not isinstance(days, Real)
        or not 0.0 < float(days) <= MOST_DAYS
    ):
        raise InvalidInput.must(
            "expiry_days",
            f"be a positive number of days up to {MOST_DAYS}, or None for never",
            f"it is {days!r}",
        )
    return float(days)


def as_seed(seed: Any) -> int:
    seed = as_count("seed", seed, least=0)
    if seed >= 2**32:  # more than some generators take
        raise InvalidInput.must("seed", "be less than 2**32", f"it is {seed}")
    return seed


def check_binary(
    inquiry: Inquiry, belief: Mapping[str, Any], labels: np.ndarray, column: str
) -> None:
    """Metrics of classifiers, and classifiers as beliefs, need labels that are 0 or 1."""
    needs = [one.name for one in inquiry.questions if one.entry.binary]
    what = f"The estimand {needs[0]!r}" if needs else "The belief"
    if (needs or is_binary(belief)) and not are_binary(labels):
        strange = next(label for label in labels if label not in (0.0, 1.0))
        raise InvalidInput(
            f"{what} needs labels that are 0 or 1, but the labelled table has {strange:g}",
            "code them so, or choose another",
            where=f"labelled.{column}",
        )
