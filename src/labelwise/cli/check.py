"""`labelwise check`: whether the belief can be trusted, and which one to trust."""

from typing import TYPE_CHECKING, Annotated, Any

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
    from labelwise.campaign.campaign import Campaign
    from labelwise.evaluation.belief_check import BeliefCheck
    from labelwise.evaluation.check import Check


@command
def check(
    path: CampaignPath,
    belief: Annotated[
        list[str] | None,
        typer.Option(help="A belief to judge; repeat for several. Default: the usual ones."),
    ] = None,
    batches: Annotated[
        bool, typer.Option("--batches", help="Only labels against their prediction: at once.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Labels against their prediction, and which belief foretells labels it has not seen.

    Example: labelwise check audit
    """
    campaign = open_campaign(path)
    if batches:
        checks = campaign.checks()
        told: Any = {"batches": [one.to_dict() for one in checks]}
        print_json(told) if as_json else _print_batches(checks)
        return
    found = _judge(campaign, belief)
    if as_json:
        print_json(found.to_dict())
        return
    _print_batches(found.batches)
    _print_beliefs(found)


def _judge(campaign: "Campaign", beliefs: list[str] | None) -> "BeliefCheck":
    from labelwise.evaluation.belief_check import candidates_for

    total = len(candidates_for(campaign.evaluation(), beliefs))
    bar = TextColumn("judging beliefs"), BarColumn(), MofNCompleteColumn()
    with Progress(*bar, console=messages) as progress:
        task = progress.add_task("judging beliefs", total=total)
        return campaign.check(beliefs, lambda: progress.advance(task))


def _print_batches(checks: "tuple[Check, ...] | list[Check]") -> None:
    inside = [f"{100 * one.inside:.0f} %" for one in checks]
    rows = [
        (one.round, one.labels, share, one.score, one.surprise)
        for one, share in zip(checks, inside, strict=True)
    ]
    headings = ("batch", "labels", "in their 90 % interval", "mean z²", "probability")
    marked = [one.contradicted for one in checks]
    show_numbers(headings, rows, "Labels against their prediction", marked=marked)
    say(
        "probability: of labels this far off, jointly, if the belief were right; below 0.01 "
        "the batch contradicts it."
    )


def _print_beliefs(found: "BeliefCheck") -> None:
    rows = []
    for one in found.contest.standings:
        told = lambda loss: "-" if loss is None else f"{loss:.2f}"
        held = f"{one.held} of {len(one.clusters)}" if one.error is None else "-"
        rows.append((one.name, told(one.on_clusters), told(one.on_batches), held))
    headings = ("belief", "on clusters held out", "on batches to come", "clusters held")
    title = "What ten labels cost that a belief has not seen, in nats"
    show_numbers(headings, rows, title, texts=("belief",))
    say(
        "Clusters and batches count by their labels. Clusters held: those whose mean label "
        "lies in the belief's 90 % interval for it, when it has seen all others."
    )
    say(found.verdict, style="bold")
    warn(found.warnings)
