"""What people bring, studied: several classes on two real tables, and an evaluation matrix.

Each campaign starts from one table without labels, as `labelwise new TABLE` has it, and its
answer is held to the truth; beside it stands the plain estimate of as many uniform draws.
"""

import time
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table as Shown

from experiments.matrix import MODELS, ROWS, SHARP, evaluation_matrix
from experiments.reporting import to_markdown, to_table
from labelwise import __version__
from labelwise.cli.runs import Task
from labelwise.estimands.class_metrics import class_metric
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.spec import Limits, Sampling
from labelwise.simulation.play import play_evaluation
from labelwise.tables.columns import Columns

PROBLEMS = ("matrix", "digits", "diseases")
ASKED = ("accuracy", "macro-f1", "kappa")  # of classes
SLOTS = ("first", "second", "third")
POOL, LABELS, ROUNDS = 1000, 100, 5
# The truth, the answer, the mean squared error of uniform draws, and drawn rows alone.
KEYS = ("truth", "value", "low", "high", "uniform", "drawn_value", "drawn_low", "drawn_high")
HEADINGS = (
    *("problem, question", "combined", "drawn rows", "width of uniform draws'"),
    *("labels of uniform draws", "campaigns"),
)
TIMES = 200  # uniform samples that tell how far off plain estimates are


def config() -> dict[str, Any]:
    """What the rows depend on besides problem and seed."""
    return {
        "experiment": "intake",
        "version": __version__,
        "rounds": 0,  # one row a campaign
        "pool": POOL,
        "labels": LABELS,
        "rounds_of_labels": ROUNDS,
        "models": MODELS,
        "sharp": SHARP,
    }


def work(task: Task) -> list[dict[str, Any]]:
    """One campaign."""
    began = time.perf_counter()
    row: dict[str, Any] = {"policy": task.policy, "seed": task.seed, "round": 0}
    row |= _matrix(task.seed) if task.policy == "matrix" else _classes(task.policy, task.seed)
    return [row | {"seconds": round(time.perf_counter() - began, 3)}]


def _matrix(seed: int) -> dict[str, float]:
    results, right = evaluation_matrix(seed, ROWS, MODELS)
    frame = pd.DataFrame(results, columns=[f"model_{place}" for place in range(MODELS)])
    columns = Columns(label="right", history=["model_*"])
    answers = _play(frame, columns, ["positive-rate"], right.tolist(), seed)
    plain = lambda rows: [float(right[rows].mean())]
    return _row(answers, plain, len(right), seed)


def _classes(name: str, seed: int) -> dict[str, float]:
    chances, labels, classes = table_of(name)
    rows = np.random.default_rng([seed, 3]).permutation(len(labels))[:POOL]
    chances, labels = chances[rows], labels[rows]
    frame = pd.DataFrame(chances, columns=[f"p_{word}" for word in classes])
    words = [classes[code] for code in labels]
    columns = Columns(label="label", prediction="p_*", classes=classes)
    answers = _play(frame, columns, list(ASKED), words, seed)
    metrics = [class_metric(asked, len(classes)) for asked in ASKED]

    def plain(some: Any) -> list[float]:
        stacks = [metric.stack(labels[some].astype(float), chances[some]) for metric in metrics]
        pairs = zip(metrics, stacks, strict=True)
        return [float(metric.combine(terms.mean(axis=1))) for metric, terms in pairs]

    return _row(answers, plain, len(labels), seed)


def _play(frame, columns, asked, truth, seed) -> list[Any]:
    """The answers after all rounds."""
    batch = LABELS // ROUNDS
    start = Evaluation.of(
        frame,
        columns,
        asked,
        sampling=Sampling(batch=batch),
        limits=Limits(budget=LABELS),
        seed=seed,
    )
    number = start.spec.columns.classes.index if start.spec.columns.several else float
    reveal = lambda round_: {row: float(number(truth[row])) for row in round_.rows}
    *_, (last, _) = play_evaluation(start, reveal, [batch] * ROUNDS)
    estimate = last.estimate()
    return [estimate, *estimate.parts]


