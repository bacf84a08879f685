"""The commands of `labelwise`."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from labelwise import __version__

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Know how good your model is, with the fewest labels.",
)


def _print_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"labelwise {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Know how good your model is, with the fewest labels."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figure and the rows.")] = Path(
        "demo"
    ),
    rounds: Annotated[int, typer.Option(min=1, max=20, help="Rounds of labels.")] = 6,
    batch: Annotated[int, typer.Option(min=1, max=20, help="Labels a round.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Which problem, and which draws.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of a table.")
    ] = False,
) -> None:
    """Plan labels for a made-up model evaluation, beside random and uncertainty sampling.

    Example: labelwise demo --rounds 8 --out demo
    """
    console = Console(stderr=True)
    from labelwise.errors import LabelwiseError

    try:
        with console.status("starting JAX"):
            from labelwise.cli.demo import run_demo, tabulate
        found = run_demo(out, rounds, batch, seed, console)
    except LabelwiseError as error:
        console.print(str(error), style="red", highlight=False)
        raise typer.Exit(2) from None
    if as_json:
        json.dump(found, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(tabulate(found))
        Console().print(f"Figure: {found['figure']}", highlight=False)
