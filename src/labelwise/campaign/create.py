"""Making a campaign: everything is checked, then written whole or not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from numbers import Real
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

from labelwise import __version__
from labelwise.campaign.arrays import as_groups, make_arrays
from labelwise.campaign.choices import are_binary, check_belief, is_binary
from labelwise.campaign.question import Inquiry, group_values, make_inquiry
from labelwise.campaign.settings import Settings
from labelwise.campaign.store import Store, building, write_log
from labelwise.campaign.trial import check_trial, make_assignment
from labelwise.errors import InvalidInput
from labelwise.inputs import as_count
from labelwise.policies.description import describe_policy
from labelwise.tables.columns import (
    check_guards,
    check_roles,
    read_ids,
    read_numbers,
    resolve,
)
from labelwise.tables.encoder import Encoder, Missing, fit_encoder
from labelwise.tables.ids import as_ids
from labelwise.tables.read import read_table
from labelwise.tables.roles import Columns
from labelwise.tables.shift import compare
from labelwise.tables.storable import plain_ids, storable
from labelwise.tables.texts import listed

FEWEST = 2  # initial labels that a belief can be fitted to
MOST_DAYS = 36_500  # that a row may be out
# Policies that weigh gains against prices; the others know only a limit.
PRICED = ("lookahead", "uncertainty-sequential", "integrated-variance")


@dataclass(frozen=True)
class Request:
    """What a user asks for, before it is checked."""

    labelled: Any
    pool: Any
    target: Any
    columns: Columns
    estimand: Any
    belief: Any
    policy: Any
    batch: Any
    budget: Any
    seed: Any
    expiry_days: Any
    label_range: Any
    missing: Any
    categorical: Sequence[str]
    predictor_in_belief: Any
    threshold: Any = None
    by: Sequence[str] = ()
    combine: Any = "sum"
    assign: Any = None
    spend: Any = None
    price: Any = None
    draw: dict[str, Any] | None = None
    stop: dict[str, Any] | None = None


def create(path: str | Path, request: Request) -> None:
    """Check the request and write the campaign's folder."""
    tables = _read(request)
    columns = resolve(request.columns, tables)
    low, high = _label_range(request.label_range)
    ids = _check_rows(tables, columns, low, high)
    inside, note = _predictor_in_belief(request, columns, tables)
    encoder = _fit_encoder(request, columns, tables, inside)
    check_trial(columns, tables)
    notes = [*encoder.notes, *_unshared(request.columns, tables), *([note] if note else [])]
    encoder = replace(encoder, notes=tuple(notes))
    settings = _settings(path, request, columns, encoder, tables, (low, high), inside)
    _check_questions(tables, settings, encoder)
    encoded = {name: encoder.encode(table) for name, table in tables.items()}
    shift = compare(
        encoded["labelled"],
        encoded["pool"],
        encoded["target"],
        encoder.names,
        settings.seed,
        same=settings.target == "pool",
    )
    documents = {
        "settings": settings.to_dict(),
        "encoder": encoder.to_dict(),
        "shift": shift.to_dict(),
        "rows": {name: len(table) for name, table in tables.items()},
        "labels": _extent(tables["labelled"][columns.label]),
    }
    with building(path) as store:
        _write_tables(store, tables, settings)
        write_log(store, documents, ids)


def _read(request: Request) -> dict[str, pd.DataFrame]:
    check_roles(request.columns)
    text = (request.columns.id,)
    read = lambda source, name: plain_ids(
        storable(read_table(source, name, text), *text, name), *text
    )
    tables = {
        "labelled": read(request.labelled, "labelled"),
        "pool": read(request.pool, "pool"),
    }
    same = request.target is None
    tables["target"] = tables["pool"] if same else read(request.target, "target")
    return tables


def _check_rows(tables, columns: Columns, low, high) -> list[tuple[str, int, str]]:
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


def _predictor_in_belief(request: Request, columns: Columns, tables):
    """Whether the prediction is a feature too, and a note if it cannot be."""
    if columns.prediction is None or not request.predictor_in_belief:
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


def _fit_encoder(request: Request, columns: Columns, tables, inside: bool) -> Encoder:
    if request.missing not in get_args(Missing):
        raise InvalidInput.must(
            "missing", "be 'impute' or 'refuse'", f"it is {request.missing!r}"
        )
    strange = sorted(set(request.categorical) - set(columns.features))
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
        categorical=request.categorical,
        missing=request.missing,
        chosen=bool(request.columns.features),
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


