"""`labelwise ask` and `plan`: which rows to label next."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from labelwise.cli.common import (
    AsJson,
    CampaignPath,
    as_text,
    command,
    open_campaign,
    plural,
    point_out_clock,
    print_json,
    say,
    show,
    warn,
)
from labelwise.cli.passing import EngineFlags, passing
from labelwise.cli.records import with_records
from labelwise.cli.tables import show_rows
from labelwise.errors import InvalidInput, StoreError

if TYPE_CHECKING:
    import pandas as pd

    from labelwise.campaign.campaign import Campaign
    from labelwise.evaluation.spec import Spec

Count = Annotated[
    int | None, typer.Option("--number", "-n", help="Rows; default: the campaign's batch size.")
]


@dataclass(frozen=True)
class BatchFile:
    """Where a batch goes, and what labellers see of it."""

    out: Annotated[
        str | None,
        typer.Option(
            help="File for the batch (.csv, .parquet, .json), or - for standard output; "
            "default: batches/ in the campaign."
        ),
    ] = None
    label_studio: Annotated[
        bool, typer.Option("--label-studio", help="Write Label Studio tasks (JSON).")
    ] = False
    shown: Annotated[
        list[str] | None,
        typer.Option("--show", help="A column that labellers see, instead of all; repeat."),
    ] = None


@dataclass(frozen=True)
class Allowance:
    """What would keep a campaign from asking, and is to be passed over."""

    go_on: Annotated[
        bool, typer.Option("--go-on", help="Ask although the rule to stop is met.")
    ] = False
    over_budget: Annotated[
        bool, typer.Option("--over-budget", help="Ask although the budget is spent.")
    ] = False


@with_records
@command
def ask(
    path: CampaignPath,
    number: Count = None,
    *,
    file: BatchFile,
    allowance: Allowance,
    pending: Annotated[
        bool,
        typer.Option("--pending", help="The rows that are out, again; ask nothing new."),
    ] = False,
    engine: EngineFlags,
    as_json: AsJson = False,
) -> None:
    """Choose the next rows to label and write them to a file with an empty label column.

    Fill in the labels and give the file back to `labelwise tell`.

    Example: labelwise ask audit --out batch.csv
    """
    if file.out and file.out != "-":
        check_out(Path(file.out), file.label_studio)
    campaign = open_campaign(path)
    if file.shown:
        from labelwise.tables.cells import check_shown

        check_shown(file.shown, campaign.tables["pool"].columns, "--show")
    with passing("planning") as progress:
        who = {**vars(allowance), **vars(engine), "progress": progress}
        batch = campaign.pending() if pending else campaign.ask(number, **who)
    with asked_already(path):
        _hand_out(campaign, _shown(campaign, batch, file.shown), file, as_json, not pending)


def _hand_out(
    campaign: "Campaign", batch: "pd.DataFrame", file: BatchFile, as_json: bool, new: bool
) -> None:
    """Print a batch, or write its file and say what to do with it."""
    if file.out == "-" or (file.out is None and as_json):
        _print_batch(campaign, batch, file.label_studio, as_json)
        return
    written = write_batch(campaign, batch, file.out, file.label_studio)
    if as_json:
        print_json(describe_batch(batch, written))
        return
    announce(campaign, batch, written, file.label_studio)
    point_out_clock(campaign)
    if new:
        tell_standing(campaign)


def _shown(campaign: "Campaign", batch: "pd.DataFrame", shown: list[str] | None):
    from labelwise.campaign.export import shown_only

    return shown_only(batch, campaign, shown) if shown else batch


@contextmanager
def asked_already(path: Path) -> Iterator[None]:
    """Say how to get a batch that is recorded as asked, whatever goes wrong with its file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except Exception as error:
        again = f"labelwise ask {shlex.quote(str(path))} --pending"
        raise StoreError(
            f"The batch was asked, but not written ({error})",
            f"get it with `{again}`",
            where=str(path),
        ) from error


def check_out(out: Path, label_studio: bool = False) -> None:
    """Refuse a file before anything is asked for it; labels may be in one that is there."""
    from labelwise.tables.read import file_format
    from labelwise.tables.write import check_writable

    if label_studio and file_format(out) != ".json":
        raise InvalidInput(
            "Label Studio tasks are JSON", f"give --out a .json file, not {out}", where="--out"
        )
    file_format(out)
    if out.is_file():
        raise InvalidInput(
            f"{out} exists and may hold labels",
            "batches overwrite nothing: give another name",
            where=str(out),
        )
    check_writable(out)


def _print_batch(
    campaign: "Campaign", batch: "pd.DataFrame", label_studio: bool, as_json: bool
) -> None:
    """Write the batch to standard output."""
    from labelwise.campaign.labelstudio import write_tasks
    from labelwise.tables.write import format_table

    if label_studio:
        text = json.dumps(write_tasks(batch, campaign.spec.columns), indent=2)
    else:
        text = format_table(batch, ".json" if as_json else ".csv")
    sys.stdout.write(text)


