"""`labelwise status`, `estimate`, `report` and `export`: where one stands."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from labelwise.campaign.store.chain import SHORT
from labelwise.cli.common import (
    AsJson,
    CampaignPath,
    command,
    open_campaign,
    print_json,
    say,
    show,
    warn,
    when,
    working,
)
from labelwise.cli.tables import show_numbers
from labelwise.evaluation.fates import AT_RANDOM
from labelwise.tables.text import plain

if TYPE_CHECKING:
    from labelwise.campaign.status import Status
    from labelwise.evaluation.estimate import Estimate

MOST_DIFFERENCES = 5  # features that the first look names
SHARED = ("belief", "fates", "if_missing_at_random", "head", "warnings", "enough", "parts")
LONG = ("quantiles", "probabilities", "position")  # in JSON only where they are asked for


@command
def status(path: CampaignPath, as_json: AsJson = False) -> None:
    """Counts, budget, batches that are out, and how the tables differ.

    Example: labelwise status audit
    """
    from labelwise.campaign.campaign import Campaign

    state = Campaign.open(path).status()
    print_json(state.to_dict()) if as_json else print_status(state)


def print_status(status: "Status") -> None:
    """Print it for people."""
    budget = status.budget
    how = f"batches by {status.policy}" if status.draw is None else "batches drawn by chance"
    left = "no limit" if budget["total"] is None else f"{budget['left']} of {budget['total']}"
    rows = {
        "estimand": f"{_asked(status)}, {how}",
        "initial labels": str(status.rows["labelled"]),
        **{f"pool rows {fate}": str(count) for fate, count in status.pool.items()},
        **_drawn(status.drawn),
        **_sampled(status),
        "target rows": str(status.rows["target"]),
        "budget left": left,
        **({} if status.stop is None else {"stops once": status.stop}),
        "head of the log": f"{status.head}, {status.events} events",
    }
    for out in status.out:
        asked = f"{out['rows']} rows, asked {when(out['asked'])}"
        rows[f"batch {out['batch_id']} is out"] = asked
    rows |= _last_estimate(status)
    table = Table(title=f"Campaign {escape(status.name)}", show_header=False)
    for name, value in rows.items():
        table.add_row(name, value)
    show(table)
    odd = [] if status.clock is None else [status.clock]
    warn([*(status.estimate or {}).get("warnings", []), *odd])
    if status.enough is not None:
        say(f"Enough is known: {status.enough}.", style="bold")
    _print_shift(status)
    for note in status.notes:
        say(note)


def _sampled(status: "Status") -> dict[str, str]:
    """What the pool is a sample of, if it is one, and what that costs."""
    if (sample := status.sample) is None:
        return {}
    told = f"{sample['sample']} of {sample['rows']} rows, {sample['how']}"
    told += f"; {sample['joined']} chosen besides" if sample["joined"] else ""
    lines = {"the pool is a sample": told}
    phase = (status.estimate or {}).get("first_phase")
    if phase is not None:
        share = f"{100 * phase['share_of_variance']:.2g} % of its variance"
        lines["the interval for want of the others"] = share
    return lines


def _asked(status: "Status") -> str:
    groups = f"; each by {', '.join(status.by)}" if status.by else ""
    return f"{', '.join(status.estimands)}{groups}"


def _last_estimate(status: "Status") -> dict[str, str]:
    if status.estimate is None:
        return {}
    mark = f" {AT_RANDOM}" if status.drawn["missing"] else ""
    lines = {escape(status.estimate["title"]): _estimate_line(status.estimate) + mark}
    widest = status.estimate["whatever_is_missing"]
    if widest is not None:
        lines["whatever the missing labels are"] = " to ".join(map(plain, widest))
    return lines


def _drawn(drawn: dict[str, int]) -> dict[str, str]:
    """Rows that chance drew, in a line."""
    from labelwise.evaluation.fates import Fates

    counts = {name: count for name, count in drawn.items() if name != "missing"}
    return {"rows by chance": Fates(**counts).line} if drawn["drawn"] else {}


def _estimate_line(estimate: dict[str, Any]) -> str:
    from labelwise.evaluation.answer import RESTS_ON

    low, high = estimate["interval"]
    age = "" if estimate["current"] else " (before the latest changes)"
    return (
        f"{plain(estimate['value'])} ± {plain(estimate['std'], 2)}, "
        f"{100 * estimate['level']:.0f} % interval {plain(low)} to {plain(high)}, by "
        f"{RESTS_ON[estimate['headline']]}{age}"
    )


def _print_shift(status: "Status") -> None:
    if not status.rows["labelled"]:
        return  # nothing is there to differ
    shift, target = status.shift, status.target
    names = ("labelled",) if target == "pool" else ("labelled", "pool")
    rows = [
        (feature["feature"], *(f"{feature[name]:+.2f}" for name in names))
        for feature in shift["differences"][:MOST_DIFFERENCES]
    ]
    title = "How the tables differ, in standard deviations"
    headings = ("feature", *(f"{name} − {target}" for name in names))
    show_numbers(headings, rows, title, texts=("feature",))
    if shift["labelled_auc"] is not None:
        auc = f"AUC {shift['labelled_auc']:.2f} (0.5: it cannot; 1: always)"
        say(f"A classifier tells labelled from {target} rows with {auc}.")
    if shift["pool_auc"] is not None:
        say(f"It tells pool from target rows with AUC {shift['pool_auc']:.2f}.")
    say(
        f"{100 * shift['uncovered']:.0f} % of the {target} has no labelled neighbour "
        f"({100 * shift['expected_uncovered']:.0f} % if labelled rows were drawn from it)."
    )


@command
def estimate(
    path: CampaignPath,
    level: Annotated[float, typer.Option(help="Of the interval.")] = 0.9,
    both: Annotated[
        bool,
        typer.Option("--both", help="Also what the belief and what drawn rows say alone."),
    ] = False,
    quantiles: Annotated[
        bool, typer.Option("--quantiles", help="With --json, quantiles of every answer too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The estimand given all labels so far, with its interval and what to beware of.

    The answer rests on the belief and on the rows that chance drew, which check it; --both
    shows what each says alone.

    Example: labelwise estimate audit --level 0.95
    """
    from labelwise.evaluation.answer import check_level

    check_level(level)
    campaign = open_campaign(path)
    with working("estimating"):
        answers = campaign.estimate()
    if as_json:
        content = _at_level(answers, level)
        print_json(content if quantiles else _without(content, LONG))
        return
    print_estimate(answers, level, both)


