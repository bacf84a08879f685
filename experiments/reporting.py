"""What the studies of simulated policies share: rows, their summary, a table for people."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from rich.box import SIMPLE
from rich.table import Table

from labelwise.simulation import Record
from labelwise.study import Task


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
