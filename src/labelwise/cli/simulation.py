"""What `labelwise simulate` does: many rehearsals, a table and a figure."""

import hashlib
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from labelwise.cli.runs import Study, Task
from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Question
from labelwise.figures import plot_rehearsal
from labelwise.policies.registry import POLICIES
from labelwise.simulation.rehearsal import AVERAGE, CAMPAIGN, Design, rehearse
from labelwise.simulation.rehearsal import Table as LabelledTable
from labelwise.simulation.summary import summarise
from labelwise.tables.columns import Columns
from labelwise.tables.read import read_table
from labelwise.tables.text import listed, plain
from labelwise.tables.write import write_json

CLEAR = 2.0  # standard errors from which on a difference is called one
HEADINGS = (
    *("rms error", "width", "90 % covers"),
    *("belief alone: rms error", "width", "covers"),
    "labels for random's error",
)
HELD = 0.8  # share of 90 % intervals below which a warning is due


def run_simulation(
    data: Path,
    columns: Columns,
    ignored: tuple[str, ...],
    question: Question,
    design: Design,
    policies: list[str],
    seeds: int,
    jobs: int,
    out: Path,
    console: Console,
) -> dict[str, Any]:
    """Play the campaigns that are missing in `out`, and sum up all of them."""
    known = (AVERAGE, CAMPAIGN, *POLICIES)
    unknown = [name for name in policies if name not in known]
    if unknown:
        raise InvalidInput(
            f"There is no policy {unknown[0]!r}",
            f"choose from {', '.join(known)}",
            where="--policy",
        )
    frame = read_table(data, "The table", where=str(data))
    absent = [column for column in ignored if column not in frame]
    if absent:
        raise InvalidInput(
            f"The table has no column {absent[0]!r} to ignore",
            f"name one that it has: {listed(frame.columns)}",
            where="--ignore",
        )
    table = LabelledTable.of(frame.drop(columns=list(ignored)), columns, question)
    design.check(len(table.frame))
    config = {
        "data": hashlib.sha256(data.read_bytes()).hexdigest(),
        "columns": asdict(columns) | {"ignored": list(ignored)},
        "question": asdict(question),
        **asdict(design),
    }
    tasks = [Task(policy, seed) for policy in policies for seed in range(seeds)]
    rows = Study(out, config).run(tasks, partial(_work, table, design), jobs, console)
    found = summarise(rows, table.truth)
    figure = out / "simulation.png"
    title = f"{data.name}: {seeds} campaigns a policy, {design.bias} bias"
    plot_rehearsal(rows, table.truth, figure, title=title)
    found |= {
        "verdict": _verdict(found),
        "beware": _beware(found),
        "figure": str(figure),
        "estimand": table.quantity.title,
        "features": list(table.features),
        "notes": list(table.notes),
    }
    write_json(found, out / "summary.json")
    return found


def _work(table: LabelledTable, design: Design, task: Task) -> list[dict[str, Any]]:
    return rehearse(table, design, task.policy, task.seed)


def _verdict(found: dict[str, Any]) -> str:
    """In one sentence, what a sceptic wants to know."""
    if CAMPAIGN not in found["advantage"]:
        return "Run random and campaign together to see what a campaign saves."
    gain = found["advantage"][CAMPAIGN]
    share, sure = 100.0 * gain["share"], gain["standard_errors"]
    much = f"{abs(share):.0f} % {'lower' if share > 0 else 'higher'}"
    if abs(sure) < CLEAR:
        return (
            f"No clear difference: a campaign's squared error is {much} than random "
            f"sampling's, {abs(sure):.1f} standard errors from none; more --seeds would tell."
        )
    if share < 0:
        return (
            f"A campaign does not help on this table: its squared error is {much} than "
            "random sampling's."
        )
    needed = {name: found["labels_needed"][name]["rmse"] for name in (CAMPAIGN, "random")}
    return (
        f"A campaign helps on this table: over its rounds, its squared error is {much} than "
        f"random sampling's ({sure:.1f} standard errors)."
        + (
            f" It needs {needed[CAMPAIGN]} labels where random sampling needs "
            f"{needed['random']}."
            if None not in needed.values()
            else ""
        )
    )


def _beware(found: dict[str, Any]) -> str | None:
    """Intervals that held less often than they say."""
    low = {
        policy: outcome["coverage"][-1]
        for policy, outcome in found["policies"].items()
        if outcome["coverage"][-1] < HELD
    }
    if not low:
        return None
    shares = ", ".join(f"{policy} {100 * share:.0f} %" for policy, share in low.items())
    return f"90 % intervals held the truth less often than they say ({shares})."


def tabulate(found: dict[str, Any]) -> Table:
    """A table for people."""
    total = next(iter(found["policies"].values()))["labels"][-1]
    table = Table(
        title=f"After {total} labels, {found['seeds']} campaigns a policy "
        f"(truth {plain(found['truth'])})"
    )
    table.add_column("policy", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for policy, outcome in found["policies"].items():
        needed = found["labels_needed"].get(policy, {}).get("rmse")
        table.add_row(
            policy,
            plain(outcome["rmse"][-1]),
            plain(outcome["width"][-1]),
            _percent(outcome["coverage"][-1]),
            *_by_belief(outcome),
            "–" if needed is None else str(needed),
            style="bold" if policy == CAMPAIGN else None,
        )
    return table


def _by_belief(outcome: dict[str, Any]) -> list[str]:
    """The belief's own answer beside the one that leads; of plain averages there is none."""
    believed = outcome["belief"]
    if believed is None:
        return ["–", "–", "–"]
    figures = [plain(believed["rmse"][-1]), plain(believed["width"][-1])]
    return [*figures, _percent(believed["coverage"][-1])]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
