"""From what a user says and brings to an evaluation: everything is checked here, once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from numbers import Real
from typing import Any, get_args

import numpy as np
import pandas as pd

from labelwise import __version__
from labelwise.errors import InvalidInput
from labelwise.evaluation.belief_options import are_binary, check_belief, is_binary
from labelwise.evaluation.data import Arrays, as_groups
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.question import Inquiry, group_values
from labelwise.evaluation.spec import Limits, Question, Sampling, Spec, Tables, read_part
from labelwise.evaluation.state import State
from labelwise.evaluation.stop import read_stop
from labelwise.evaluation.survey import check_sampling
from labelwise.evaluation.treatment import check_trial, make_assignment
from labelwise.inputs import as_count
from labelwise.policies.description import describe_policy
from labelwise.tables.cells import (
    check_guards,
    check_roles,
    read_ids,
    read_numbers,
    resolve,
)
from labelwise.tables.columns import Columns
from labelwise.tables.encoder import Encoder, Missing, fit_encoder
from labelwise.tables.ids import as_ids
from labelwise.tables.read import read_table
from labelwise.tables.shift import compare
from labelwise.tables.storable import plain_ids, storable
from labelwise.tables.text import listed

FEWEST = 2  # initial labels that a belief can be fitted to
MOST_DAYS = 36_500  # that a row may be out
# Policies that weigh gains against prices; the others know only a limit.
PRICED = ("lookahead", "uncertainty-sequential", "integrated-variance")
SCALES = ("linear", "log")
Frames = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Prepared:
    """Checked tables, with everything that was decided about them."""

    spec: Spec
    tables: dict[str, pd.DataFrame]  # labelled, pool and target
    encoder: Encoder
    shift: dict[str, Any]  # the first look at the tables
    items: list[tuple[str, int, str]]  # table, row and id of every row that may be named

    @property
    def feature_names(self) -> tuple[str, ...]:
        return feature_names(self.spec, self.encoder)

    @cached_property
    def arrays(self) -> Arrays:
        return Inquiry.of(self.spec).arrays(self.tables, self.spec, self.encoder)

    def evaluation(self) -> Evaluation:
        """Before any label is bought."""
        state = State(size=len(self.tables["pool"]))
        return Evaluation(self.spec, self.arrays, self.shift, self.feature_names, state)


def feature_names(spec: Spec, encoder: Encoder) -> tuple[str, ...]:
    """Of the belief's features, the treatment last."""
    treatment = spec.columns.treatment
    return (*encoder.names, *([] if treatment is None else [treatment]))


def prepare(
    tables: Any,
    columns: Any,
    question: Any = None,
    belief: Any = "auto",
    sampling: Any = None,
    limits: Any = None,
    seed: Any = 0,
    name: str = "evaluation",
) -> Prepared:
    """Read and check everything; parts may be given in short, as strings and paths."""
    question, sampling = as_question(question), as_sampling(sampling)
    columns = _with_models(_as_columns(columns), question)
    sources = as_tables(tables)
    frames = _read(sources, columns)
    asked, columns = columns, resolve(columns, frames)
    items = _check_rows(frames, columns)
    inside, note = _predictor_in_belief(columns, frames)
    columns = replace(columns, predictor_in_belief=inside)
    encoder = _fit_encoder(columns, frames, bool(asked.features))
    check_trial(columns, frames)
    notes = [*encoder.notes, *_unshared(asked, frames), *([note] if note else [])]
    encoder = replace(encoder, notes=tuple(notes))
    labels = read_numbers(frames["labelled"], columns.label, "labelled")
    features = len(encoder.names) + (columns.treatment is not None)
    question = _resolve_question(question, columns, frames["target"])
    checked = check_belief(belief, features, labels)
    _check_binary(Inquiry.of_parts(question, columns), checked, labels, columns.label)
    if is_binary(checked):
        columns = replace(columns, label_range=(0.0, 1.0))
    spec = Spec(
        name=name,
        columns=columns,
        question=question,
        belief=checked,
        sampling=_resolve_sampling(sampling, columns, frames["pool"]),
        limits=_resolve_limits(as_limits(limits)),
        seed=_seed(seed),
        target="pool" if sources.target is None else "target",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
    )
    encoded = {table: encoder.encode(frame) for table, frame in frames.items()}
    shift = compare(
        encoded["labelled"],
        encoded["pool"],
        encoded["target"],
        encoder.names,
        spec.seed,
        same=spec.target == "pool",
    )
    prepared = Prepared(spec, frames, encoder, shift.to_dict(), items)
    _check_questions(prepared)
    return prepared


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
    if given is None or isinstance(given, str | list | tuple):
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


