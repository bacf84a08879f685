"""`labelwise status`, `estimate`, `forecast`, `report` and `export`: where one stands."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from labelwise.cli.common import (
    AsJson,
    CampaignPath,
    as_text,
    command,
    messages,
    open_campaign,
    print_json,
    say,
    show,
    warn,
    when,
    working,
)
from labelwise.tables.text import plain

if TYPE_CHECKING:
    from labelwise.campaign.status import Status
    from labelwise.evaluation.estimate import Estimate
    from labelwise.evaluation.plan import Forecast
    from labelwise.evaluation.survey_forecast import Widths

MOST_DIFFERENCES = 5  # features that the first look names


@command
def status(path: CampaignPath, as_json: AsJson = False) -> None:
    """Counts, budget, batches that are out, and how the tables differ.

    Example: labelwise status audit
    """
    from labelwise.campaign.campaign import Campaign

    found = Campaign.open(path).status()
    print_json(found.to_dict()) if as_json else print_status(found)


def print_status(found: "Status") -> None:
    """For people."""
    budget = found.budget
    table = Table(title=f"Campaign {escape(found.name)}", show_header=False)
    how = f"batches by {found.policy}" if found.draw is None else "batches drawn by chance"
    table.add_row("estimand", f"{found.estimand}, {how}")
    table.add_row("initial labels", str(found.rows["labelled"]))
    for fate, count in found.pool.items():
        table.add_row(f"pool rows {fate}", str(count))
    table.add_row("target rows", str(found.rows["target"]))
    total = "no limit" if budget["total"] is None else f"{budget['left']} of {budget['total']}"
    table.add_row("budget left", total)
    if found.stop is not None:
        table.add_row("stops once", found.stop)
    for batch in found.out:
        asked = f"{batch['rows']} rows, asked {when(batch['asked'])}"
        table.add_row(f"batch {batch['batch_id']} is out", asked)
    if found.estimate is not None:
        table.add_row(*_estimate_line(found.estimate))
    show(table)
    warn((found.estimate or {}).get("warnings", []))
    _print_shift(found.shift)
    for note in found.notes:
        say(note)


def _estimate_line(found: dict[str, Any]) -> tuple[str, str]:
    from labelwise.evaluation.answer import RESTS_ON

    low, high = found["interval"]
    age = "" if found["current"] else " (before the latest labels)"
    return (
        escape(found["title"]),
        f"{plain(found['value'])} ± {plain(found['std'], 2)}, {100 * found['level']:.0f} % "
        f"interval {plain(low)} to {plain(high)}, by {RESTS_ON[found['headline']]}{age}",
    )


def _print_shift(shift: dict[str, Any]) -> None:
    table = Table("feature", title="How the tables differ, in standard deviations")
    table.add_column("labelled − target", justify="right")
    table.add_column("pool − target", justify="right")
    for one in shift["differences"][:MOST_DIFFERENCES]:
        table.add_row(escape(one["feature"]), f"{one['labelled']:+.2f}", f"{one['pool']:+.2f}")
    show(table)
    if shift["labelled_auc"] is not None:
        say(
            "A classifier tells labelled from target rows with AUC "
            f"{shift['labelled_auc']:.2f} (0.5: it cannot; 1: always)."
        )
    if shift["pool_auc"] is not None:
        say(f"It tells pool from target rows with AUC {shift['pool_auc']:.2f}.")
    say(
        f"{100 * shift['uncovered']:.0f} % of the target has no labelled neighbour "
        f"({100 * shift['expected_uncovered']:.0f} % if labelled rows were drawn from it)."
    )


@command
def estimate(
    path: CampaignPath,
    level: Annotated[float, typer.Option(help="Of the interval.")] = 0.9,
    as_json: AsJson = False,
) -> None:
    """The estimand given all labels so far, with its interval and what to beware of.

    There are two answers, by rows that chance drew and by the belief; the first line is the
    one to rely on, and a sentence says why.

    Example: labelwise estimate audit --level 0.95
    """
    from labelwise.evaluation.answer import check_level

    check_level(level)
    campaign = open_campaign(path)
    with working("estimating"):
        found = campaign.estimate()
    if as_json:
        print_json(_at_level(found, level))
        return
    _print_answers(found, level)
    if found.beats is not None:
        say(f"the first model is better with chance {found.beats:.2f}, by the belief")
    if found.parts:
        _print_parts(found.parts, level)
    basis, _ = found.basis
    say(basis)
    warn(found.warnings)


def _print_answers(found: "Estimate", level: float) -> None:
    """The headline, the other answer, and why they stand in this order."""
    from labelwise.evaluation.answer import LEVEL

    low, high = found.interval(level)
    say(f"{found.title}: {plain(found.value)}", style="bold")
    say(f"{100 * level:g} % interval {plain(low)} to {plain(high)}, std {plain(found.std, 2)}")
    other = found.other_at(level)
    if other is not None:
        say(other)
    if found.anytime is not None:
        low, high = found.anytime
        say(
            f"right at every look: {100 * LEVEL:g} % interval {plain(low)} to {plain(high)}, "
            "by drawn rows; you may look at it after every batch, and stop when it is narrow "
            "enough"
        )
    say(found.why)


def _at_level(found: "Estimate", level: float) -> dict[str, Any]:
    """Every interval at the level, but for the one that is right at every look."""
    at = lambda answer: {"level": level, "interval": list(answer.interval(level))}
    content, both = found.to_dict(), {"credible": found.credible, "design": found.design}
    told = {
        name: content[name] | at(answer) for name, answer in both.items() if answer is not None
    }
    parts = [_at_level(part, level) for part in found.parts]
    return {**content, **at(found), **told, "parts": parts}


def _print_parts(parts: "Sequence[Estimate]", level: float) -> None:
    """Other estimands, groups and models, a line each."""
    from labelwise.evaluation.answer import RESTS_ON

    table = Table()
    for heading in ("also", "estimate", f"{100 * level:g} % interval", "std", "rests on"):
        is_text = heading in ("also", "rests on")
        table.add_column(heading, justify="left" if is_text else "right")
    for part in parts:
        low, high = part.interval(level)
        value, std = plain(part.value), plain(part.std, 2)
        ends, basis = f"{plain(low)} to {plain(high)}", RESTS_ON[part.headline]
        table.add_row(part.title, value, ends, std, basis)
    show(table)


@command
def check(path: CampaignPath, as_json: AsJson = False) -> None:
    """Each batch's labels against what was predicted of them when it was asked.

    Example: labelwise check audit
    """
    found = open_campaign(path).check()
    if as_json:
        print_json([one.to_dict() for one in found])
        return
    table = Table(title="Labels against their prediction")
    for heading in ("batch", "labels", "in their 90 % interval", "mean z²", "chance"):
        table.add_column(heading, justify="right")
    for one in found:
        inside, chance = f"{100 * one.inside:.0f} %", as_text(one.surprise)
        style = "yellow" if one.contradicted else None
        cells = (str(one.round), str(one.labels), inside, as_text(one.score), chance)
        table.add_row(*cells, style=style)
    show(table)
    say(
        "chance: of labels this far off, jointly, if the belief were right; below 0.01 the "
        "batch contradicts it."
    )


@command
def forecast(
    path: CampaignPath,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds to look ahead; default: what the budget allows.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Also draw it, to a PNG or SVG.")] = None,
    as_json: AsJson = False,
) -> None:
    """Expected standard deviation against further labels, for the plan and for random rows.

    Example: labelwise forecast audit --rounds 5 --figure forecast.png
    """
    campaign = open_campaign(path)
    with Progress(
        TextColumn("planning ahead"), BarColumn(), MofNCompleteColumn(), console=messages
    ) as progress:
        bar = progress.add_task("planning ahead", total=len(campaign.rounds_ahead(rounds)))
        found = campaign.forecast(rounds, lambda: progress.advance(bar))
    if figure is not None:
        from labelwise.figures import plot_forecast

        plot_forecast(found.labels, found.planned, found.random, found.policy, figure)
    if as_json:
        print_json(found.to_dict())
        return
    _print_forecast(found)
    warn(campaign.estimate().warnings)


def _print_forecast(found: "Forecast") -> None:
    table = Table(title="Expected standard deviation of the estimand")
    for heading in ("further labels", found.policy, "random"):
        table.add_column(heading, justify="right")
    for row in zip(found.labels, found.planned, found.random, strict=True):
        table.add_row(*(as_text(value) for value in row))
    show(table)
    say(found.verdict)
    if found.saved:
        say(f"The plan reaches random rows' final precision with {found.saved} labels fewer.")
    if found.draws is not None:
        _print_widths(found.draws)


def _print_widths(found: "Widths") -> None:
    table = Table(title="Expected width of the 90 % interval from drawn rows")
    for heading in ("further labels", "drawn by plan", "drawn uniformly"):
        table.add_column(heading, justify="right")
    for row in zip(found.labels, found.planned, found.uniform, strict=True):
        table.add_row(*(as_text(value) for value in row))
    show(table)
    say(found.verdict)


@command
def report(
    path: CampaignPath,
    out: Annotated[
        Path | None, typer.Option(help="File to write; default: report.html in the campaign.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """One HTML file with the answer, its history and what stands behind it.

    Example: labelwise report audit --out report.html
    """
    campaign = open_campaign(path)
    with working("writing the report"):
        written = campaign.report(out)
    print_json({"file": str(written)}) if as_json else say(f"The report is {written}.")


@command
def export(
    path: CampaignPath,
    out: Annotated[
        Path, typer.Argument(metavar="FILE", help="A .csv, .parquet or .json file.")
    ],
    history: Annotated[
        bool, typer.Option("--history", help="Every event instead of every row.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Every pool row with its state, batch, probability and label; or the whole history.

    Example: labelwise export audit rows.csv
    """
    campaign = open_campaign(path)
    campaign.export(out, history=history)
    print_json({"file": str(out)}) if as_json else say(f"Written to {out}.")
