"""A campaign played through on a table whose labels are all known: would planning pay?

From a fully labelled table, some rows are labelled at the start with a selection bias, others
form the pool, and the whole table is the target. Labels are bought round by round by the same
engine as a campaign's, and both its answers are held to the truth.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pandas as pd
import scipy.stats
from sklearn.isotonic import IsotonicRegression

from labelwise.errors import InvalidInput
from labelwise.evaluation.answer import BELIEF, DESIGN, Answer
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.prepare import prepare
from labelwise.evaluation.question import Inquiry, Quantity
from labelwise.evaluation.spec import Limits, Question, Sampling, Tables
from labelwise.inputs import as_count
from labelwise.likelihoods import GaussianLikelihood
from labelwise.simulation.bias import BIASES
from labelwise.simulation.play import play
from labelwise.tables.columns import Columns
from labelwise.tables.encoder import fit_encoder

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

    def check(self, rows: int) -> None:
        if self.bias not in BIASES:
            raise InvalidInput(
                f"There is no bias {self.bias!r}", f"use {' or '.join(BIASES)}", where="bias"
            )
        for name in ("initial", "pool", "rounds", "batch"):
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
    x: np.ndarray  # encoded rows
    quantity: Quantity
    arrays: Arrays  # with the whole table as the target
    truth: float
    features: tuple[str, ...]  # columns that the belief sees
    notes: tuple[str, ...]  # what was decided about columns

    @staticmethod
    def of(frame: pd.DataFrame, columns: Columns, question: Question) -> "Table":
        """Check a frame; every row needs a label."""
        frame = frame.assign(**{columns.id: [str(row) for row in range(len(frame))]})
        quantity = Inquiry.of_parts(question, columns).first
        if quantity.metric.is_effect:
            raise InvalidInput(
                "A simulation needs every row's label, but only one treatment's outcome is "
                "known",
                "choose another estimand",
                where="estimand",
            )
        whole = prepare(_as_campaign(frame, columns), columns, question)
        arrays, features = whole.arrays, whole.spec.columns.features
        return Table(
            frame=frame,
            columns=columns,
            question=question,
            x=arrays.target,
            quantity=quantity,
            arrays=arrays,
            truth=plain_value(quantity, arrays, np.arange(len(frame))),
            features=tuple(features),
            notes=fit_encoder({"table": frame}, features).notes,  # of each row once
        )

    @property
    def labels(self) -> np.ndarray:
        return self.arrays.labels


def _as_campaign(frame: pd.DataFrame, columns: Columns) -> Tables:
    """The whole table as labelled rows, and as a pool under other ids."""
    hidden = frame.drop(columns=columns.label)
    others = hidden.assign(**{columns.id: [f"pool {row}" for row in frame[columns.id]]})
    return Tables(frame, others, hidden)


def plain_value(quantity: Quantity, arrays: Arrays, rows: np.ndarray) -> float:
    """The estimand of known labels, at some rows of the table."""
    mass = None if arrays.mass is None else arrays.mass[rows]
    built = quantity.build(arrays, rows, mass)
    return float(_value(built, jnp.asarray(arrays.labels[rows])))


@eqx.filter_jit
def _value(estimand, labels):
    return estimand.value(labels, GaussianLikelihood(jnp.zeros(())))


def sampling_of(strategy: str, batch: int) -> Sampling:
    """How rows are chosen: as campaigns do by default, or by a policy alone."""
    if strategy == CAMPAIGN:
        return Sampling(batch=batch)
    return Sampling(strategy, by="policy" if strategy == "random" else None, batch=batch)


def rehearse(table: Table, design: Design, strategy: str, seed: int) -> list[dict[str, Any]]:
    """One campaign: a row of figures a round, round 0 before any label is bought."""
    design.check(len(table.x))
    initial, pool = _deal(table, design, seed)
    if strategy == AVERAGE:
        return _averages(table, design, initial, pool, seed)
    hidden = table.labels[pool]
    reveal = lambda round_: {row: float(hidden[row]) for row in round_.rows}
    start = _start(table, design, strategy, initial, pool, seed)
    rows, began = [], time.perf_counter()
    for index, (now, _) in enumerate(play(start, reveal, [design.batch] * design.rounds)):
        labels = {"labels": len(now.state.labels)}
        heading = {"policy": strategy, "seed": seed, "round": index, **labels}
        figures = _figures(now.estimate(), table.truth)
        rows.append(heading | figures | {"seconds": time.perf_counter() - began})
        began = time.perf_counter()
    return rows


def _figures(estimate: Estimate, truth: float) -> dict[str, float]:
    """The answer that leads, then the belief's and that of drawn rows beside it."""
    both = {BELIEF: estimate.credible, DESIGN: estimate.design}
    return _judged(estimate.lead, truth) | _beside(both, truth)


def _beside(answers: Mapping[str, Answer | None], truth: float) -> dict[str, float]:
    """Figures of each answer, under its name; not a number where there is none."""
    return {
        f"{name}_{key}": value
        for name, answer in answers.items()
        for key, value in _judged(answer, truth).items()
    }


def _judged(answer: Answer | None, truth: float) -> dict[str, float]:
    if answer is None:
        return {name: float("nan") for name in FIGURES}
    return _held(answer.value, answer.std, *answer.interval(), truth=truth)


def _held(value: float, std: float, low: float, high: float, truth: float):
    found = (value, std, low, high, abs(value - truth), float(low <= truth <= high))
    return dict(zip(FIGURES, found, strict=True))