def _as_columns(given: Any) -> Columns:
    columns = read_part(Columns, given, "columns")
    return replace(
        columns,
        features=_names("features", columns.features),
        categorical=_names("categorical", columns.categorical),
        label_range=_label_range(columns.label_range),
    )


def _names(what: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable | None):
        raise InvalidInput.must(what, "be a list of column names", f"it is {names!r}")
    return tuple(names or ())


def _with_models(columns: Columns, question: Question) -> Columns:
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


def _read(sources: Tables, columns: Columns) -> dict[str, pd.DataFrame]:
    check_roles(columns)
    text = (columns.id,)
    read = lambda source, name: plain_ids(
        storable(read_table(source, name, text), *text, name), *text
    )
    tables = {
        "labelled": read(sources.labelled, "labelled"),
        "pool": read(sources.pool, "pool"),
    }
    same = sources.target is None
    tables["target"] = tables["pool"] if same else read(sources.target, "target")
    return tables


def _check_rows(tables: Frames, columns: Columns) -> list[tuple[str, int, str]]:
    """Check ids and numbers; the items of the log."""
    labelled, pool = tables["labelled"], tables["pool"]
    ids = read_ids(pool, columns, "pool")
    given = read_ids(labelled, columns, "labelled") if columns.id in labelled else []
    both = sorted(set(ids) & set(given))
    if both:
        raise InvalidInput(
            f"The rows with id {listed(both)} are both labelled and in the pool",
            "take them out of one",
            where=f"labelled.{columns.id}",
        )
    check_guards([*ids, *given])
    low, high = columns.bounds
    read_numbers(labelled, columns.label, "labelled", low=low, high=high)
    if len(labelled) < FEWEST:
        raise InvalidInput(
            f"The labelled table has {len(labelled)} row, but a belief needs at least {FEWEST}",
            "label more",
            where="labelled",
        )
    if columns.label in pool and pool[columns.label].notna().any():
        rows = pool.index[pool[columns.label].notna()]
        raise InvalidInput(
            f"The pool's column {columns.label!r} already has labels (id "
            f"{listed(ids[row] for row in rows)})",
            "move these rows to the labelled table",
            where=f"pool.{columns.label}",
        )
    if columns.cost is not None:
        _check_cost(pool, columns.cost, ids)
    _check_target(tables["target"], columns)
    return [
        *(("pool", row, one) for row, one in enumerate(ids)),
        *(("labelled", row, one) for row, one in enumerate(given)),
    ]


def _check_cost(pool: pd.DataFrame, column: str, ids: Sequence[str]) -> None:
    cost = read_numbers(pool, column, "pool", low=0.0, ids=ids)
    free = [one for one, price in zip(ids, cost, strict=True) if price == 0.0]
    if free:
        raise InvalidInput(
            f"The pool table: column {column!r} is zero for the rows with id {listed(free)}",
            "give every row a positive cost",
            where=f"pool.{column}",
        )


def _check_target(target: pd.DataFrame, columns: Columns) -> None:
    if columns.id in target:
        as_ids(target[columns.id], "The target table", f"target.{columns.id}")
    for model in (columns.prediction, columns.versus):
        if model is not None:
            read_numbers(target, model, "target")
    if columns.weight is not None:
        weight = read_numbers(target, columns.weight, "target", low=0.0)
        if not weight.any():
            raise InvalidInput(
                f"The target table: column {columns.weight!r} is zero in every row",
                "give some row a weight",
                where=f"target.{columns.weight}",
            )


