"""A campaign played through on a table whose labels are all known: would planning pay?

From a fully labelled table, some rows are labelled at the start with a selection bias, others
form the pool, and the whole table is the target. Policies buy labels round by round exactly as
a campaign does, fitting the belief anew each time, and their answers are held to the truth.
"""

import time
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pandas as pd
import scipy.stats
from sklearn.isotonic import IsotonicRegression

from labelwise.beliefs.labels import GaussianLabels
from labelwise.campaign.analysis import Analysis
from labelwise.campaign.arrays import Arrays, make_arrays
from labelwise.campaign.choices import are_binary, check_belief
from labelwise.campaign.estimate import GRID, quantiles_of
from labelwise.campaign.known import Known
from labelwise.campaign.question import Inquiry, Question, make_inquiry
from labelwise.datasets.bias import BIASES
from labelwise.errors import InvalidInput
from labelwise.inputs import as_count
from labelwise.policies.registry import make_policy
from labelwise.tables.columns import resolve
from labelwise.tables.encoder import fit_encoder
from labelwise.tables.roles import Columns

AVERAGE = "average"  # random rows without any belief: the plain mean of their losses


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

    x: np.ndarray
    labels: np.ndarray
    inquiry: Inquiry
    arrays: Arrays  # with the whole table as the target; labelled and pool are replaced
    truth: float
    features: tuple[str, ...]  # columns that the belief sees
    notes: tuple[str, ...]  # what was decided about columns

    @staticmethod
    def of(
        frame: pd.DataFrame, columns: Columns, estimand: str, threshold: Any = None
    ) -> "Table":
        """Check a frame; every row needs a label."""
        inquiry = make_inquiry(estimand, prediction=columns.prediction, threshold=threshold)
        if inquiry.first.entry.needs == "treatment":
            raise InvalidInput(
                "A simulation needs every row's label, but only one treatment's outcome is "
                "known",
                "choose another estimand",
                where="estimand",
            )
        frame = frame.assign(**{columns.id: np.arange(len(frame))})
        tables = {"labelled": frame, "pool": frame, "target": frame}
        columns = resolve(columns, tables)
        inside = columns.prediction is not None and frame[columns.prediction].nunique() > 1
        last = [str(columns.prediction)] if inside else []
        encoder = fit_encoder({"table": frame}, [*columns.features, *last])
        arrays = make_arrays(tables, columns, encoder, seed=0, predictor_in_belief=inside)
        return Table(
            x=arrays.pool,
            labels=arrays.labels,
            inquiry=inquiry,
            arrays=arrays,
            truth=_truth(inquiry.first, arrays),
            features=tuple(columns.features),
            notes=encoder.notes,
        )


def _truth(question: Question, arrays: Arrays) -> float:
    """The estimand of the labels themselves, over the whole table."""
    if question.entry.binary and not are_binary(arrays.labels):
        raise InvalidInput(
            f"The estimand {question.name!r} needs labels that are 0 or 1",
            "choose another",
            where="estimand",
        )
    return plain_value(question, arrays, np.arange(len(arrays.labels)))


def plain_value(question: Question, arrays: Arrays, rows: np.ndarray) -> float:
    """The estimand of known labels, at some rows of the table."""
    mass = None if arrays.mass is None else arrays.mass[rows]
    built = question.build(arrays, rows, mass)
    return float(_value(built, jnp.asarray(arrays.labels[rows])))


@eqx.filter_jit
def _value(estimand, labels):
    return estimand.value(labels, GaussianLabels(jnp.zeros(())))


