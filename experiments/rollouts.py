"""What more roll-outs buy: the synthetic experiment by their number a step, and the seconds.

The paper's last two figures, with what it leaves out: a baseline, other relaxations, the
time that each takes, and `lookahead` as a line. The objective is sampled, as in the paper.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 7.3.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
from rich.box import SIMPLE
from rich.table import Table

from experiments.reporting import summarise_rounds, to_rows
from labelwise.cli.runs import Task
from labelwise.datasets.synthetic import ClusterDesign, make_clusters
from labelwise.figures import line_of, save, two_panels
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.optimise import Training
from labelwise.policies.registry import describe_policy, make_policy
from labelwise.policies.reinforce import Reinforce
from labelwise.simulation.loop import simulate

ROUNDS, BATCH = 10, 5
COUNTS = (1, 10, 100, 1000)
DASHES = {"reinforce-plain": ":", "reinforce-baseline": "-", "smoothed-autodiff-letter": ":"}
DASHES |= {"smoothed-autodiff-precision": "--", "smoothed-autodiff": "-"}


def _policies() -> dict[str, AbstractPolicy]:
    found: dict[str, AbstractPolicy] = {"lookahead": make_policy("lookahead")}
    for count in COUNTS:
        training = Training(objective="sampled", rollouts=count)
        found[f"reinforce-plain@{count}"] = Reinforce(training, baseline=False)
        if count > 1:
            found[f"reinforce-baseline@{count}"] = Reinforce(training)
        found[f"smoothed-autodiff-letter@{count}"] = SmoothedAutodiff(
            training, relaxation="letter"
        )
        found[f"smoothed-autodiff-precision@{count}"] = SmoothedAutodiff(
            training, relaxation="precision"
        )
        found[f"smoothed-autodiff@{count}"] = SmoothedAutodiff(training)
    return found


POLICIES = _policies()


def config() -> dict[str, Any]:
    return {
        "experiment": "rollouts",
        "rounds": ROUNDS,
        "batch": BATCH,
        "data": asdict(ClusterDesign()),
        "policies": {name: describe_policy(policy) for name, policy in POLICIES.items()},
    }


def work(task: Task) -> list[dict[str, Any]]:
    """One policy on one data set; a row a round."""
    problem, policy = make_clusters(task.seed), POLICIES[task.policy]
    return to_rows(task, simulate(problem, policy, ROUNDS, BATCH, task.seed))


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    return {
        "experiment": "rollouts",
        "command": command,
        "seeds": int(rows["seed"].nunique()),
        "rounds": ROUNDS,
        **summarise_rounds(rows, list(POLICIES)),
    }


def tabulate(summary: dict[str, Any]) -> Table:
    """A policy a row, a number of roll-outs a column: final variance, and seconds a round."""
    table = Table(title="Final variance (seconds a round), by roll-outs a step", box=SIMPLE)
    table.add_column("policy", no_wrap=True)
    for count in COUNTS:
        table.add_column(str(count), justify="right")
    final, seconds = summary["final_variance"], summary["seconds_a_round"]
    for family in dict.fromkeys(name.partition("@")[0] for name in final):
        cells = []
        for count in COUNTS:
            name = family if family in final else f"{family}@{count}"
            told = f"{final[name]:.5f} ({seconds[name]:.2f})" if name in final else ""
            cells.append(told)
        table.add_row(family, *cells)
    return table


def as_markdown(summary: dict[str, Any]) -> str:
    """Final variance with its standard error, error and seconds, a policy a row."""
    heading = "| policy @ roll-outs | variance after 10 rounds | error | seconds a round |"
    lines = [heading, "|---|---|---|---|"]
    for name, value in summary["final_variance"].items():
        doubt = summary["variance_standard_error"][name][-1]
        error, seconds = summary["error_by_round"][name][-1], summary["seconds_a_round"][name]
        lines.append(f"| `{name}` | {value:.5f} ± {doubt:.5f} | {error:.3f} | {seconds:.2f} |")
    return "\n".join(lines)


def draw(rows: pd.DataFrame, folder: Path) -> None:
    """Final variance against roll-outs, and against the seconds that they take."""
    figure, (left, right) = two_panels("variance after the last round", "")
    last = rows[rows["round"] == rows["round"].max()]
    variance = last.groupby("policy")["variance"].mean()
    seconds = rows[rows["round"] > 0].groupby("policy")["seconds"].median()
    for family, dash in DASHES.items():
        counts = [count for count in COUNTS if f"{family}@{count}" in variance]
        names = [f"{family}@{count}" for count in counts]
        line = line_of(family) | {"linestyle": dash, "marker": "o", "markersize": 4}
        left.plot(counts, variance[names], **line)
        right.plot(seconds[names], variance[names], **line)
    for axes, label in ((left, "roll-outs a step"), (right, "seconds a round")):
        if "lookahead" in variance:
            axes.axhline(variance["lookahead"], **line_of("lookahead"))
        axes.set(xscale="log", yscale="log", xlabel=label)
    left.legend(frameon=False, fontsize=7)
    figure.suptitle("What roll-outs buy on the synthetic problem", fontsize=11)
    save(figure, folder / "rollouts.png")
