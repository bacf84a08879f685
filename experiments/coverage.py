"""How far can you trust the interval? Many campaigns, and how often each interval held.

Eight problems, real and made up, with first labels from one corner of the data; then 50 labels
in ten rounds, drawn by chance or chosen by lookahead, of a pool that is also the target. Four
kinds of 90 % interval are held to the truth: of a belief that takes its best hyper-parameters
as known, of a mixture over them (after drawn and after planned labels), of the draws alone
(design-based, looked at once or at every look), and the classical one from as many labels
drawn uniformly. A seed is a campaign.
"""

import time
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.table import Table

from experiments import coverage_campaign as campaign
from experiments.coverage_campaign import ESTIMANDS, LEVEL
from experiments.coverage_problems import CELLS, draw
from labelwise.beliefs.fit_mixture import CANDIDATES, COMPONENTS
from labelwise.beliefs.mixture import Mixture
from labelwise.cli.runs import Task
from labelwise.survey.variance_floor import WORTH

PLANNED = 100  # campaigns whose labels are also planned, which takes as long as all the rest
NOTHING = campaign.Answer(np.nan, np.nan, np.nan)
KINDS = {
    "classical": "classical, uniform draws",
    "plain": "belief, hyper-parameters as known",
    "mixture": "belief, mixture",
    "planned": "belief, mixture, planned labels",
    "design": "design-based",
    "anytime": "design-based, at every look",
}
COLOURS = {
    "classical": "#999999",
    "plain": "#D55E00",
    "mixture": "#56B4E9",
    "planned": "#0072B2",
    "design": "#009E73",
    "anytime": "#CC79A7",
}
HEAVY = ("heavy-tails",)  # squared errors whose spread rests on a few large ones
MAIN = {True: "brier", False: "mse"}
TITLES = {
    "brier": "Brier score",
    "accuracy": "accuracy",
    "recall": "recall",
    "mse": "mean squared error",
    "mae": "mean absolute error",
    "mean": "mean outcome",
}


def config() -> dict[str, Any]:
    """What the rows depend on besides problem and seed."""
    return {
        "experiment": "coverage",
        "rounds": 2,  # rows of a campaign, less one: an estimand each
        "batches": campaign.ROUNDS,
        "batch": campaign.BATCH,
        "floor": campaign.FLOOR,
        "level": LEVEL,
        "components": COMPONENTS,
        "candidates": CANDIDATES * COMPONENTS,
        "fitted_before_batches": list(campaign.REFRESHED),
        "plan_rows": campaign.PLAN_ROWS,
        "plan_components": campaign.PLAN_COMPONENTS,
        "plan_draws": campaign.PLANNER.draws,
        "plan_worlds": campaign.PLANNER.worlds,
        "draws": campaign.DRAWS,
        "looks": campaign.LOOKS.tolist(),
        "planned_campaigns": PLANNED,
        "foreseen_worth": WORTH,
    }


def work(data: Path | None, cache: Path | None):
    return partial(_work, data, cache)


def _work(data: Path | None, cache: Path | None, task: Task) -> list[dict[str, Any]]:
    """One campaign with drawn labels and one with planned ones; a row an estimand."""
    began = time.perf_counter()
    binary = CELLS[task.policy].binary
    problem = draw(task.policy, task.seed, data, cache)
    first = campaign.fit(campaign.Labels(problem, binary), None, task.seed)
    drawn = campaign.buy(problem, binary, task.seed, True, first)
    beliefs = {
        "plain": (Mixture.of([drawn.fit.best.prior]), drawn),
        "mixture": (drawn.fit.prior, drawn),
    }
    if task.seed < PLANNED:
        planned = campaign.buy(problem, binary, task.seed, False, first)
        beliefs["planned"] = (planned.fit.prior, planned)
    credible = {
        kind: campaign.credible_answers(
            campaign.condition(prior, bought.labels), bought.labels, task.seed
        )
        for kind, (prior, bought) in beliefs.items()
    }
    rows = []
    for index, name in enumerate(ESTIMANDS[binary]):
        design = campaign.design_answer(drawn, name)
        answers = {
            "classical": campaign.classical_answer(problem, name, task.seed),
            **{kind: found[name] for kind, found in credible.items()},
            **({} if "planned" in credible else {"planned": NOTHING}),
            "design": design.once,
            "anytime": design.always,
        }
        row = {
            "policy": task.policy,
            "seed": task.seed,
            "round": index,
            "estimand": name,
            "truth": campaign.truth_of(problem, name),
            "ever_missed": int(design.ever_missed),
            "heavy": int(design.heavy),
        }
        for kind, one in answers.items():
            row |= {
                f"{kind}_value": one.value,
                f"{kind}_low": one.low,
                f"{kind}_high": one.high,
            }
        rows.append({key: _short(value) for key, value in row.items()})
    seconds = round((time.perf_counter() - began) / len(rows), 3)
    return [row | {"seconds": seconds} for row in rows]


