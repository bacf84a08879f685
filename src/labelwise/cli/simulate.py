"""`labelwise simulate` and `demo`: see for oneself before labels are spent."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from labelwise.cli.common import AsJson, command, messages, print_json, say, show, warn, working
from labelwise.cli.records import with_records
from labelwise.evaluation.spec import help_of
from labelwise.names import check_estimand, check_policy
from labelwise.tables.columns import Columns


@dataclass(frozen=True)
class Subject:
    """What is measured, on whom, and from where."""

    label: Annotated[str, typer.Option(help="Column with the label.")]
    prediction: Annotated[
        str | None, typer.Option(help="Column with the output of the model under evaluation.")
    ] = None
    positive: Annotated[str | None, typer.Option(help=help_of(Columns, "positive"))] = None
    estimand: Annotated[
        str | None,
        typer.Option(
            "--estimand",
            "--metric",
            help="What to know, as `labelwise metrics` lists it. Default: mse; of words and "
            "classes accuracy.",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None, typer.Option(help="A column that is no feature (an id); repeat.")
    ] = None
    bias: Annotated[
        str,
        typer.Option(
            help="Who is labelled at the start: cluster (one of ten), linear (odds that rise "
            "along a direction) or tilted (weights that do, more strongly)."
        ),
    ] = "cluster"
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PART.KEY=VALUE",
            help="Anything else: design.initial=60 (labels at the start), design.pool=500, "
            "design.rounds=10, design.batch=5, design.target=500 (rows that stand for all), "
            'question.threshold=0.3, columns.weight=w, columns.features=["age"], or of the '
            "campaign: sampling.floor=0.2, "
            "belief.name=gp. Repeat.",
        ),
    ] = None


@dataclass(frozen=True)
class Repetition:
    """Who plays, how often, and where results go."""

    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A way to choose rows; repeat: campaign (as `labelwise new` does), average, "
            "or a policy that chooses alone. Default: average, random, campaign, lookahead."
        ),
    ] = None
    seeds: Annotated[int, typer.Option(min=1, help="Campaigns of each policy.")] = 10
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2
    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figure.")] = Path(
        "simulation"
    )


@with_records
@command
def simulate(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A table whose labels are known.")
    ],
    subject: Subject,
    repetition: Repetition,
    as_json: AsJson = False,
) -> None:
    """On a table whose labels are known: how many labels would each policy have needed?

    Labels are hidden, a biased start is drawn, and whole campaigns are played through. Run
    again with the same --out to resume.

    Example: labelwise simulate tables/all.csv --label log_cost
    --prediction predicted_log_cost --ignore patient --seeds 20 --set design.initial=40
    """
    if subject.estimand is not None:
        check_estimand(subject.estimand)
    for name in repetition.policy or ():
        check_policy(name, also=("average", "campaign"))
    with working("starting"):
        from labelwise.cli.simulation import read_labelled, read_settings, run_simulation

    settings = read_settings(_flags(subject), subject.set_ or [])
    labelled = read_labelled(data, tuple(subject.ignore or ()), settings)
    summary = run_simulation(labelled, settings.design, repetition, messages)
    print_json(summary) if as_json else _print(summary)


def _flags(subject: Subject) -> dict[str, dict[str, str | None]]:
    names = ("label", "prediction", "positive")
    return {
        "columns": {"id": "(row)", **{name: getattr(subject, name) for name in names}},
        "question": {"estimand": subject.estimand},
        "design": {"bias": subject.bias},
    }


def _print(summary: dict[str, Any]) -> None:
    from labelwise.cli.simulation import tabulate

    say("Features: " + ", ".join(summary["features"]))
    for note in summary["notes"]:
        say(note)
    show(tabulate(summary))
    say("average: random rows, and the number that their labels give, without any belief.")
    say("campaign: as `labelwise new` does; others: the policy alone chooses rows.")
    say(summary["verdict"])
    warn([summary["beware"]] if summary["beware"] else [])
    say(f"Figure: {summary['figure']}")


@command
def demo(
    out: Annotated[Path, typer.Option(help="Folder for campaign, picture and report.")] = Path(
        "demo"
    ),
    rounds: Annotated[int, typer.Option(min=1, max=20, help="Rounds of the campaign.")] = 5,
    batch: Annotated[int, typer.Option(min=1, max=15, help="Labels a round.")] = 10,
    # Of seeds 0 to 19 the one whose errors after 50 labels are nearest to the median of both
    # policies (experiments/results/support2): neither the best to show nor the worst.
    seed: Annotated[int, typer.Option(min=0, help="Which patients, and which draws.")] = 13,
    campaigns: Annotated[
        int, typer.Option(min=2, max=1000, help="Campaigns each way, in the picture.")
    ] = 30,
    tables: Annotated[
        Path | None,
        typer.Option(help="Only write the tables here, to try the other commands on."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a risk of death on real hospital patients, once and then many times over.

    On embedded data (SUPPORT2), a campaign buys labels round by round; hidden records play the
    labeller. Then small campaigns, planned and random, show as a picture what to expect of one.
    Ends with a report.

    Example: labelwise demo --out demo
    """
    with working("starting"):
        from labelwise.cli.demo import run_demo, tabulate, write_tables

    if tables is not None:
        paths = [str(path) for path in write_tables(tables, seed)]
        print_json({"files": paths}) if as_json else say("Written: " + ", ".join(paths))
        return
    outcome = run_demo(out, rounds, batch, seed, campaigns, messages)
    if as_json:
        print_json(outcome)
        return
    show(tabulate(outcome))
    for line in (*outcome["answers"], *outcome["verdict"]):
        say(line)
    say(f"Picture: {outcome['figure']}")
    say(f"Report: {outcome['report']}")
