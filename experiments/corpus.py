"""A corpus of labelled tables with models of many qualities, and how campaigns start on them.

The prior of a belief is learnt on the tables of the part "learn" and tried on those of the part
"test", which were set apart by name before any result was seen. `docs/corpus.md` lists them.

    table = load(entries()["attrition"])
    model = predictions(table, "overconfident", seed=3)
    start = starts(table, model.held_out, labelled=60, seed=3)
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.box import SIMPLE
from rich.table import Table as Shown

from experiments.corpus_models import QUALITIES as QUALITIES
from experiments.corpus_models import Predictions as Predictions
from experiments.corpus_models import predictions as predictions
from experiments.corpus_tables import SEED, Entry, Kind, Part, Table, load, read_entries
from labelwise.errors import InvalidInput

POOL = 1000  # rows that may be labelled, at most
SHOWN = ("good", "shifted")  # qualities of which the documents tell how good they are

LabelledBy = Literal["cluster", "chance"]
entries = lru_cache(read_entries)


@dataclass(frozen=True)
class Start:
    """Rows of a table that are labelled at first, and rows that may be labelled."""

    initial: np.ndarray
    pool: np.ndarray


def starts(
    table: Table,
    held_out: np.ndarray,
    labelled: int,
    seed: int,
    labelled_by: LabelledBy = "cluster",
) -> Start:
    """Initial rows of one cluster, or drawn uniformly, and a pool of any others."""
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(held_out)
    if not 1 <= labelled < len(rows):
        raise InvalidInput.must(
            "labelled", f"lie between 1 and {len(rows) - 1}", f"it is {labelled}"
        )
    home = rows if labelled_by == "chance" else _cluster(table, rows, labelled, rng)
    initial = rng.choice(home, labelled, replace=False)
    others = np.setdiff1d(rows, initial)
    return Start(initial, rng.permutation(others)[:POOL])


def split() -> dict[Part, dict[str, Entry]]:
    """The tables to learn from, and those to test on."""
    of = lambda part: {name: entry for name, entry in entries().items() if entry.part == part}
    return {"learn": of("learn"), "test": of("test")}


def folds(count: int) -> list[list[Entry]]:
    """The tables to learn from in folds: those of one study together, both kinds in each."""
    learn = split()["learn"].values()
    groups = sorted({entry.group for entry in learn})
    if not 2 <= count <= len(groups):
        raise InvalidInput.must(
            "count", f"lie between 2 and the {len(groups)} studies", f"it is {count}"
        )
    # Studies with classes first, then those with numbers only: dealt out, both are spread.
    with_classes = {entry.group for entry in learn if entry.kind == "class"}
    order = np.random.default_rng(SEED).permutation(groups).tolist()
    order.sort(key=lambda group: group not in with_classes)
    place = {group: index % count for index, group in enumerate(order)}
    return [[entry for entry in learn if place[entry.group] == fold] for fold in range(count)]


def summarise(command: str, cache: Path | None = None) -> dict[str, Any]:
    """What each table holds, and how good two models on it are."""
    return {
        "command": command,
        "tables": {
            name: _describe(load(entry, cache), cache) for name, entry in entries().items()
        },
    }


def as_markdown(summary: dict[str, Any], kind: Kind) -> str:
    """The tables of one kind; those to test on are in bold type."""
    level, quality = ("base rate", "AUC") if kind == "class" else ("s.d.", "R²")
    good = [f"{quality}, {name}" for name in SHOWN]
    lines = [["table", "outcome", "rows", "features", level, *good], ["---"] * 2 + ["---:"] * 5]
    for name, table in summary["tables"].items():
        if table["kind"] == kind:
            shown = f"**{name}**" if table["part"] == "test" else name
            outcome = f"`{table['outcome']}` of {table['source']}"
            lines.append([shown, outcome, *_figures(table)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tabulate(summary: dict[str, Any]) -> Shown:
    good = [f"AUC or R², {name}" for name in SHOWN]
    shown = Shown(box=SIMPLE)
    for heading in ("table", "kind", "part", "rows", "features", "base rate or s.d.", *good):
        shown.add_column(heading, no_wrap=heading == "table")
    for name, table in summary["tables"].items():
        shown.add_row(name, table["kind"], table["part"], *_figures(table))
    return shown


def _cluster(
    table: Table, rows: np.ndarray, labelled: int, rng: np.random.Generator
) -> np.ndarray:
    counts = np.bincount(table.clusters[rows])
    large = np.flatnonzero(counts >= labelled)
    if large.size == 0:
        raise InvalidInput(
            f"No cluster of {table.name} has {labelled} rows left, the largest {counts.max()}",
            "label fewer, or draw them by chance",
            where="labelled",
        )
    return rows[table.clusters[rows] == rng.choice(large)]


def _describe(table: Table, cache: Path | None) -> dict[str, Any]:
    quality = {}
    for name in SHOWN:
        model = predictions(table, name, SEED, cache)
        rows = model.held_out
        quality[name] = round(_quality(table.kind, table.y[rows], model.scores[rows]), 3)
    return {
        "kind": table.kind,
        "part": table.entry.part,
        "source": f"{table.entry.package}/{table.entry.item}",
        "outcome": table.entry.outcome,
        "rows": len(table.y),
        "features": table.x.shape[1],
        "level": float(f"{table.y.mean() if table.kind == 'class' else table.y.std():.3g}"),
        **quality,
    }


def _quality(kind: Kind, y: np.ndarray, scores: np.ndarray) -> float:
    from sklearn.metrics import r2_score, roc_auc_score

    return float(roc_auc_score(y, scores) if kind == "class" else r2_score(y, scores))


def _figures(table: dict[str, Any]) -> list[str]:
    quality = [f"{table[name]:.2f}" for name in SHOWN]
    return [f"{table['rows']:,}", str(table["features"]), f"{table['level']:g}", *quality]