def _predictor_in_belief(columns: Columns, tables: Frames) -> tuple[bool, str | None]:
    """Whether the prediction is a feature too, and a note if it cannot be."""
    if columns.prediction is None or not columns.predictor_in_belief:
        return False, None
    absent = [name for name, table in tables.items() if columns.prediction not in table]
    if absent:
        return False, (
            f"Column {columns.prediction!r} is not in the {absent[0]} table, so the belief "
            "does not use the prediction; intervals are better where it does."
        )
    for name, table in tables.items():
        read_numbers(table, columns.prediction, name)
    values = pd.concat([table[columns.prediction] for table in tables.values()])
    return values.nunique() > 1, None


def _fit_encoder(columns: Columns, tables: Frames, chosen: bool) -> Encoder:
    inside = columns.predictor_in_belief
    if columns.missing not in get_args(Missing):
        raise InvalidInput.must(
            "missing", "be 'impute' or 'refuse'", f"it is {columns.missing!r}"
        )
    strange = sorted(set(columns.categorical) - set(columns.features))
    if strange:
        raise InvalidInput(
            f"Column {strange[0]!r} is called categorical but is not a feature",
            f"name one of {listed(columns.features)}",
            where="categorical",
        )
    second = _second_model(columns, tables, inside)
    models = [*second, *([str(columns.prediction)] if inside else [])]
    chances = models if _are_chances(tables, columns, models) else []
    encoder = fit_encoder(
        tables,
        [*columns.features, *second],
        categorical=columns.categorical,
        missing=columns.missing,  # type: ignore[arg-type]
        chosen=chosen,
        chances=chances,
    )
    if inside:
        only = [str(columns.prediction)]
        last = fit_encoder(tables, only, missing="refuse", chances=chances)
        encoder = replace(encoder, codings=encoder.codings + last.codings)
    return encoder


def _are_chances(tables, columns: Columns, models: Sequence[str]) -> bool:
    """Whether predictions of 0/1 labels are probabilities, which enter by their log-odds."""
    labels = read_numbers(tables["labelled"], columns.label, "labelled")
    inside = [
        table[model].between(0.0, 1.0).all() for table in tables.values() for model in models
    ]
    return are_binary(labels) and all(inside)


def _second_model(columns: Columns, tables, inside: bool) -> list[str]:
    """The model that is compared with is a feature too, where all tables have it."""
    versus = columns.versus
    known = inside and versus is not None and all(versus in table for table in tables.values())
    return [str(versus)] if known else []


def _unshared(columns: Columns, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Columns that could have been features, had every table had them."""
    if columns.features:
        return []
    every = {column: None for table in tables.values() for column in table}
    partly = [
        column
        for column in every
        if column not in columns.roles()
        and any(column not in table for table in tables.values())
    ]
    return [
        f"Column {column!r} is not in the {_absent(str(column), tables)} table and is left "
        "out of the features."
        for column in partly
    ]


def _absent(column: str, tables: Mapping[str, pd.DataFrame]) -> str:
    return " and the ".join(name for name, table in tables.items() if column not in table)


def _resolve_question(question: Question, columns: Columns, target: pd.DataFrame) -> Question:
    """With the groups that the target has, and an estimand."""
    by = _names("by", [question.by] if isinstance(question.by, str) else question.by)
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


def _resolve_sampling(sampling: Sampling, columns: Columns, pool: pd.DataFrame) -> Sampling:
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


def _resolve_limits(limits: Limits) -> Limits:
    return Limits(
        budget=None if limits.budget is None else as_count("budget", limits.budget),
        stop=read_stop(limits.stop),
        expiry_days=_expiry(limits.expiry_days),
    )


def _check_questions(prepared: Prepared) -> None:
    """Every question has an answer on this target."""
    for question in Inquiry.of(prepared.spec).questions:
        question.check(prepared.arrays)


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


def _check_binary(
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


def _seed(seed: Any) -> int:
    seed = as_count("seed", seed, least=0)
    if seed >= 2**32:  # more than some generators take
        raise InvalidInput.must("seed", "be less than 2**32", f"it is {seed}")
    return seed


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
