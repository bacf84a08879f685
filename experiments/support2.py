"""The demonstration's two campaigns, many times over: other patients, other draws.

Labels from sepsis patients at the start; a pool of 1,000 patients; the mean squared error of
the cost model over all patients is to be known. Every campaign is a real one, in a folder. The
policy chooses alone, and the belief takes its hyper-parameters as known: what planning buys,
and what it is worth to believe a belief. (The study `coverage` is about better intervals.)
"""

import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from labelwise.cli.demo import POLICIES, create_campaign, play_campaign, true_error
from labelwise.cli.runs import Task
from labelwise.datasets.support2 import load_support2
from labelwise.evaluation.spec import Sampling
from labelwise.figures import plot_rehearsal
from labelwise.simulation.summary import summarise

ROUNDS, BATCH = 5, 10
NAMES = list(POLICIES.values())
BELIEF = {"name": "gp", "components": 1}


def config() -> dict[str, Any]:
    """What the rows depend on besides policy and seed."""
    return {"experiment": "support2", "rounds": ROUNDS, "batch": BATCH, "truth": truth()}


def truth() -> float:
    return true_error(load_support2())


def work(task: Task) -> list[dict[str, Any]]:
    """One campaign, from its tables to its last label."""
    value = truth()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "campaign"
        sampling = Sampling(task.policy, by=None, batch=BATCH)
        campaign = create_campaign(path, sampling, ROUNDS * BATCH, task.seed, BELIEF)
        return [
            {
                "policy": task.policy,
                "seed": task.seed,
                "round": index,
                **row,
                "error": abs(row["estimate"] - value),
                "covered": float(row["low"] <= value <= row["high"]),
                "seconds": 0.0,
            }
            for index, row in enumerate(
                play_campaign(campaign, ROUNDS, task.seed, believed=True)
            )
        ]


def sum_up(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    return {"command": command, **summarise(rows, truth())}


def draw(rows: pd.DataFrame, out: Path) -> None:
    seeds = rows["seed"].nunique()
    title = f"SUPPORT2: error of a cost model, {seeds} campaigns a policy"
    plot_rehearsal(rows, truth(), out / "error.png", title=title)
