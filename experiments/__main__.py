"""`python -m experiments NAME`: run a study, resume it, print its table."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy starts its threads

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from labelwise.errors import LabelwiseError

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


class Variant(StrEnum):
    paper = "paper"
    authors = "authors"


@app.callback()
def main() -> None:
    """Studies of Labelwise, one for each figure or table."""


@app.command("synthetic-gp")
def synthetic_gp(
    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figures.")],
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1.")] = 10,
    variant: Annotated[
        Variant, typer.Option(help="The paper's text, or the authors' data and protocol.")
    ] = Variant.paper,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the authors' files (variant authors).")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="Only this policy; repeat for several.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Seven policies on clustered data with a Gaussian-process belief (the paper's figures).

    Example: python -m experiments synthetic-gp --seeds 10 --out results/synthetic-gp
    """
    from experiments import synthetic_gp as study
    from labelwise.study import Study, Task

    console = Console(stderr=True)
    try:
        known = study.policies(variant)
        names = policy or list(known)
        unknown = [name for name in names if name not in known]
        if unknown:
            raise LabelwiseError(
                f"There is no policy {unknown[0]!r}; there are {', '.join(known)}."
            )
        tasks = [Task(name, seed) for name in names for seed in range(seeds)]
        rows = Study(out, study.config(variant, data)).run(
            tasks, study.work(variant, data), jobs, console
        )
    except LabelwiseError as error:
        console.print(str(error), style="red", highlight=False)
        raise typer.Exit(2) from None
    command = " ".join(["python -m experiments", *sys.argv[1:]])
    summary = study.summarise(rows, variant, command)
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    study.draw(rows, out, variant)
    if as_json:
        json.dump(summary, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(_table(summary))


@app.command()
def support2(
    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figure.")],
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1.")] = 20,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """The demonstration's campaigns on real patients, many times over.

    Example: python -m experiments support2 --seeds 20 --out results/support2
    """
    from experiments import support2 as study
    from labelwise.cli.simulation import tabulate
    from labelwise.study import Study, Task

    console = Console(stderr=True)
    tasks = [Task(name, seed) for name in study.NAMES for seed in range(seeds)]
    try:
        rows = Study(out, study.config()).run(tasks, study.work, jobs, console)
    except LabelwiseError as error:
        console.print(str(error), style="red", highlight=False)
        raise typer.Exit(2) from None
    command = " ".join(["python -m experiments", *sys.argv[1:]])
    summary = study.sum_up(rows, command)
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    study.draw(rows, out)
    if as_json:
        json.dump(summary, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(tabulate(summary))


def _table(summary) -> Table:
    table = Table(title=f"Variance of the estimand, mean of {summary['seeds']} seeds")
    rounds = [0, 1, 2, 3, 5, 7, 10]
    table.add_column("policy")
    for index in rounds:
        table.add_column(f"t={index}", justify="right")
    table.add_column("error at 10", justify="right")
    table.add_column("s a round", justify="right")
    for name, values in summary["variance_by_round"].items():
        table.add_row(
            name,
            *(f"{values[index]:.5f}" for index in rounds),
            f"{summary['error_by_round'][name][-1]:.4f}",
            f"{summary['seconds_a_round'][name]:.3f}",
        )
    return table


if __name__ == "__main__":
    app()
