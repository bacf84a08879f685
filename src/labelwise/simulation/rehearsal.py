"""A campaign played through on a table whose labels are all known: would planning pay?

From a fully labelled table, some rows are labelled at the start with a selection bias, others
form the pool, and the whole table is the target. Labels are bought round by round by the same
engine as a campaign's, and both its answers are held to the truth.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pandas as pd
import scipy.special

from labelwise.errors import InvalidInput
from labelwise.evaluation.answer import BELIEF, DESIGN, GRID, Answer
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.prepare import prepare
from labelwise.evaluation.question import Inquiry, Quantity
from labelwise.evaluation.spec import Limits, Question, Sampling, Tables
from labelwise.inputs import as_count
from labelwise.likelihoods import GaussianLikelihood
from labelwise.simulation.bias import BIASES
from labelwise.simulation.play import play_evaluation
from labelwise.tables.columns import Columns
from labelwise.tables.encoder import fit_encoder
from labelwise.tables.text import listed

CAMPAIGN = "campaign"  # as `labelwise new` would do it
AVERAGE = "average"  # random rows without any belief: the plain mean of their losses
# Of an answer.
FIGURES: tuple[str, ...] = ("estimate", "std", "low", "high", "error", "covered")


@dataclass(frozen=True)
class Design:
    """How a table becomes a campaign."""

    bias: str = "cluster"  # who was labelled first
    initial: int = 60  # labels from the start
    pool: int = 500  # rows that may be labelled
    rounds: int = 10
    batch: int = 5
    target: int = 500  # rows that stand for the table where variances are computed

    def check(self, rows: int) -> None:
        if self.bias not in BIASES:
            raise InvalidInput(
                f"There is no bias {self.bias!r}", f"use {' or '.join(BIASES)}", where="bias"
            )
        for name in ("initial", "pool", "rounds", "batch", "target"):
            as_count(name, getattr(self, name), least=2 if name == "initial" else 1)
        if self.initial + self.pool > rows:
            raise InvalidInput(
                f"{self.initial} initial labels and a pool of {self.pool} need "
                f"{self.initial + self.pool} rows",
                f"the table has {rows}: lower initial or pool",
                where="initial",
            )
        if self.rounds * self.batch > self.pool:
            raise InvalidInput(
                f"{self.rounds} rounds of {self.batch} labels exceed the pool of {self.pool}",
                "lower rounds or batch, or raise pool",
                where="rounds",
            )


@dataclass(frozen=True)
class Table:
    """A table whose labels are known, checked and encoded once."""

    frame: pd.DataFrame
    columns: Columns
    question: Question
    quantity: Quantity
    arrays: Arrays  # with the whole table as the target
    truth: float
    features: tuple[str, ...]  # columns that the belief sees
    notes: tuple[str, ...]  # what was decided about columns
    sampling: Sampling  # of the campaign that is rehearsed
    belief: Any

    @staticmethod
    def of(
        frame: pd.DataFrame,
        columns: Columns,
        question: Question,
        sampling: Sampling | None = None,
        belief: Any = "auto",
    ) -> "Table":
        """Check a frame; every row needs a label."""
        sampling = Sampling() if sampling is None else sampling
        frame = frame.assign(**{columns.id: [str(row) for row in range(len(frame))]})
        given = question.estimand
        if {"ate", "att"} & {*([given] if isinstance(given, str) else given or ())}:
            raise InvalidInput(
                "A simulation needs every row's label, but only one treatment's outcome is "
                "known",
                "choose another estimand",
                where="estimand",
            )
        if columns.label not in frame:
            raise InvalidInput(
                f"The table has no column {columns.label!r} (the label)",
                f"name one that it has: {listed(frame.columns)}",
                where="label",
            )
        hidden = frame.drop(columns=columns.label)
        # As a campaign: all rows labelled, and a pool of the same under other ids.
        pool = hidden.assign(**{columns.id: [f"pool {row}" for row in frame[columns.id]]})
        whole = prepare(Tables(frame, pool, hidden), columns, question, belief, sampling)
        features = whole.spec.columns.features
        columns = replace(columns, classes=whole.spec.columns.classes)
        quantity = Inquiry.of_parts(whole.spec.question, whole.spec.columns).first
        return Table(
            frame=frame,
            columns=columns,
            question=question,
            quantity=quantity,
            arrays=whole.arrays,
            truth=plain_value(quantity, whole.arrays, np.arange(len(frame))),
            features=tuple(features),
            notes=fit_encoder({"table": whole.tables["labelled"]}, features).notes,  # once each
            sampling=sampling,
            belief=belief,
        )


def plain_value(quantity: Quantity, arrays: Arrays, rows: np.ndarray) -> float:
    """The estimand of known labels, at some rows of the table."""
    mass = None if arrays.mass is None else arrays.mass[rows]
    if quantity.classes:
        said = arrays.predictions[str(quantity.prediction)][rows]
        terms = quantity.metric.stack(arrays.labels[rows], said)
        return float(quantity.metric.combine(np.average(terms, axis=1, weights=mass)))
    estimand = quantity.build(arrays, rows, mass)
    return float(_value(estimand, jnp.asarray(arrays.labels[rows])))


@eqx.filter_jit
def _value(estimand, labels):
    return estimand.value(labels, GaussianLikelihood(jnp.zeros(())))


def sampling_of(strategy: str, campaign: Sampling, batch: int) -> Sampling:
    """How rows are chosen: as the campaign would, or by a policy alone."""
    if strategy == CAMPAIGN:
        return replace(campaign, batch=batch)
    return Sampling(strategy, by="policy" if strategy == "random" else None, batch=batch)


def rehearse(table: Table, design: Design, strategy: str, seed: int) -> list[dict[str, Any]]:
    """One campaign: a row of figures a round, round 0 before any label is bought."""
    design.check(len(table.frame))
    initial, pool = deal(table, design, seed)
    if strategy == AVERAGE:
        rounds = _averages(table, design, initial, pool, seed)
    else:
        rounds = _estimates(begin(table, design, strategy, initial, pool, seed), table, pool)
    rows, began = [], time.perf_counter()
    for index, answers in enumerate(rounds):
        heading = {"policy": strategy, "seed": seed, "round": index}
        labels = {"labels": index * design.batch}
        figures = _figures(answers, table.truth)
        rows.append(heading | labels | figures | {"seconds": time.perf_counter() - began})
        began = time.perf_counter()
    return rows


# The answer that leads, under no name, and those beside it; None where there is none.
Answers = dict[str, Answer | None]


def _estimates(start: Evaluation, table: Table, pool: np.ndarray) -> Iterator[Answers]:
    """Both answers, before the first round and after each."""
    hidden = table.arrays.labels[pool]
    reveal = lambda round_: {row: float(hidden[row]) for row in round_.rows}
    batch, budget = start.spec.sampling.batch, start.spec.limits.budget or 0
    for now, _ in play_evaluation(start, reveal, [batch] * (budget // batch)):
        estimate = now.estimate()
        yield {"": estimate.lead, BELIEF: estimate.credible, DESIGN: estimate.design}


def _averages(table: Table, design: Design, initial, pool, seed) -> Iterator[Answers]:
    """Random rows, and what their labels alone say."""
    order = np.random.default_rng([seed, 2]).permutation(pool)
    for index in range(design.rounds + 1):
        rows = order[: index * design.batch] if index else initial
        yield {"": average(table, rows), BELIEF: None, DESIGN: None}


def _figures(answers: Answers, truth: float) -> dict[str, float]:
    """Of each answer, under its name."""
    figures = {}
    for name, answer in answers.items():
        values = (float("nan"),) * len(FIGURES)
        if answer is not None:
            low, high = answer.interval()
            error, held = abs(answer.value - truth), float(low <= truth <= high)
            values = (answer.value, answer.std, low, high, error, held)
        keys = [f"{name}_{key}" if name else key for key in FIGURES]
        figures |= dict(zip(keys, values, strict=True))
    return figures


def average(table: Table, rows: np.ndarray) -> Answer:
    """What one would do without any belief: the estimand of the labels one has, with
    intervals by leaving each out in turn (of a mean, Student's).

    Before any label is bought, the initial ones must do, biased as they are.
    """
    count, nothing = len(rows), np.copysign(np.inf, GRID - 0.5)
    plain = lambda rows: plain_value(table.quantity, table.arrays, rows)
    try:
        value = plain(rows)
        without = np.array([plain(np.delete(rows, place)) for place in range(count)])
    except InvalidInput:  # as of precision, where no row was called positive
        return Answer(0.0, np.inf, tuple(nothing))
    if count < 2:
        return Answer(value, np.inf, tuple(nothing))
    std = float(np.sqrt((count - 1) / count * np.sum((without - value) ** 2)))
    return Answer(value, std, tuple(value + std * scipy.special.stdtrit(count - 1, GRID)))


def deal(table: Table, design: Design, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Initial rows by the bias, a pool from the rest."""
    x = table.arrays.target
    initial = BIASES[design.bias](x, design.initial, seed)
    rest = np.setdiff1d(np.arange(len(x)), initial)
    pool = np.sort(np.random.default_rng([seed, 1]).choice(rest, design.pool, replace=False))
    return initial, pool


def begin(table: Table, design: Design, strategy: str, initial, pool, seed) -> Evaluation:
    """The campaign as it would be made from these tables."""
    hidden = table.frame.drop(columns=table.columns.label)
    prepared = prepare(
        Tables(table.frame.iloc[initial], hidden.iloc[pool], hidden),
        table.columns,
        table.question,
        belief=table.belief,
        sampling=sampling_of(strategy, table.sampling, design.batch),
        limits=Limits(budget=design.rounds * design.batch),
        seed=seed,
        target_rows=design.target,
        telling_apart=False,  # the target holds the pool's rows, and is weighed for anyway
    )
    return prepared.evaluation()