def print_estimate(answers: "Estimate", level: float = 0.9, both: bool = False) -> None:
    """Print every answer, what it rests on and what to beware of."""
    _print_answers(answers, level, both)
    if answers.beats is not None:
        say(f"the first model is better with probability {answers.beats:.2f}, by the belief")
    if answers.parts:
        _print_parts(answers.parts, level)
    if answers.enough is not None:
        say(f"Enough is known: {answers.enough}.", style="bold")
    say(answers.basis[0])
    say(f"head of the log: {(answers.head or '')[:SHORT]}")
    warn(answers.warnings)


def _print_answers(estimate: "Estimate", level: float, both: bool) -> None:
    """Print the answer and what it rests on; with `both`, its ingredients."""
    from labelwise.evaluation.answer import LEVEL

    low, high = map(plain, estimate.interval(level))
    say(f"{estimate.title}: {plain(estimate.value)}", style="bold")
    mark = f",{estimate.mark}" if estimate.mark else ""
    say(f"{100 * level:g} % interval {low} to {high}, std {plain(estimate.std, 2)}{mark}")
    if estimate.anytime is not None:
        low, high = map(plain, estimate.anytime)
        say(
            f"right at every look: {100 * LEVEL:g} % interval {low} to {high}; you may look at "
            "it after every batch, and stop when it is narrow enough"
        )
    say(estimate.why)
    if both:
        for line in estimate.ingredients_at(level):
            say(line)
    for line in estimate.about_missing(level):
        say(line)


def _at_level(estimate: "Estimate", level: float) -> dict[str, Any]:
    """Give every interval at the level, but for the one that is right at every look."""
    at = lambda answer: {"level": level, "interval": list(answer.interval(level))}
    content = estimate.to_dict()
    every = {name: getattr(estimate, name) for name in ("credible", "design", "combined")}
    answers = {
        name: content[name] | at(answer) for name, answer in every.items() if answer is not None
    }
    # What is the same for all is said once.
    parts = [_without(_at_level(part, level), SHARED) for part in estimate.parts]
    widest = estimate.widest(level)
    told = {"whatever_is_missing": None if widest is None else list(widest), "parts": parts}
    return {**content, **at(estimate), **answers, **told}


def _without(content: Any, names: Sequence[str]) -> Any:
    """The same without these keys, however deep."""
    if isinstance(content, list | tuple):
        return [_without(one, names) for one in content]
    if not isinstance(content, dict):
        return content
    return {key: _without(one, names) for key, one in content.items() if key not in names}


def _print_parts(parts: "Sequence[Estimate]", level: float) -> None:
    """Print other estimands, groups and models, a line each."""
    from labelwise.evaluation.answer import RESTS_ON

    rows = []
    for part in parts:
        low, high = map(plain, part.interval(level))
        ends, basis = f"{low} to {high}", RESTS_ON[part.headline]
        rows.append((part.title, plain(part.value), ends, plain(part.std, 2), basis))
    headings = ("also", "estimate", f"{100 * level:g} % interval", "std", "rests on")
    show_numbers(headings, rows, texts=("also", "rests on"))


@command
def report(
    path: CampaignPath,
    out: Annotated[
        Path | None, typer.Option(help="File to write; default: report.html in the campaign.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Judge beliefs first, as `labelwise check` does.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """One HTML file with the answer, its history and what stands behind it.

    Example: labelwise report audit --out report.html
    """
    campaign = open_campaign(path)
    with working("writing the report"):
        written = campaign.report(out, campaign.check() if check else None)
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