def _extent(labels: pd.Series) -> dict[str, float]:
    """Between which numbers the initial labels lie, so that an odd one can be told later."""
    numbers = pd.to_numeric(labels).astype(float)
    return {"low": float(numbers.min()), "high": float(numbers.max())}


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


def _settings(path, request: Request, columns, encoder, tables, bounds, inside) -> Settings:
    labels = read_numbers(tables["labelled"], columns.label, "labelled")
    inquiry = _inquiry(request, columns, tables["target"])
    features = len(encoder.names) + (columns.treatment is not None)
    belief = check_belief(request.belief, features, labels)
    _check_binary(inquiry, belief, labels, columns.label)
    if is_binary(belief):
        bounds = (0.0, 1.0)
    policy = describe_policy(request.policy)
    if request.price is not None and policy["name"] not in PRICED:
        raise InvalidInput(
            f"The policy {policy['name']!r} does not weigh prices",
            f"use {' or '.join(PRICED)}, or spend instead of price",
            where="price",
        )
    return Settings(
        name=Path(path).resolve().name,
        columns=columns,
        target="pool" if request.target is None else "target",
        estimand=inquiry.to_dict(),
        belief=belief,
        policy=policy,
        batch=as_count("batch", request.batch),
        budget=None if request.budget is None else as_count("budget", request.budget),
        seed=_seed(request.seed),
        expiry_days=_expiry(request.expiry_days),
        low=bounds[0],
        high=bounds[1],
        predictor_in_belief=inside,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        spend=_money("spend", request.spend, columns),
        price=_money("price", request.price, columns),
        assignment=(assignment := make_assignment(request.assign, columns, tables["pool"])),
        draw=_draw(request, policy["name"], assignment),
        stop=request.stop,
    )


def _draw(request: Request, policy: str, assignment: Any) -> dict[str, Any] | None:
    """Chance chooses, unless the choice is to be weighed against a price or a treatment."""
    planned = assignment is not None and assignment["mode"] == "planned"
    if request.price is not None or planned or request.draw is None:
        return None
    # Random rows have equal chances, whatever is foreseen of them.
    return {**request.draw, "by": "policy"} if policy == "random" else request.draw


def _inquiry(request: Request, columns: Columns, target: pd.DataFrame) -> Inquiry:
    for column in request.by:
        if column not in target:
            raise InvalidInput(
                f"The target table has no column {column!r} to group by",
                f"name one that it has: {listed(target.columns)}",
                where="by",
            )
    groups = {column: group_values(column, as_groups(target[column])) for column in request.by}
    inquiry = make_inquiry(
        request.estimand,
        prediction=columns.prediction,
        versus=columns.versus,
        threshold=request.threshold,
        groups=groups,
        combine=request.combine,
    )
    for question in inquiry.questions:
        if question.entry.needs == "treatment" and columns.treatment is None:
            raise InvalidInput(
                f"The estimand {question.name!r} needs treatments",
                "name the treatment column",
                where="treatment",
            )
        if question.name != "ate" and not _treatment_known(columns, target):
            raise InvalidInput(
                f"The estimand {question.name!r} needs to know who of the target is treated",
                f"fill in the column {columns.treatment!r} of the target",
                where=f"target.{columns.treatment}",
            )
    _check_one_kind(inquiry)
    return inquiry


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


def _check_questions(tables, settings: Settings, encoder: Encoder) -> None:
    """Every question has an answer on this target."""
    inquiry = Inquiry.from_dict(settings.estimand, settings.columns.prediction)
    arrays = make_arrays(
        tables,
        settings.columns,
        encoder,
        settings.seed,
        settings.predictor_in_belief,
        {one.group[0] for one in inquiry.questions if one.group is not None},
        settings.assignment,
    )
    for question in inquiry.questions:
        question.check(arrays)


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
    if days is None:
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


def _label_range(bounds: Any) -> tuple[float | None, float | None]:
    if bounds is None:
        return None, None
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
    return low, high


def _write_tables(store: Store, tables: Mapping[str, pd.DataFrame], settings: Settings) -> None:
    for name, table in tables.items():
        if name != "target" or settings.target == "target":
            _write_table(table, name, store.table(name))


def _write_table(table: pd.DataFrame, name: str, path: Path) -> None:
    try:
        table.to_parquet(path, index=False)
    except (TypeError, ValueError, NotImplementedError) as error:  # what Arrow cannot hold
        reason = str(error).splitlines()[0].rstrip(".")
        raise InvalidInput(
            f"The {name} table cannot be stored ({reason})",
            "turn its columns into numbers, texts or dates",
            where=name,
        ) from None