def _averages(table: Table, design: Design, initial, pool, seed) -> list[dict[str, Any]]:
    """Random rows, and what their labels alone say."""
    order = np.random.default_rng([seed, 2]).permutation(pool)
    rows = []
    for index in range(design.rounds + 1):
        labels = index * design.batch
        found = average(table, order[:labels] if labels else initial)
        heading = {"policy": AVERAGE, "seed": seed, "round": index, "labels": labels}
        figures = _held(**found, truth=table.truth) | _beside({BELIEF: None, DESIGN: None}, 0.0)
        rows.append(heading | figures | {"seconds": 0.0})
    return rows


def average(table: Table, rows: np.ndarray) -> dict[str, float]:
    """What one would do without any belief: the estimand of the labels one has, and an
    interval by leaving each out in turn (of a mean, Student's).

    Before any label is bought, the initial ones must do, biased as they are.
    """
    quantity, count = table.quantity, len(rows)
    unknown = {"std": float("inf"), "low": -np.inf, "high": np.inf}
    try:
        value = plain_value(quantity, table.arrays, rows)
        without = [
            plain_value(quantity, table.arrays, np.delete(rows, one)) for one in range(count)
        ]
    except InvalidInput:  # as of precision, where no row was called positive
        return {"value": 0.0, **unknown}
    if count < 2:
        return {"value": value, **unknown}
    std = float(np.sqrt((count - 1) / count * np.sum((np.array(without) - value) ** 2)))
    room = float(scipy.stats.t.ppf(0.95, count - 1)) * std
    return {"value": value, "std": std, "low": value - room, "high": value + room}


def _deal(table: Table, design: Design, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Initial rows by the bias, a pool from the rest."""
    initial = BIASES[design.bias](table.x, design.initial, seed)
    rest = np.setdiff1d(np.arange(len(table.x)), initial)
    pool = np.sort(np.random.default_rng([seed, 1]).choice(rest, design.pool, replace=False))
    return initial, pool


def _start(table: Table, design: Design, strategy: str, initial, pool, seed) -> Evaluation:
    """The campaign as it would be made from these tables."""
    hidden = table.frame.drop(columns=table.columns.label)
    prepared = prepare(
        Tables(table.frame.iloc[initial], hidden.iloc[pool], hidden),
        table.columns,
        table.question,
        sampling=sampling_of(strategy, design.batch),
        limits=Limits(budget=design.rounds * design.batch),
        seed=seed,
    )
    return prepared.evaluation()


def summarise(rows: pd.DataFrame, truth: float) -> dict[str, Any]:
    """By policy: where it ends, and the labels it needs for what random sampling ends with."""
    found = {}
    for policy in rows["policy"].unique():
        mine = rows[rows["policy"] == policy]
        found[policy] = _summary(mine) | {"belief": _believed(mine)}
    summary = {"truth": truth, "seeds": int(rows["seed"].nunique()), "policies": found}
    return summary | {
        "labels_needed": labels_needed(found),
        "advantage": {
            policy: advantage(rows, policy)
            for policy in found
            if policy != "random" and "random" in found
        },
    }


def _believed(rows: pd.DataFrame) -> dict[str, Any] | None:
    """The same of the belief's own answer; of plain averages there is none."""
    own = [f"{BELIEF}_{name}" for name in FIGURES]
    if not set(own) <= set(rows.columns) or rows[own].isna().all(axis=None):
        return None
    renamed = dict(zip(own, FIGURES, strict=True))
    return _summary(rows[["labels", *own]].rename(columns=renamed))


def _summary(rows: pd.DataFrame) -> dict[str, Any]:
    """Means over campaigns, by labels bought."""
    by_labels = rows.assign(width=rows["high"] - rows["low"]).groupby("labels")
    mean = by_labels[["std", "width", "covered"]].mean()
    rmse = by_labels["error"].apply(lambda error: float(np.sqrt(np.mean(error**2))))
    return {
        "labels": [int(count) for count in mean.index],
        "std": [float(value) for value in mean["std"]],
        "width": [float(value) for value in mean["width"]],
        "rmse": [float(value) for value in rmse],
        "coverage": [float(value) for value in mean["covered"]],
    }


def advantage(rows: pd.DataFrame, policy: str) -> dict[str, float]:
    """How much smaller than random's the squared errors are, campaign by campaign.

    Both policies of a seed start alike, so their difference is taken within the seed, averaged
    over all counts of labels; its spread over seeds says how sure one can be.
    """
    later = rows[rows["labels"] > 0].assign(square=lambda rows: rows["error"] ** 2)
    means = later.pivot_table("square", index="seed", columns="policy", aggfunc="mean")
    gaps = (means["random"] - means[policy]).dropna()
    error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else float("inf")
    share = float(gaps.mean() / means["random"].mean())
    return {"share": share, "standard_errors": float(gaps.mean() / error) if error else 0.0}


def labels_needed(found: dict[str, Any]) -> dict[str, dict[str, int | None]]:
    """Labels that each policy needs for what random sampling ends with.

    Curves are first made to fall, block by block (isotonic regression), so that a chance dip or
    rise of either does not decide. None: never, or random's own curve does not fall.
    """
    if "random" not in found:
        return {}
    needed: dict[str, dict[str, int | None]] = {policy: {} for policy in found}
    for figure in ("std", "rmse"):
        curves = {policy: falling(outcome[figure]) for policy, outcome in found.items()}
        goal = curves["random"][-1]
        for policy, values in curves.items():
            labels = found[policy]["labels"]
            reached = [n for n, value in zip(labels, values, strict=True) if value <= goal]
            fell = curves["random"][0] > goal
            needed[policy][figure] = reached[0] if fell and reached else None
    return needed


def falling(values: list[float]) -> list[float]:
    """The nearest curve that never rises."""
    steps = np.arange(len(values))
    bounded = np.nan_to_num(values, posinf=1e300)
    fitted = IsotonicRegression(increasing=False).fit_transform(steps, bounded)
    return [float(value) for value in fitted]
