"""What the studies of simulated policies share: rows, their summary, a table for people."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.table import Table

from labelwise.cli.runs import Task
from labelwise.estimands.base import AbstractEstimand
from labelwise.simulation.loop import Record, RoundResult, measure
from labelwise.simulation.problem import Problem
from labelwise.simulation.summary import falling, summarise

NORMAL_90 = 1.645  # standard deviations on either side of the mean


def to_rows(task: Task, records: Sequence[Record]) -> list[dict[str, Any]]:
    """One row a round, for the study's file."""
    return [
        {
            "policy": task.policy,
            "seed": task.seed,
            "round": record.round,
            "variance": record.variance,
            "estimate": record.estimate,
            "error": record.error,
            "seconds": round(record.seconds, 4),
            "chosen": " ".join(map(str, record.chosen)),
        }
        for record in records
    ]


def summarise_rounds(rows: pd.DataFrame, policies: Sequence[str]) -> dict[str, Any]:
    """Means and standard errors by round, and how the final variances compare."""
    order = [name for name in policies if name in set(rows["policy"])]
    table = lambda column, how: {
        name: [
            float(value)
            for value in getattr(
                rows[rows["policy"] == name].groupby("round")[column], how
            )().fillna(0.0)
        ]
        for name in order
    }
    variance = table("variance", "mean")
    final = {name: values[-1] for name, values in variance.items()}
    return {
        "variance_by_round": variance,
        "variance_standard_error": table("variance", "sem"),
        "error_by_round": table("error", "mean"),
        "error_standard_error": table("error", "sem"),
        "final_variance": final,
        "lookahead_over": {
            name: final["lookahead"] / value
            for name, value in final.items()
            if "lookahead" in final
        },
        "seconds_a_round": {
            name: float(
                rows[(rows["policy"] == name) & (rows["round"] > 1)]["seconds"].median()
            )
            for name in order
        },
    }


def compare_by_seed(rows: pd.DataFrame, column: str) -> dict[str, dict[str, float]]:
    """Lookahead minus each policy in the last round: mean and standard error over seeds."""
    last = rows[rows["round"] == rows["round"].max()]
    final = last.pivot(index="seed", columns="policy", values=column)
    if "lookahead" not in final:
        return {}
    others = final.drop(columns="lookahead")
    less = others.rsub(final["lookahead"], axis=0)
    return {
        str(name): {
            "mean": float(less[name].mean()),
            "standard_error": float(less[[name]].sem().fillna(0.0).iloc[0]),
        }
        for name in others
    }


def in_order(rows: pd.DataFrame, policies: Sequence[str]) -> pd.DataFrame:
    """The rows of some policies, in that order: for figures, whose legends follow it."""
    mine = rows[rows["policy"].isin(list(policies))]
    rank = mine["policy"].map({name: index for index, name in enumerate(policies)})
    return mine.assign(rank=rank).sort_values("rank", kind="stable").drop(columns="rank")


def tabulate(summary: dict[str, Any], style: str = ".5f") -> Table:
    """Variances by round, the last error and the time, a policy a row, in 80 columns."""
    last = summary["rounds"]
    rounds = [index for index in (0, 1, 5) if index < last] + [last]
    title = f"Variance of the estimand, mean of {summary['seeds']} seeds"
    table = Table(title=title, box=SIMPLE)
    table.add_column("policy", no_wrap=True)
    for heading in (*(f"t={index}" for index in rounds), f"error at {last}", "s a round"):
        table.add_column(heading, justify="right")
    for name, values in summary["variance_by_round"].items():
        table.add_row(
            name,
            *(f"{values[index]:{style}}" for index in rounds),
            f"{summary['error_by_round'][name][-1]:.4f}",
            f"{summary['seconds_a_round'][name]:.3f}",
        )
    return table


def judge_rounds(
    task: Task, rounds: Iterable[RoundResult], problem: Problem, batch: int
) -> list[dict[str, Any]]:
    """One row a round: the answer with its 90 % interval, held to the truth."""
    return [
        {
            "policy": task.policy,
            "seed": task.seed,
            "round": played.index,
            "labels": played.index * batch,
            **judge(played, problem.estimand, float(problem.truth)),
            "seconds": round(played.seconds, 4),
            "chosen": " ".join(map(str, played.chosen)),
        }
        for played in rounds
    ]


def judge(played: RoundResult, estimand: AbstractEstimand, truth: float) -> dict[str, float]:
    """Mean and standard deviation of an estimand, and a normal interval around the mean."""
    estimate, variance = measure(played, estimand)
    std = variance**0.5
    low, high = estimate - NORMAL_90 * std, estimate + NORMAL_90 * std
    return {
        "truth": truth,
        "estimate": estimate,
        "std": std,
        "low": low,
        "high": high,
        "error": abs(estimate - truth),
        "covered": float(low <= truth <= high),
    }


