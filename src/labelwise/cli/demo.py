"""The demonstration: three policies on one synthetic problem, with a table and a figure."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from labelwise.datasets.clusters import make_clusters
from labelwise.errors import InvalidInput
from labelwise.figures import plot_rounds
from labelwise.simulation import iterate

POLICIES = ("random", "uncertainty-sequential", "lookahead")


def run_demo(out: Path, rounds: int, batch: int, seed: int, console: Console) -> dict[str, Any]:
    """Simulate every policy, write rows and figure, and return what the table shows."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"Cannot write to {out}: {error.strerror}; choose another --out."
        ) from None
    problem = make_clusters(seed)
    rows = []
    with Progress(
        TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), console=console
    ) as progress:
        for policy in POLICIES:
            bar = progress.add_task(policy, total=rounds)
            for record in iterate(problem, policy, rounds, batch, seed):
                rows.append({"policy": policy, "seed": seed, **record.to_dict()})
                progress.update(bar, completed=record.round)
    frame = pd.DataFrame(rows)
    frame.drop(columns="chosen").to_csv(out / "demo.csv", index=False)
    figure = out / "demo.png"
    plot_rounds(
        frame,
        "variance",
        figure,
        label="variance of the mean squared error",
        title=f"What {rounds} rounds of {batch} labels teach",
    )
    return {
        "problem": problem.name,
        "truth": float(problem.truth),
        "truth_is": problem.truth_is,
        "labels": rounds * batch,
        "figure": str(figure),
        "policies": {policy: _outcome(frame, policy) for policy in POLICIES},
    }


def _outcome(frame: pd.DataFrame, policy: str) -> dict[str, Any]:
    mine = frame[frame["policy"] == policy].sort_values("round")
    last = mine.iloc[-1]
    return {
        "variance_by_round": [float(value) for value in mine["variance"]],
        "estimate": float(last["estimate"]),
        "std": math.sqrt(float(last["variance"])),
        "error": float(last["error"]),
    }


def tabulate(found: dict[str, Any]) -> Table:
    """A table for people."""
    table = Table(
        title=f"Mean squared error of a model after {found['labels']} labels "
        f"(truth {found['truth']:.4f})"
    )
    table.add_column("policy")
    for heading in ("estimate", "std", "std before", "|error|"):
        table.add_column(heading, justify="right")
    for policy, outcome in found["policies"].items():
        table.add_row(
            policy,
            f"{outcome['estimate']:.4f}",
            f"{outcome['std']:.4f}",
            f"{math.sqrt(outcome['variance_by_round'][0]):.4f}",
            f"{outcome['error']:.4f}",
            style="bold" if policy == "lookahead" else None,
        )
    return table