def _short(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """Coverage, width and error of every interval in every cell, and what they must show."""
    cells = {
        f"{cell} {name}": _cell(mine)
        for (cell, name), mine in rows.groupby(["policy", "estimand"], sort=False)
    }
    return {
        "experiment": "coverage",
        "command": command,
        "level": LEVEL,
        "campaigns": {
            str(cell): int(mine["seed"].nunique()) for cell, mine in rows.groupby("policy")
        },
        "seconds": float(rows["seconds"].sum()),
        "cells": cells,
        "pooled": {kind: _pooled(cells, kind) for kind in KINDS},
        "pooled_main": {kind: _pooled(_main(cells), kind) for kind in KINDS},
        "ever_missed_bounded": float(
            np.mean([one["ever_missed"] for one in cells.values() if not one["heavy_cell"]])
        ),
    }


def _cell(rows: pd.DataFrame) -> dict[str, Any]:
    kinds = {kind: _kind(rows, kind) for kind in KINDS}
    return {
        "campaigns": len(rows),
        "heavy_cell": str(rows["policy"].iloc[0]) in HEAVY,
        "ever_missed": float(rows["ever_missed"].mean()),
        "flagged_heavy": float(rows["heavy"].mean()),
        "kinds": kinds,
    }


def _kind(rows: pd.DataFrame, kind: str) -> dict[str, Any]:
    """One kind of interval; not all campaigns have all kinds."""
    rows = rows[rows[f"{kind}_low"].notna()]
    truth, low, high = rows["truth"], rows[f"{kind}_low"], rows[f"{kind}_high"]
    covered = float(((low <= truth) & (truth <= high)).mean())
    spread = max(covered * (1.0 - covered), 1e-12)
    classical = float((rows["classical_high"] - rows["classical_low"]).mean())
    width = float((high - low).mean())
    return {
        "campaigns": len(rows),
        "coverage": covered,
        "standard_error": float(np.sqrt(spread / max(len(rows), 1))),
        "width": width,
        "relative_width": width / classical,
        "rmse": float(np.sqrt(((rows[f"{kind}_value"] - truth) ** 2).mean())),
    }


def _main(cells: dict[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in cells.items() if key.split()[1] in MAIN.values()}


def _pooled(cells: dict[str, Any], kind: str) -> float:
    return float(np.mean([one["kinds"][kind]["coverage"] for one in cells.values()]))


def tabulate(summary: dict[str, Any]) -> Table:
    table = Table(title="Coverage of 90 % intervals / width relative to classical", box=SIMPLE)
    table.add_column("cell", no_wrap=True)
    for kind in KINDS:
        table.add_column(kind, justify="right")
    table.add_column("ever missed", justify="right")
    for key, cell in summary["cells"].items():
        entries = [
            f"{one['coverage']:.2f}/{one['relative_width']:.2f}"
            for one in cell["kinds"].values()
        ]
        table.add_row(key, *entries, f"{cell['ever_missed']:.2f}")
    pooled = [f"{summary['pooled'][kind]:.3f}" for kind in KINDS]
    table.add_row("all", *pooled, f"{summary['ever_missed_bounded']:.2f}")
    return table


def plot(summary: dict[str, Any], folder: Path) -> None:
    """Coverage and relative width of the main estimand's intervals, a problem a line."""
    cells = _main(summary["cells"])
    figure = matplotlib.figure.Figure(figsize=(9.0, 5.2), layout="constrained", dpi=150)
    left, right = figure.subplots(1, 2, sharey=True)
    shown = [kind for kind in KINDS if kind != "anytime"]
    places = np.arange(len(cells))[::-1]
    for index, kind in enumerate(shown):
        found = [one["kinds"][kind] for one in cells.values()]
        at = places + 0.13 * (len(shown) / 2 - index)
        style = {"fmt": "o", "color": COLOURS[kind], "ms": 5, "label": KINDS[kind]}
        errors = [200.0 * one["standard_error"] for one in found]
        left.errorbar([100.0 * one["coverage"] for one in found], at, xerr=errors, **style)
        right.plot([one["relative_width"] for one in found], at, "o", color=COLOURS[kind], ms=5)
    left.axvline(100.0 * LEVEL, color="black", linestyle="--", linewidth=1.0)
    right.axvline(1.0, color="black", linestyle="--", linewidth=1.0)
    left.set_yticks(places, [key.rsplit(" ", 1)[0] for key in cells])
    left.set_xlabel("intervals that hold the truth, % (bars: two standard errors)")
    right.set_xlabel("mean width, relative to the classical interval")
    right.set_xlim(left=0.0)
    for axes in (left, right):
        axes.grid(axis="x", alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=3)
    figure.suptitle("How far can you trust a 90 % interval? (Brier score, or MSE)", fontsize=11)
    figure.savefig(folder / "coverage.png")


def as_markdown(summary: dict[str, Any]) -> str:
    """The main estimand's cells, and the others', as two tables for the documents."""
    shown = [kind for kind in KINDS if kind != "anytime"]
    main = _main(summary["cells"])
    others = {key: one for key, one in summary["cells"].items() if key not in main}
    return "\n\n".join(_markdown(cells, shown) for cells in (main, others))


def _markdown(cells: dict[str, Any], shown: list[str]) -> str:
    lines = [
        "| | " + " | ".join(KINDS[kind] for kind in shown) + " | ever missed |",
        "|---|" + "---|" * (len(shown) + 1),
    ]
    for key, cell in cells.items():
        name, estimand = key.split(" ")
        entries = [
            f"{one['coverage']:.2f} / {one['relative_width']:.2f}"
            for one in (cell["kinds"][kind] for kind in shown)
        ]
        missed = f"{100 * cell['ever_missed']:.0f} %"
        lines.append(f"| {name}, {TITLES[estimand]} | {' | '.join(entries)} | {missed} |")
    return "\n".join(lines)
