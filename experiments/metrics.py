"""How often do intervals of the metrics that people report hold the truth, on real tables?

Campaigns as `labelwise new` makes them: 60 labels of one cluster, then 50 drawn by the engine
at its default settings, ten a round, from a pool of 500 rows that is the target too. All
metrics of a table are asked for at once; the truth is the metric of the pool's own labels.
Tables, models and starts are those of the coverage study. A seed is a campaign.
"""

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table as Shown

from experiments.coverage_campaign import ID, LABEL, PREDICTION, Interval, as_table
from experiments.coverage_draws import Drawn
from experiments.coverage_tables import Outcome, draw_from_table, make_table
from experiments.readers import acs, credit
from experiments.reporting import to_markdown, to_table
from labelwise import __version__
from labelwise.cli.runs import Task
from labelwise.datasets.support2 import DIED
from labelwise.estimands.catalogue import ESTIMANDS
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.prepare import prepare
from labelwise.evaluation.question_options import option_of
from labelwise.evaluation.spec import Limits, Question, Sampling, Tables
from labelwise.simulation.play import play_evaluation
from labelwise.tables.columns import Columns

ROUNDS, BATCH = 5, 10
OPTIONS = {"tolerance": 0.5, "quantile": 0.8}
ASKED = {
    "class": (
        *("auc", "average-precision", "ece", "calibration-slope", "calibration-intercept"),
        *("balanced-accuracy", "mcc"),
    ),
    "number": ("median-error", "within", "quantile-loss"),
}
TABLES = {
    "support2": Outcome("support2", DIED, "class"),
    "credit": Outcome("credit", credit.OUTCOME, "class"),
    "acs": Outcome("acs", acs.LOG_INCOME, "number"),
}
KINDS = {"combined": "", "belief": "belief_", "drawn": "drawn_"}
HEADINGS = ("table, metric", "combined", "belief", "drawn rows", "campaigns")


def tables(kind: str) -> list[str]:
    """Of labels that are classes, or numbers."""
    return [name for name, outcome in TABLES.items() if outcome.kind == kind]


def config(kind: str) -> dict[str, Any]:
    """What the rows depend on besides table and seed."""
    return {
        "experiment": "metrics",
        "version": __version__,
        "rounds": len(ASKED[kind]) - 1,  # rows of a campaign, less one: a metric each
        "asked": list(ASKED[kind]),
        "options": OPTIONS,
        "batches": ROUNDS,
        "batch": BATCH,
    }


def work(data: Path | None, cache: Path | None):
    return partial(_work, data, cache)


def _work(data: Path | None, cache: Path | None, task: Task) -> list[dict[str, Any]]:
    """One campaign; a row a metric, as it ends."""
    began, outcome = time.perf_counter(), TABLES[task.policy]
    problem = draw_from_table(make_table(outcome, data, cache), task.seed)
    names = ASKED[outcome.kind]
    last = estimate(problem, names, task.seed)
    rows = []
    for index, (name, one) in enumerate(zip(names, (last, *last.parts), strict=True)):
        heading = {"policy": task.policy, "seed": task.seed, "round": index, "metric": name}
        rows.append(heading | _figures(one, truth_of(problem, name)))
    seconds = round((time.perf_counter() - began) / len(rows), 3)
    return [row | {"seconds": seconds} for row in rows]


def estimate(problem: Drawn, names: tuple[str, ...], seed: int) -> Estimate:
    """What the campaign says in the end."""
    pool = as_table(problem.pool_x, problem.pool_prediction, "pool")
    first = as_table(problem.x, problem.initial_prediction, "first")
    options = {ESTIMANDS[name].option for name in names}
    given: dict[str, Any] = {name: value for name, value in OPTIONS.items() if name in options}
    prepared = prepare(
        Tables(first.assign(**{LABEL: problem.y}), pool),
        Columns(ID, LABEL, prediction=PREDICTION),
        Question(list(names), **given),
        sampling=Sampling(batch=BATCH),
        limits=Limits(budget=ROUNDS * BATCH),
        seed=seed,
        telling_apart=False,
    )
    reveal = lambda round_: {row: float(problem.pool_y[row]) for row in round_.rows}
    played = play_evaluation(prepared.evaluation(), reveal, [BATCH] * ROUNDS)
    return [now for now, _ in played][-1].estimate()


def truth_of(problem: Drawn, name: str) -> float:
    """Of the pool's own labels."""
    metric, y, given = ESTIMANDS[name], problem.pool_y, problem.pool_prediction
    if metric.functional is not None:
        return float(metric.functional.value(y, np.full(len(y), 1.0 / len(y)), given))
    option = None if metric.option not in OPTIONS else option_of(metric, OPTIONS)
    return float(metric.combine(metric.stack(y, given, option).mean(axis=1)))


def _figures(found: Estimate, truth: float) -> dict[str, float]:
    figures = {"truth": truth}
    for kind, answer in (
        ("", found.lead),
        ("belief_", found.credible),
        ("drawn_", found.design),
    ):
        one = Interval.of(answer)
        figures |= {f"{kind}value": one.value, f"{kind}low": one.low, f"{kind}high": one.high}
    return {name: float(f"{value:.6g}") for name, value in figures.items()}


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """By table and metric: how often each answer held, how wide it was, how far off."""
    cells = {
        f"{table}, {metric}": {kind: _of(mine, prefix) for kind, prefix in KINDS.items()}
        | {"campaigns": len(mine)}
        for (table, metric), mine in rows.groupby(["policy", "metric"], sort=False)
    }
    return {"experiment": "metrics", "command": command, "cells": cells}


def _of(rows: pd.DataFrame, prefix: str) -> dict[str, float | None]:
    rows = rows.dropna(subset=[f"{prefix}low"])
    if rows.empty:
        return {"coverage": None, "standard_error": None, "width": None, "rms_error": None}
    low, high = rows[f"{prefix}low"], rows[f"{prefix}high"]
    held = (low <= rows["truth"]) & (rows["truth"] <= high)
    share = float(held.mean())
    return {
        "coverage": share,
        "standard_error": float(np.sqrt(share * (1.0 - share) / len(rows))),
        "width": float((high - low).median()),
        "rms_error": float(np.sqrt(((rows[f"{prefix}value"] - rows["truth"]) ** 2).mean())),
    }


def tabulate(summary: dict[str, Any]) -> Shown:
    """A line for each table and metric."""
    return to_table(HEADINGS, _lines(summary), "90 % intervals: share that held / median width")


def as_markdown(summary: dict[str, Any]) -> str:
    """The same for the documents."""
    return to_markdown(HEADINGS, _lines(summary))


def _lines(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    def told(one: dict[str, float | None]) -> str:
        share, width = one["coverage"], one["width"]
        return "–" if share is None else f"{100 * share:.0f} % / {width:.3g}"

    return [
        (name, *(told(cell[kind]) for kind in KINDS), str(cell["campaigns"]))
        for name, cell in summary["cells"].items()
    ]
