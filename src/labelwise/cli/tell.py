"""`labelwise tell`, `skip`, `fail` and `correct`: what has come back."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwise.cli.common import (
    AsJson,
    CampaignPath,
    Reason,
    command,
    plural,
    point_out_clock,
    print_json,
    say,
    working,
)
from labelwise.cli.memory import check_room
from labelwise.errors import InvalidInput
from labelwise.tables.text import listed

if TYPE_CHECKING:
    from labelwise.campaign.campaign import Campaign
    from labelwise.campaign.rules import Told

Labels = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="The batch with its label column filled in (CSV, Parquet, JSON, Excel, or Label "
        "Studio's export), or - for standard input.",
    ),
]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of rows.")]


@command
def tell(
    path: CampaignPath,
    file: Labels,
    unasked: Annotated[
        str, typer.Option(help="Labels of rows that were never asked: refuse, accept, ignore.")
    ] = "refuse",
    ask: Annotated[
        bool, typer.Option("--ask", help="Then ask for the next batch, as `ask` does.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="With --ask, the file for the next batch; default: as of `ask`."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Record labels; empty cells are not yet known, and telling twice changes nothing.

    Example: labelwise tell audit batch.csv

    In one go with the next batch: labelwise tell audit batch.csv --ask --out next.csv
    """
    _check_next(ask, out)
    campaign = _open(path)
    if ask:
        check_room()
    told = campaign.tell(_source(file, campaign), unasked=unasked)
    if not as_json:
        _report_told(told, path)
        point_out_clock(campaign)
    following = _hand_out_next(campaign, out, as_json) if ask else {}
    if as_json:
        print_json({**told.to_dict(), **following})


def _check_next(ask: bool, out: Path | None) -> None:
    """Refuse a file for the next batch before any label is recorded."""
    if out is None:
        return
    if not ask:
        raise InvalidInput(
            "--out is the file for the next batch", "say --ask too", where="--out"
        )
    from labelwise.cli.ask import check_out

    check_out(out)


def _hand_out_next(campaign: "Campaign", out: Path | None, as_json: bool) -> dict[str, Any]:
    """Ask for the next batch and write it; the labels told before are recorded already."""
    from labelwise.cli.ask import (
        announce,
        asked_already,
        describe_batch,
        tell_standing,
        write_batch,
    )

    with working("planning"):
        batch = campaign.ask()
    with asked_already(campaign.path):
        file = write_batch(campaign, batch, out)
        if not as_json:
            announce(campaign, batch, file)
            tell_standing(campaign)
    return {"batch": describe_batch(batch, file)}


def _report_told(told: "Told", path: Path) -> None:
    say(
        f"{plural(told.new, 'new label')}, {told.known} known before, {told.empty} still empty"
        + (f"; {told.late} of rows skipped, failed or expired before" if told.late else "")
        + (f"; {told.ignored} of rows never asked were left aside" if told.ignored else "")
        + f". {plural(told.pending, 'row')} still out."
    )
    if told.unusual:
        say(
            f"warning: the label of {listed(told.unusual)} is far beyond all others; if it is "
            "a slip, mend it with `labelwise correct`.",
            style="yellow",
        )
    if told.cancelled:
        say(
            f"{plural(len(told.cancelled), 'task')} cancelled by the labeller; what cannot "
            f"be labelled: labelwise skip {path} {' '.join(told.cancelled)}"
        )


@command
def correct(
    path: CampaignPath, file: Labels, reason: Reason = None, as_json: AsJson = False
) -> None:
    """Replace labels that were wrong; the old ones stay in the history.

    Example: labelwise correct audit corrections.csv --reason "unit was wrong"
    """
    from labelwise.campaign.incoming import read_labels

    campaign = _open(path)
    given = read_labels(_source(file, campaign), campaign.spec, "correct").known
    changed = campaign.correct(given, reason)
    _report(changed, len(given) - changed, "corrected", as_json)


@command
def skip(path: CampaignPath, ids: Ids, reason: Reason = None, as_json: AsJson = False) -> None:
    """Never ask these rows again: they cannot be labelled.

    Example: labelwise skip audit 5799 3958 --reason "record lost"
    """
    changed = _open(path).skip(ids, reason)
    _report(changed, len(set(ids)) - changed, "skipped", as_json)


@command
def fail(path: CampaignPath, ids: Ids, reason: Reason = None, as_json: AsJson = False) -> None:
    """These labels could not be had this time; the rows may be asked again.

    Example: labelwise fail audit 5799 --reason "labeller was ill"
    """
    changed = _open(path).fail(ids, reason)
    _report(changed, len(set(ids)) - changed, "failed", as_json)


def _open(path: Path) -> "Campaign":
    """The campaign, which starts no JAX for this."""
    from labelwise.campaign.campaign import Campaign

    return Campaign.open(path)


def _source(file: str, campaign: "Campaign") -> Any:
    """A path, or what stands on standard input."""
    if file != "-":
        return Path(file)
    from labelwise.tables.bytes import text_in
    from labelwise.tables.read import parse_json, parse_rows

    content = text_in(sys.stdin.buffer.read(), "standard input")
    rows = parse_json(content, "standard input")
    if rows is None:
        return parse_rows(content, "standard input", (campaign.spec.columns.id,))
    return rows


def _report(changed: int, same: int, what: str, as_json: bool) -> None:
    if as_json:
        print_json({what: changed, "unchanged": same})
    else:
        say(f"{plural(changed, 'row')} {what}" + (f", {same} as before" if same else "") + ".")