def rehearse(table: Table, design: Design, policy: str, seed: int) -> list[dict[str, Any]]:
    """One campaign: a row of figures a round, round 0 before any label is bought."""
    design.check(len(table.x))
    planner = make_policy("random" if policy == AVERAGE else policy)
    arrays, initial, pool = _deal(table, design, seed)
    pool_labels = table.labels[pool]
    # One component: many campaigns are played, and what they compare is how rows are chosen.
    belief = check_belief({"name": "auto", "components": 1}, arrays.features, table.labels)
    bought: list[int] = []
    rows, fitted = [], None
    for index in range(design.rounds + 1):
        began = time.perf_counter()
        analysis = _analyse(table, arrays, belief, seed, bought, pool_labels, fitted)
        if policy == AVERAGE:
            fitted = analysis.prior  # it asks the belief nothing, so one fit is enough
        answer = _answer(analysis)
        if policy == AVERAGE:
            answer = average(table, pool[bought] if bought else initial)
        heading = {"policy": policy, "seed": seed, "round": index}
        labels = {"labels": index * design.batch}
        rows.append({**heading, **labels, **_judged(answer, table.truth)})
        if index < design.rounds:
            batch = analysis.propose(planner, seed, index + 1, design.batch)
            bought += batch.rows
        rows[-1]["seconds"] = time.perf_counter() - began
    return rows


def average(table: Table, rows: np.ndarray) -> dict[str, float]:
    """What one would do without any belief: the estimand of the labels one has, and an
    interval by leaving each out in turn (of a mean, Student's).

    Before any label is bought, the initial ones must do, biased as they are.
    """
    question, count = table.inquiry.first, len(rows)
    try:
        value = plain_value(question, table.arrays, rows)
        without = [
            plain_value(question, table.arrays, np.delete(rows, one)) for one in range(count)
        ]
    except InvalidInput:  # as of precision, where no row was called positive
        return {"estimate": 0.0, "std": float("inf"), "low": -np.inf, "high": np.inf}
    if count < 2:
        return {"estimate": value, "std": float("inf"), "low": -np.inf, "high": np.inf}
    std = float(np.sqrt((count - 1) / count * np.sum((np.array(without) - value) ** 2)))
    room = float(scipy.stats.t.ppf(0.95, count - 1)) * std
    return {"estimate": value, "std": std, "low": value - room, "high": value + room}


def _deal(table: Table, design: Design, seed: int) -> tuple[Arrays, np.ndarray, np.ndarray]:
    """Initial rows by the bias, a pool from the rest."""
    initial = BIASES[design.bias](table.x, design.initial, seed)
    rest = np.setdiff1d(np.arange(len(table.x)), initial)
    pool = np.sort(np.random.default_rng([seed, 1]).choice(rest, design.pool, replace=False))
    arrays = replace(
        table.arrays,
        labelled=table.x[initial],
        labels=table.labels[initial],
        pool=table.x[pool],
    )
    return arrays, initial, pool


def _analyse(table: Table, arrays, belief, seed, bought, pool_labels, fitted) -> Analysis:
    rows = tuple(sorted(bought))
    known = Known(rows, tuple(float(pool_labels[row]) for row in rows), (), rows)
    return Analysis.of(arrays, known, table.inquiry, belief, seed, fitted)


def _answer(analysis: Analysis) -> dict[str, float]:
    found = analysis.answer
    bounds = found.question.bounds(None, None, analysis.arrays)
    quantiles = quantiles_of(found.draws, *bounds)
    low, high = np.interp([0.05, 0.95], GRID, quantiles)
    return {"estimate": found.mean, "std": found.std, "low": float(low), "high": float(high)}


def _judged(answer: dict[str, float], truth: float) -> dict[str, float]:
    covered = float(answer["low"] <= truth <= answer["high"])
    return {**answer, "error": abs(answer["estimate"] - truth), "covered": covered}


def summarise(rows: pd.DataFrame, truth: float) -> dict[str, Any]:
    """By policy: where it ends, and the labels it needs for what random sampling ends with."""
    found = {}
    for policy in rows["policy"].unique():
        by_labels = rows[rows["policy"] == policy].groupby("labels")
        mean = by_labels[["std", "error", "covered"]].mean()
        rmse = by_labels["error"].apply(lambda error: float(np.sqrt(np.mean(error**2))))
        found[policy] = {
            "labels": [int(count) for count in mean.index],
            "std": [float(value) for value in mean["std"]],
            "rmse": [float(value) for value in rmse],
            "coverage": [float(value) for value in mean["covered"]],
        }
    summary = {"truth": truth, "seeds": int(rows["seed"].nunique()), "policies": found}
    return summary | {
        "labels_needed": labels_needed(found),
        "advantage": {
            policy: advantage(rows, policy)
            for policy in found
            if policy != "random" and "random" in found
        },
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
