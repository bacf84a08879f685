"""`python -m benchmarks NAME`: a table for people, `--json` for programs."""

import os

# Before numpy starts: OpenBLAS's threads fight over busy cores, and Cholesky goes through it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.command()
def optimality(as_json: AsJson = False) -> None:
    """Share of the best subset's gain that each policy attains, by enumeration."""
    from benchmarks import optimality as benchmark

    found = _with_progress(benchmark)
    table = Table(title="Share of the best gain (pool 30, k = 3)")
    table.add_column("policy")
    for family in found:
        table.add_column(f"{family}: mean", justify="right")
        table.add_column("worst", justify="right")
    for policy in benchmark.POLICIES:
        cells = [found[family][policy][key] for family in found for key in ("mean", "worst")]
        table.add_row(policy, *(f"{100 * cell:.2f} %" for cell in cells))
    _show(found, table, as_json)


@app.command()
def planning(as_json: AsJson = False) -> None:
    """Time and memory of planning: beside one product, and on pools of up to 100,000 rows."""
    from benchmarks import planning as benchmark

    found = _with_progress(benchmark)
    table = Table("figure", "value", title="Planning")
    for name, value in found.items():
        text = json.dumps(_rounded(value)) if isinstance(value, dict) else f"{value:.4g}"
        table.add_row(name, text)
    _show(found, table, as_json)


@app.command()
def campaign(as_json: AsJson = False) -> None:
    """What a person waits for: opening, asking and telling on a pool of 20,000 rows."""
    from benchmarks import campaign as benchmark

    found = _with_progress(benchmark)
    table = Table("figure", "value", title="A campaign")
    for name, value in found.items():
        table.add_row(name, f"{value:.4g}")
    _show(found, table, as_json)


@app.command()
def start(as_json: AsJson = False) -> None:
    """What each command costs in a new process: CPU seconds and compiled programs."""
    from benchmarks import start as benchmark

    found = _with_progress(benchmark)
    columns = ("step", "CPU seconds", "programs", "JAX", "× the command's")
    table = Table(*columns, title="A new process for each step")
    for step, cost in found.items():
        seconds, programs = f"{cost['cpu_seconds']:.2f}", str(cost["programs"])
        ratio = f"{cost['over_command']:.2f}" if "over_command" in cost else ""
        table.add_row(step, seconds, programs, "yes" if cost["jax"] else "no", ratio)
    _show(found, table, as_json)


@app.command()
def neural(as_json: AsJson = False) -> None:
    """Gradients through a network's learning beside eager PyTorch, and an ensemble's fit."""
    from benchmarks import neural as benchmark

    found = _with_progress(benchmark)
    if found["eager_absent"]:
        Console(stderr=True).print(f"No comparison: {found['eager_absent']}", markup=False)
    table = Table("figure", "value", title="Networks")
    for name, value in found.items():
        table.add_row(name, json.dumps(_rounded(value)))
    _show(found, table, as_json)


@app.command()
def scale(
    rows: Annotated[
        int | None, typer.Option(help="Only the passes, on a pool of so many rows.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What pools of 10⁶ and 10⁷ rows in files cost, beside reading them with pyarrow alone."""
    from benchmarks import scale as benchmark

    if rows is None:
        found = _with_progress(benchmark)
    else:
        found = benchmark.run(sizes=(benchmark.SIZES[0], rows), asks=False)
    table = Table("figure", "value", title="Pools in files")
    for name, value in found.items():
        table.add_row(name, json.dumps(_rounded(value)))
    _show(found, table, as_json)


@app.command()
def choosing(
    folder: Annotated[
        Path | None, typer.Option(help="Of real tables, as experiments read them; else none.")
    ] = None,
    rows: Annotated[
        Path | None, typer.Option(help="File of figures so far, to go on with.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Share of exact lookahead's gain that landmarks find, and what the pass costs."""
    from benchmarks import choosing as benchmark

    found = benchmark.run(folder=folder, rows_file=rows)
    table = Table("figure", "value", title="Choosing among every row")
    for name, value in found.items():
        table.add_row(name, json.dumps(_rounded(value)))
    _show(found, table, as_json)


def _with_progress(benchmark):
    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task(benchmark.__name__.split(".")[-1], total=benchmark.TOTAL)
        return benchmark.run(lambda: progress.advance(bar))


def _rounded(value):
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return float(f"{value:.4g}") if isinstance(value, int | float) else value


def _show(found, table: Table, as_json: bool) -> None:
    if as_json:
        json.dump(found, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(table)


if __name__ == "__main__":
    app()
