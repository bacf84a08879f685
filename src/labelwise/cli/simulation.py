"""What `labelwise simulate` does: many rehearsals, a table and a figure."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from labelwise.cli.config import BELIEF, apply
from labelwise.cli.runs import Study, Task
from labelwise.cli.simulate import Repetition
from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Question, Sampling, read_part
from labelwise.figures import plot_rehearsal
from labelwise.simulation.rehearsal import CAMPAIGN, Design, rehearse
from labelwise.simulation.rehearsal import Table as LabelledTable
from labelwise.simulation.summary import summarise
from labelwise.tables.columns import Columns
from labelwise.tables.read import read_table
from labelwise.tables.text import listed, plain
from labelwise.tables.write import write_json

PLAYERS = ("average", "random", CAMPAIGN, "lookahead")  # unless others are named
CLEAR = 2.0  # standard errors from which on a difference is called one
HEADINGS = (
    *("rms error", "width", "90 % covers"),
    *("belief alone: rms error", "width", "covers"),
    "labels for random's error",
)
HELD = 0.8  # share of 90 % intervals below which a warning is due


class TableSource(NamedTuple):
    """A table whose labels are known, and what it was read from."""

    table: LabelledTable
    name: str
    config: dict[str, Any]


class Settings(NamedTuple):
    """The campaign that is rehearsed, and how a table becomes one."""

    columns: Columns
    question: Question
    sampling: Sampling
    design: Design
    belief: dict[str, Any]


def read_settings(flags: dict[str, Any], changes: Sequence[str]) -> Settings:
    """Read what a simulation is, from options and single settings over them."""
    parts = {"columns": Columns, "question": Question, "sampling": Sampling, "design": Design}
    apply(flags, changes, parts, [BELIEF])
    read: dict[str, Any] = {
        name: read_part(kind, flags.get(name, {}), name) for name, kind in parts.items()
    }
    return Settings(**read, belief={"name": "auto", **flags.get(BELIEF, {})})


def read_labelled(data: Path, ignored: tuple[str, ...], settings: Settings) -> TableSource:
    """Read and check a table, without the columns that are no features."""
    frame = read_table(data, "The table", where=str(data))
    absent = [column for column in ignored if column not in frame]
    if absent:
        raise InvalidInput(
            f"The table has no column {absent[0]!r} to ignore",
            f"name one that it has: {listed(frame.columns)}",
            where="--ignore",
        )
    rows = frame.drop(columns=list(ignored))
    columns, question, sampling, _, belief = settings
    table = LabelledTable.of(rows, columns, question, sampling, belief)
    asked = question.estimand or table.quantity.name
    config = {
        "data": hashlib.sha256(data.read_bytes()).hexdigest(),
        "columns": asdict(settings.columns) | {"ignored": list(ignored)},
        "question": asdict(settings.question) | {"estimand": asked},
        "sampling": asdict(settings.sampling),
        "belief": settings.belief,
    }
    return TableSource(table, data.name, config)


def run_simulation(
    labelled: TableSource, design: Design, repetition: Repetition, console: Console
) -> dict[str, Any]:
    """Play the campaigns that are missing in `out`, and sum up all of them."""
    table = labelled.table
    design.check(len(table.frame))
    policies, seeds = repetition.policy or PLAYERS, repetition.seeds
    tasks = [Task(policy, seed) for policy in policies for seed in range(seeds)]
    study = Study(repetition.out, labelled.config | asdict(design))
    rows = study.run(tasks, partial(_work, table, design), repetition.jobs, console)
    figure = repetition.out / "simulation.png"
    title = f"{labelled.name}: {seeds} campaigns a policy, {design.bias} bias"
    plot_rehearsal(rows, table.truth, figure, title=title)
    summary = summarise(rows, table.truth)
    summary |= {
        "verdict": _verdict(summary),
        "beware": _beware(summary),
        "figure": str(figure),
        "estimand": table.quantity.title,
        "features": list(table.features),
        "notes": list(table.notes),
    }
    write_json(summary, repetition.out / "summary.json")
    return summary


def _work(table: LabelledTable, design: Design, task: Task) -> list[dict[str, Any]]:
    return rehearse(table, design, task.policy, task.seed)


def _verdict(summary: dict[str, Any]) -> str:
    """In one sentence, what a sceptic wants to know."""
    if CAMPAIGN not in summary["advantage"]:
        return "Run random and campaign together to see what a campaign saves."
    gain = summary["advantage"][CAMPAIGN]
    share, sure = 100.0 * gain["share"], gain["standard_errors"]
    much = f"{abs(share):.0f} % {'lower' if share > 0 else 'higher'} than random sampling's"
    if abs(sure) < CLEAR:
        return (
            f"No clear difference: a campaign's squared error is {much}, {abs(sure):.1f} "
            "standard errors from none; more --seeds would tell."
        )
    if share < 0:
        return f"A campaign does not help on this table: its squared error is {much}."
    told = (
        f"A campaign helps on this table: over its rounds, its squared error is {much} "
        f"({sure:.1f} standard errors)."
    )
    own, chance = (summary["labels_needed"][name]["rmse"] for name in (CAMPAIGN, "random"))
    if own is None or chance is None:
        return told
    return f"{told} It needs {own} labels where random sampling needs {chance}."


def _beware(summary: dict[str, Any]) -> str | None:
    """Intervals that held less often than they say."""
    held = {name: policy["coverage"][-1] for name, policy in summary["policies"].items()}
    low = [f"{name} {_percent(share)}" for name, share in held.items() if share < HELD]
    if not low:
        return None
    return f"90 % intervals held the truth less often than they say ({', '.join(low)})."


def tabulate(summary: dict[str, Any]) -> Table:
    """A table for people."""
    total = next(iter(summary["policies"].values()))["labels"][-1]
    table = Table(
        title=f"After {total} labels, {summary['seeds']} campaigns a policy "
        f"(truth {plain(summary['truth'])})"
    )
    table.add_column("policy", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for policy, cells in cells_of(summary).items():
        table.add_row(policy, *cells, style="bold" if policy == CAMPAIGN else None)
    return table


def cells_of(summary: dict[str, Any]) -> dict[str, list[str]]:
    """By policy, what stands under each heading."""
    cells = {}
    for name, policy in summary["policies"].items():
        needed = summary["labels_needed"].get(name, {}).get("rmse")
        last = "–" if needed is None else str(needed)
        cells[name] = [*_ends(policy), *_ends(policy["belief"]), last]
    return cells


def _ends(outcome: dict[str, Any] | None) -> list[str]:
    """Where an answer ends; plain averages have none of a belief's own."""
    if outcome is None:
        return ["–", "–", "–"]
    figures = [plain(outcome["rmse"][-1]), plain(outcome["width"][-1])]
    return [*figures, _percent(outcome["coverage"][-1])]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