def _row(answers, plain, size: int, seed: int) -> dict[str, float]:
    truths = plain(slice(None))
    rng = np.random.default_rng([seed, 5])
    drawn = np.array([plain(rng.permutation(size)[:LABELS]) for _ in range(TIMES)])
    row = {}
    for place, slot in enumerate(SLOTS):
        values = [np.nan] * len(KEYS)
        if place < len(answers):
            answer, alone = answers[place], answers[place].design
            off = float(np.mean((drawn[:, place] - truths[place]) ** 2))
            values = [truths[place], answer.value, *answer.interval(), off]
            values += [np.nan] * 3 if alone is None else [alone.value, *alone.interval()]
        row |= {f"{slot}_{key}": one for key, one in zip(KEYS, values, strict=True)}
    return row


@cache
def table_of(name: str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Chances of a model that was fitted to other rows, true classes, and their words."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    if name == "digits":
        x, y = load_digits(return_X_y=True)
        words, few = [f"d{digit}" for digit in range(10)], 60
        model = LogisticRegression(max_iter=300)
    else:
        from labelwise.datasets.support2 import load_support2

        patients = load_support2()
        words, y = np.unique(patients["disease"], return_inverse=True)
        numbers = patients.drop(columns=["patient", "disease", "predicted_log_cost"])
        x = numbers.assign(sex=numbers["sex"] == "male").to_numpy(float)
        model, few = HistGradientBoostingClassifier(max_iter=30, random_state=0), 2000
    order = np.random.default_rng(0).permutation(len(y))
    train, rest = order[:few], order[few:]
    chances = model.fit(x[train], y[train]).predict_proba(x[rest])
    return np.asarray(chances), np.asarray(y)[rest], tuple(str(word) for word in words)


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """Of every problem and question: coverage, width, and what a label is worth."""
    cells = {}
    for name, mine in rows.groupby("policy", sort=False):
        asked = ("positive-rate",) if name == "matrix" else ASKED
        for slot, question in zip(SLOTS, asked, strict=False):
            cells[f"{name} {question}"] = _figures(mine, slot)
    seconds = float(rows["seconds"].sum())
    return {"experiment": "intake", "command": command, "seconds": seconds, "cells": cells}


def _figures(rows: pd.DataFrame, slot: str) -> dict[str, float]:
    truth, value, low, high, uniform, _, first, last = (rows[f"{slot}_{key}"] for key in KEYS)
    worth = float(uniform.mean() / np.mean((value - truth) ** 2))
    left = 1.0 / LABELS - 1.0 / POOL  # what a finite pool leaves of a uniform draw's variance
    covered = float(((low <= truth) & (truth <= high)).mean())
    return {
        "campaigns": len(rows),
        "covered": covered,
        "standard_error": float(np.sqrt(covered * (1.0 - covered) / len(rows))),
        "covered_by_drawn_rows": float(((first <= truth) & (truth <= last)).mean()),
        "width": float((high - low).mean()),
        "uniform_width": float(2.0 * 1.645 * np.sqrt(uniform).mean()),
        "times_uniform": 1.0 / (LABELS * (left / worth + 1.0 / POOL)),
    }


def tabulate(summary: dict[str, Any]) -> Shown:
    """A line a problem and question."""
    return to_table(HEADINGS, _lines(summary))


def as_markdown(summary: dict[str, Any]) -> str:
    """The same for the documents."""
    return to_markdown(HEADINGS, _lines(summary))


def _lines(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            name,
            f"{100 * cell['covered']:.0f} ± {100 * cell['standard_error']:.0f} %",
            f"{100 * cell['covered_by_drawn_rows']:.0f} %",
            f"{cell['width'] / cell['uniform_width']:.2f}",
            f"{cell['times_uniform']:.1f} ×",
            str(cell["campaigns"]),
        )
        for name, cell in summary["cells"].items()
    ]
