"""`labelwise forecast`: what further labels are expected to bring."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from labelwise.cli.common import (
    AsJson,
    CampaignPath,
    command,
    messages,
    open_campaign,
    print_json,
    say,
    warn,
)
from labelwise.cli.tables import show_numbers

if TYPE_CHECKING:
    from labelwise.evaluation.plan import Forecast


@command
def forecast(
    path: CampaignPath,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds to look ahead; default: what the budget allows.")
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(help="Also say how many labels a 90 % interval this narrow should take."),
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Also draw it, to a PNG or SVG.")] = None,
    as_json: AsJson = False,
) -> None:
    """What further labels are expected to bring, for the plan and for random rows.

    Example: labelwise forecast audit --width 0.05 --figure forecast.png
    """
    campaign = open_campaign(path)
    if width is not None:  # before the planning, which takes a while
        from labelwise.inputs import as_positive

        as_positive("width", width)
    with Progress(
        TextColumn("planning ahead"), BarColumn(), MofNCompleteColumn(), console=messages
    ) as progress:
        bar = progress.add_task("planning ahead", total=len(campaign.rounds_ahead(rounds)))
        ahead = campaign.forecast(rounds, lambda: progress.advance(bar))
    if figure is not None:
        from labelwise.figures import plot_forecast

        plot_forecast(ahead.labels, ahead.planned, ahead.random, ahead.policy, figure)
    needed = None if width is None else ahead.labels_for(width)
    if as_json:
        print_json(ahead.to_dict() | ({} if needed is None else {"needed": needed.to_dict()}))
        return
    _print_forecast(ahead)
    if needed is not None:
        say(needed.line)
    warn(campaign.estimate().warnings)


def _print_forecast(forecast: "Forecast") -> None:
    whose = "estimand" if forecast.draws is None else "belief's own answer"
    title = f"Expected standard deviation of the {whose}"
    rows = zip(forecast.labels, forecast.planned, forecast.random, strict=True)
    show_numbers(("further labels", forecast.policy, "random"), rows, title)
    if forecast.draws is None:
        say(forecast.verdict)
    if forecast.saved:
        fewer = f"with {forecast.saved} labels fewer"
        say(f"The plan reaches random rows' final precision {fewer}.")
    if forecast.draws is not None:
        widths = forecast.draws
        title = "Expected width of the 90 % interval"
        rows = zip(widths.labels, widths.planned, widths.uniform, strict=True)
        show_numbers(("further labels", "as planned", "plain average"), rows, title)
        say(widths.verdict)