def sum_up_labels(rows: pd.DataFrame, policies: Sequence[str]) -> dict[str, Any]:
    """By labels bought: standard deviation, error, coverage; and what random is worth.

    `labels_needed` reads curves averaged over seeds; `share_of_random` compares seed by seed.
    """
    rows = in_order(rows, policies)
    found = summarise(rows, float(rows["truth"].mean()))
    end = int(rows["round"].max())
    return {
        **found,
        "rounds": end,
        "share_of_random": shares_of_random(rows),
        "coverage_after_round_0": _by_policy(rows[rows["round"] > 0], "covered", "mean"),
        "std_standard_error": _by_policy(rows[rows["round"] == end], "std", "sem"),
        "seconds_a_round": _by_policy(rows[rows["round"] > 1], "seconds", "median"),
    }


def shares_of_random(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """For every policy but random."""
    names = list(rows["policy"].unique())
    if "random" not in names:
        return {}
    return {name: share_of_random(rows, name) for name in names if name != "random"}


def share_of_random(rows: pd.DataFrame, policy: str) -> dict[str, float]:
    """Labels a policy needs for random's final standard deviation, over random's own.

    Curves of each seed are made to fall, with straight lines between rounds; the share is of
    the mean needs, its standard error from the seeds. Where a policy never gets there, all
    labels count, which is too few: `never` says how often.
    """
    curves = {
        name: rows[rows["policy"] == name].pivot(index="seed", columns="labels", values="std")
        for name in ("random", policy)
    }
    labels = curves["random"].columns.to_numpy(float)
    needs, never = [], 0
    for seed in curves["random"].index.intersection(curves[policy].index):
        random, own = (falling(list(curve.loc[seed])) for curve in curves.values())
        both = [first_below(labels, curve, random[-1]) for curve in (random, own)]
        never += int(both[1] is None)
        needs.append([labels[-1] if need is None else need for need in both])
    randoms, owns = np.array(needs).T
    share = float(owns.sum() / randoms.sum()) if randoms.any() else 1.0
    apart = owns - share * randoms
    error = np.std(apart, ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else 0.0
    scale = max(float(randoms.mean()), 1e-12)
    return {"mean": share, "standard_error": float(error) / scale, "never": never}


def first_below(labels: np.ndarray, values: list[float], goal: float) -> float | None:
    """Where a falling curve reaches a goal, on the straight line between two rounds."""
    reached = [index for index, value in enumerate(values) if value <= goal * (1.0 + 1e-12)]
    if not reached:
        return None
    index = reached[0]
    if index == 0:
        return float(labels[0])
    above, below = values[index - 1], values[index]
    return float(np.interp(above - goal, [0.0, above - below], labels[index - 1 : index + 1]))


def tabulate_labels(summary: dict[str, Any], style: str = ".3g") -> Table:
    """A policy a row: where it ends, coverage, and labels needed for random's final std."""
    last = next(iter(summary["policies"].values()))["labels"][-1]
    title = (
        f"After {last} labels, mean of {summary['seeds']} seeds; share: labels "
        "needed for\nrandom's final standard deviation, of those that random needs"
    )
    table = Table(title=title, box=SIMPLE)
    table.add_column("policy", no_wrap=True)
    for heading in ("std", "rmse", "covered", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, found in summary["policies"].items():
        table.add_row(
            name,
            f"{found['std'][-1]:{style}}",
            f"{found['rmse'][-1]:{style}}",
            f"{summary['coverage_after_round_0'][name]:.0%}",
            _share(summary["share_of_random"].get(name), summary["seeds"]),
        )
    return table


def _share(share: dict[str, float] | None, seeds: int) -> str:
    if share is None:
        return ""
    if share["never"] == seeds:
        return "never"
    return f"{share['mean']:.2f} ± {share['standard_error']:.2f}"


def _by_policy(rows: pd.DataFrame, column: str, how: str) -> dict[str, float]:
    figures = getattr(rows.groupby("policy", sort=False)[column], how)().fillna(0.0)
    return {str(name): float(value) for name, value in figures.items()}


def to_table(headings: Sequence[str], lines: Sequence[Sequence[str]], title: str = "") -> Table:
    """For the eye, in a terminal."""
    shown = Table(title=title or None)
    for heading in headings:
        shown.add_column(heading)
    for line in lines:
        shown.add_row(*line)
    return shown


def to_markdown(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """The same for the documents: names to the left, figures to the right."""
    rule = ("---", *["---:"] * (len(headings) - 1))
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, rule, *lines))
