"""Labels for the same width: this project beside prediction-powered and active inference.

Two data sets that such methods are shown on: is a protein's region disordered (by AlphaFold's
structure, in two groups), and was a plot deforested (by a satellite's image). The mean of 0/1
labels is wanted, the model's prediction is all that is known of a row, and no label is there at
first. Every method gets as many labels of the same rows; `labelwise` is the engine at its
default settings, told only that labels are classes. A seed is a campaign. The other methods are
written from their papers; where there is an environment with GLIDE, its own measure the same
draws (`peers_glide`).
"""

import time
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.table import Table as Shown

from experiments.peers_glide import methods_of
from experiments.peers_methods import METHODS, Drawn, Interval
from labelwise import __version__
from labelwise.cli.runs import Task
from labelwise.errors import InvalidInput
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.spec import Tables
from labelwise.simulation.play import play_evaluation
from labelwise.tables.columns import Columns

SETS = {"alphafold-0": ("alphafold", 0), "alphafold-1": ("alphafold", 1), "forest": None}
SIZES = (25, 25, 50, 75, 75)  # of the rounds
LOOKS = (50, 100, 250)  # labels at which answers are held to the truth
OURS = "labelwise"
COLUMNS = Columns("row", "label", prediction="prediction")


def config() -> dict[str, Any]:
    """What the rows depend on besides set and seed."""
    return {
        "experiment": "peers",
        "version": __version__,
        "rounds": len(LOOKS) - 1,  # rows of a campaign, less one: a look each
        "sizes": list(SIZES),
        "looks": list(LOOKS),
        "methods": [OURS, *METHODS],
    }


@lru_cache
def load(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Labels and predictions of a set."""
    file, group = SETS[name] or (name, None)
    path = folder / "ppi" / f"{file}.npz"
    if not path.exists():
        raise InvalidInput(f"There is no {path}", "give the folder that has ppi/", where="data")
    with np.load(path) as stored:
        y, f = (np.asarray(stored[key], float).ravel() for key in ("Y", "Yhat"))
        if group is None:
            return y, f
        chosen = np.asarray(stored["phosphorylated"]).ravel() == group
    return y[chosen], f[chosen]


def work(folder: Path):
    return partial(_work, folder)


def _work(folder: Path, task: Task) -> list[dict[str, Any]]:
    """One campaign of each method, a row a look."""
    y, f = load(task.policy, folder)
    began, rows = time.perf_counter(), []
    ours = _play(y, f, task.seed)
    for index, n in enumerate(LOOKS):
        row: dict[str, Any] = {"policy": task.policy, "seed": task.seed, "round": index}
        row |= {"labels": n, "truth": float(y.mean()), **_flat(OURS, ours[n])}
        for name, method in METHODS.items():
            row |= _flat(name, method.measure(y, f, draw(f, task.seed, index, name)))
        rows.append(row)
    seconds = round((time.perf_counter() - began) / len(rows), 3)
    return [row | {"seconds": seconds} for row in rows]


def draw(f: np.ndarray, seed: int, look: int, method: str) -> Drawn:
    """The rows that a method has labelled at a look."""
    rng = np.random.default_rng([seed, look, list(METHODS).index(method)])
    return METHODS[method].draw(f, LOOKS[look], rng)


def _play(y: np.ndarray, f: np.ndarray, seed: int) -> dict[int, Interval]:
    """The engine's answer at every look."""
    pool = pd.DataFrame({"row": np.arange(len(y)), "prediction": f})
    start = Evaluation.of(
        Tables(None, pool), COLUMNS, "mean", belief="gp-classifier", seed=seed
    )
    reveal = lambda round_: {row: float(y[row]) for row in round_.rows}
    answers = {}
    for now, _ in play_evaluation(start, reveal, SIZES):
        bought = len(now.state.labels)
        if bought in LOOKS:
            estimate = now.estimate()
            answers[bought] = Interval(estimate.value, *estimate.interval())
    return answers


def _flat(name: str, interval: Interval) -> dict[str, float]:
    return {f"{name}_{key}": float(f"{value:.5g}") for key, value in interval._asdict().items()}


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """Of every method: labels for the same width, as a share of classical, and coverage."""
    methods = (OURS, *methods_of(rows))
    cells = {
        f"{name} n={n}": {method: _figures(mine, method) for method in methods}
        for (name, n), mine in rows.groupby(["policy", "labels"], sort=False)
    }
    return {
        "experiment": "peers",
        "command": command,
        "seeds": {
            str(name): int(mine["seed"].nunique()) for name, mine in rows.groupby("policy")
        },
        "seconds": float(rows["seconds"].sum()),
        "cells": cells,
    }


def _figures(rows: pd.DataFrame, method: str) -> dict[str, float]:
    usual = float((rows["classical_high"] - rows["classical_low"]).mean())
    every, rows = len(rows), rows.dropna(subset=[f"{method}_low"])
    low, high, truth = rows[f"{method}_low"], rows[f"{method}_high"], rows["truth"]
    held = float(((low <= truth) & (truth <= high)).mean())
    width = float((high - low).mean())
    return {
        "labels": (width / usual) ** 2,
        "coverage": held,
        "standard_error": float(np.sqrt(max(held * (1.0 - held), 1e-12) / len(rows))),
        "width": width,
        "rmse": float(np.sqrt(((rows[f"{method}_value"] - truth) ** 2).mean())),
        "refused": every - len(rows),
    }


def tabulate(summary: dict[str, Any]) -> Shown:
    shown = Shown(title="Labels for the same width, of classical / coverage", box=SIMPLE)
    shown.add_column("set", no_wrap=True)
    for method in _methods(summary):
        shown.add_column(method, justify="right")
    for name, cell in summary["cells"].items():
        each = (f"{one['labels']:.2f} / {100 * one['coverage']:.0f} %" for one in cell.values())
        shown.add_row(name, *each)
    return shown


def _methods(summary: dict[str, Any]) -> list[str]:
    return list(next(iter(summary["cells"].values()), {}))


def as_markdown(summary: dict[str, Any], methods: Sequence[str] = (OURS, *METHODS)) -> str:
    """The same for the documents, of some methods."""
    lines = [["", *methods], ["---"] + ["---:"] * len(methods)]
    for name, cell in summary["cells"].items():
        some = (cell[method] for method in methods)
        each = (f"{one['labels']:.2f} / {100 * one['coverage']:.0f} %" for one in some)
        lines.append([name, *each])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
