"""Two campaigns on the demonstration's tables, many times over: other patients, other draws.

Labels from sepsis patients at the start; a pool of 1,000 patients; the mean squared error of
the cost model over all patients is to be known. The engine plays every campaign. The policy
chooses alone, and the belief takes its hyper-parameters as known: what planning buys,
and what it is worth to believe a belief. (The study `coverage` is about better intervals.)
"""

from pathlib import Path
from typing import Any

import pandas as pd

from labelwise.cli.demo import POLICIES
from labelwise.cli.runs import Task
from labelwise.datasets.support2 import COLUMNS, LABEL, draw_support2, hide_labels, true_error
from labelwise.evaluation.prepare import prepare
from labelwise.evaluation.spec import Limits, Sampling
from labelwise.figures import plot_rehearsal
from labelwise.simulation.play import play_evaluation
from labelwise.simulation.summary import summarise

ROUNDS, BATCH = 5, 10
NAMES = list(POLICIES.values())
BELIEF = {"name": "gp", "components": 1}


def config() -> dict[str, Any]:
    """What the rows depend on besides policy and seed."""
    return {"experiment": "support2", "rounds": ROUNDS, "batch": BATCH, "truth": true_error()}


def work(task: Task) -> list[dict[str, Any]]:
    """One campaign, from its tables to its last label: the belief's answers."""
    labelled, pool = draw_support2(task.seed)
    prepared = prepare(
        hide_labels(labelled, pool),
        COLUMNS,
        belief=BELIEF,
        sampling=Sampling(task.policy, by=None, batch=BATCH),
        limits=Limits(budget=ROUNDS * BATCH),
        seed=task.seed,
    )
    truth, rows = true_error(), []
    reveal = lambda round_: {row: float(pool[LABEL].iloc[row]) for row in round_.rows}
    played = play_evaluation(prepared.evaluation(), reveal, [BATCH] * ROUNDS)
    for index, (evaluation, _) in enumerate(played):
        answer = evaluation.estimate().credible
        low, high = answer.interval()
        rows.append(
            {
                "policy": task.policy,
                "seed": task.seed,
                "round": index,
                "labels": index * BATCH,
                "estimate": answer.value,
                "std": answer.std,
                "low": low,
                "high": high,
                "error": abs(answer.value - truth),
                "covered": float(low <= truth <= high),
                "seconds": 0.0,
            }
        )
    return rows


def sum_up(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    return {"command": command, **summarise(rows, true_error())}


def draw(rows: pd.DataFrame, out: Path) -> None:
    seeds = rows["seed"].nunique()
    title = f"SUPPORT2: error of a cost model, {seeds} campaigns a policy"
    plot_rehearsal(rows, true_error(), out / "error.png", title=title)
