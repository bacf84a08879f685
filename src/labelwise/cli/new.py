"""`labelwise new`: a campaign from tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from labelwise.cli.common import AsJson, command, print_json
from labelwise.cli.memory import check_room
from labelwise.cli.passing import EngineFlags, passing
from labelwise.cli.records import with_records
from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Limits, Question, Sampling, Tables, help_of
from labelwise.tables.columns import Columns


def _option(kind: type, name: str) -> Any:
    return typer.Option(help=help_of(kind, name))


@dataclass(frozen=True)
class TableFlags:
    table: Annotated[
        Path | None, typer.Argument(metavar="TABLE", help=help_of(Tables, "table"))
    ] = None
    labelled: Annotated[Path | None, _option(Tables, "labelled")] = None
    pool: Annotated[str | None, _option(Tables, "pool")] = None
    target: Annotated[str | None, _option(Tables, "target")] = None


@dataclass(frozen=True)
class ColumnFlags:
    id: Annotated[str | None, _option(Columns, "id")] = None
    label: Annotated[str | None, _option(Columns, "label")] = None
    prediction: Annotated[str | None, _option(Columns, "prediction")] = None
    positive: Annotated[str | None, _option(Columns, "positive")] = None
    second_label: Annotated[str | None, _option(Columns, "second_label")] = None
    treatment: Annotated[str | None, _option(Columns, "treatment")] = None
    embedding: Annotated[list[str] | None, _option(Columns, "embedding")] = None
    history: Annotated[list[str] | None, _option(Columns, "history")] = None


@dataclass(frozen=True)
class QuestionFlags:
    estimand: Annotated[
        list[str] | None,
        typer.Option("--estimand", "--metric", help=help_of(Question, "estimand")),
    ] = None
    threshold: Annotated[float | None, _option(Question, "threshold")] = None
    by: Annotated[list[str] | None, _option(Question, "by")] = None


@dataclass(frozen=True)
class LabelFlags:
    """How many labels, and which by chance."""

    batch: Annotated[int | None, _option(Sampling, "batch")] = None
    budget: Annotated[int | None, _option(Limits, "budget")] = None
    seed: Annotated[int | None, typer.Option(help="Of every random choice.")] = None


@dataclass(frozen=True)
class FileFlags:
    """Whatever has no flag of its own."""

    config: Annotated[
        Path | None,
        typer.Option(help="A file with anything else, as --template prints it; TOML."),
    ] = None
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PART.KEY=VALUE",
            help="One thing of such a file: sampling.floor=0.2, belief.name=epinet. Repeat.",
        ),
    ] = None
    template: Annotated[
        bool, typer.Option("--template", help="Print a file for --config, and stop.")
    ] = False


@with_records
@command
def new(
    path: Annotated[
        Path | None, typer.Argument(metavar="CAMPAIGN", help="Folder to make.")
    ] = None,
    *,
    tables: TableFlags,
    columns: ColumnFlags,
    question: QuestionFlags,
    labels: LabelFlags,
    file: FileFlags,
    engine: EngineFlags,
    as_json: AsJson = False,
) -> None:
    """Make a campaign from tables, and take a first look at how they differ.

    Example: labelwise new audit scored.csv --label income --prediction score

    From three: labelwise new audit --labelled tables/labelled.csv --pool tables/pool.csv
    --target tables/target.csv --id patient --label log_cost --prediction predicted_log_cost

    More: --estimand recall --threshold 0.3 --by sex; --set 'question.compare=["a","b"]';
    --estimand ate --treatment z; --set columns.cost=minutes --set sampling.spend=120; or all
    of it in a file: labelwise new --template > audit.toml, then --config audit.toml

    A large pool: --pool s3://bucket/scored --id row --scheduler local --workers 8
    """
    from labelwise.cli.config import gather, make_template

    if file.template:
        typer.echo(make_template(), nl=False)
        return
    if path is None:
        raise InvalidInput(
            "No folder is named", "say `labelwise new CAMPAIGN ...`", where="CAMPAIGN"
        )
    flags = {
        "tables": vars(tables),
        "columns": vars(columns),
        "question": vars(question),
        "sampling": {"batch": labels.batch},
        "limits": {"budget": labels.budget},
        "seed": labels.seed,
    }
    parts = gather(file.config, flags, file.set_ or [])
    check_room()
    with passing("reading tables") as progress:
        from labelwise.campaign.campaign import Campaign
        from labelwise.cli.estimate import print_status

        campaign = Campaign.create(path, **parts, **vars(engine), progress=progress)
    status = campaign.status()
    print_json(status.to_dict()) if as_json else print_status(status)