def write_batch(
    campaign: "Campaign", batch: "pd.DataFrame", out: Any = None, label_studio: bool = False
) -> Path:
    """Write the batch to a file, in the campaign's folder if none is named."""
    from labelwise.campaign.labelstudio import write_tasks
    from labelwise.tables.write import write_json, write_table

    path = (
        Path(out) if out else _free_path(campaign, batch, ".json" if label_studio else ".csv")
    )
    if label_studio:
        write_json(write_tasks(batch, campaign.spec.columns), path)
    else:
        write_table(batch, path)
    return path


def describe_batch(batch: "pd.DataFrame", file: Path) -> dict[str, Any]:
    """What programs are told of a batch in a file."""
    return {"file": str(file), "rows": len(batch), "batch_ids": _numbers(batch)}


def _numbers(batch: "pd.DataFrame") -> list[int]:
    return sorted({int(number) for number in batch["batch_id"]})


def _free_path(campaign: "Campaign", batch: "pd.DataFrame", ending: str) -> Path:
    """Find a name in the campaign's folder that no file has yet."""
    folder = campaign.path / "batches"
    folder.mkdir(exist_ok=True)
    numbers = set(batch["batch_id"])
    name = f"batch-{numbers.pop():04d}" if len(numbers) == 1 else "pending"
    path, copy = folder / f"{name}{ending}", 1
    while path.exists():
        copy += 1
        path = folder / f"{name}-{copy}{ending}"
    return path


def announce(
    campaign: "Campaign", batch: "pd.DataFrame", path: Path, label_studio: bool = False
) -> None:
    """Say what was written, and what to do next."""
    label, numbers = campaign.spec.columns.label, _numbers(batch)
    if not len(batch):
        say("No rows are out.")
        return
    second = campaign.spec.columns.second_label
    show_rows(batch.drop(columns=[label] if second is None else [label, second]))
    # Rows of several batches that are out were each told of when they were asked.
    choice = campaign.choice(numbers[0]) if len(numbers) == 1 else None
    if choice is not None:
        say(choice)
    tell = f"labelwise tell {shlex.quote(str(campaign.path))}"
    words = " or ".join(_words(campaign.spec)) if second is None else ""
    fill = f"fill in the column {label!r}{f' with {words}' if words else ''}"
    fill = fill if second is None else f"fill in the columns {label!r} and {second!r}"
    what, todo = "row", f"{fill}, then `{tell} {shlex.quote(str(path))}`"
    if label_studio:
        what = "task"
        choice = f" (a choice named {label!r}: {words})" if words else ""
        todo = (
            f"import them into Label Studio{choice}, export as JSON, then `{tell} EXPORT.json`"
        )
    say(f"{plural(len(batch), what)} in {path}: {todo}.")


def _words(spec: "Spec") -> tuple[str, ...]:
    """What a label may be, where it is one of a few."""
    from labelwise.evaluation.spec import is_binary

    return spec.columns.classes or (("0", "1") if is_binary(spec.belief) else ())


def tell_standing(campaign: "Campaign") -> None:
    """Say in a line where the answer stands, as it was computed for the batch."""
    from labelwise.evaluation.estimate import UNVERIFIED

    computed = campaign.store.estimate()
    if computed is not None:
        estimate = computed.estimate
        say(f"So far, from {plural(estimate.labels, 'label')}: {estimate.line}.")
        warn([one for one in estimate.warnings if one.startswith(UNVERIFIED)])


@with_records
@command
def plan(
    path: CampaignPath,
    number: Count = None,
    *,
    engine: EngineFlags,
    as_json: AsJson = False,
) -> None:
    """Show what would be asked and how much it is expected to help; nothing changes.

    Example: labelwise plan audit -n 20
    """
    campaign = open_campaign(path)
    with passing("planning") as progress:
        planned = campaign.plan(number, **vars(engine), progress=progress)
        rows = campaign.show(planned)
    if as_json:
        long = ("covariance", "chances")
        kept = {key: value for key, value in planned.to_dict().items() if key not in long}
        ids = [str(name) for name in rows.iloc[:, 0]]
        print_json({**kept, "ids": ids, "verdict": planned.verdict})
        return
    show_rows(rows)
    table = Table("expected standard deviation", "", title="What these labels would leave")
    table.add_row("now", as_text(planned.std))
    how = "drawn" if any(planned.drawn or ()) else planned.policy
    table.add_row(f"after this batch ({how})", as_text(planned.expected), style="bold")
    table.add_row("after as many random rows", as_text(planned.random))
    table.add_row("after as many of the least certain rows", as_text(planned.uncertainty))
    if planned.cost is not None:
        table.add_row("cost of this batch", as_text(planned.cost))
    show(table)
    say(
        "gain_share: part of what the batch is expected to teach; target_share: part of the "
        "target of which the row tells more than the others."
    )
    say(planned.choice)
    say(planned.verdict)
    warn(campaign.estimate().warnings)
