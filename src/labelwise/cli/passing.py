"""`labelwise refine`, and what commands share that pass over tables larger than memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from labelwise.cli.common import (
    AsJson,
    CampaignPath,
    command,
    messages,
    open_campaign,
    print_json,
)
from labelwise.cli.records import with_records


@dataclass(frozen=True)
class EngineFlags:
    """Who passes over tables larger than memory."""

    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Who reads a pool of many files: local (processes that Dask starts and ends) "
            "or the address of a Dask scheduler; default: threads."
        ),
    ] = None
    workers: Annotated[int, typer.Option(min=1, help="Threads or processes that read it.")] = 2


@contextmanager
def passing(text: str) -> Iterator[Callable[[int, int], None]]:
    """A sign of life; once a pass is under way, how many of its pieces are done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=messages, transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@with_records
@command
def refine(path: CampaignPath, engine: EngineFlags, as_json: AsJson = False) -> None:
    """Mend the answer about a large pool by the belief's predictions of every row.

    One more pass over the pool's files; what it finds serves later answers too.

    Example: labelwise refine audit --scheduler local --workers 8
    """
    from labelwise.cli.estimate import print_estimate

    campaign = open_campaign(path)
    with passing("predicting every row") as progress:
        estimate = campaign.refine(**vars(engine), progress=progress)
    print_json(estimate.to_dict()) if as_json else print_estimate(estimate)
