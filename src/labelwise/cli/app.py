"""The commands of `labelwise`, gathered."""

from typing import Annotated

import typer

from labelwise import __version__
from labelwise.cli import (
    ask,
    check,
    estimate,
    forecast,
    metrics,
    new,
    passing,
    safety,
    simulate,
    tell,
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Know how good your model is, with the fewest labels.",
    pretty_exceptions_enable=False,
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


for command in (
    new.new,
    ask.ask,
    tell.tell,
    tell.skip,
    tell.fail,
    tell.correct,
    estimate.status,
    ask.plan,
    estimate.estimate,
    passing.refine,
    check.check,
    forecast.forecast,
    estimate.report,
    estimate.export,
    safety.backup,
    safety.verify,
    simulate.simulate,
    simulate.demo,
    metrics.metrics,
):
    app.command()(command)
