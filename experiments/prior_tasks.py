"""Tasks that a prior is learnt from: labels of a corpus table, beside a model's output.

A task has 120 labels, half of them from one cluster and half drawn by chance, as a campaign
has them towards its end. The log evidence of these labels is their joint log score: the sum of
how well each was foreseen from those before it.
"""

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.corpus import QUALITIES, Predictions, Start, predictions, starts
from experiments.corpus_tables import Entry, Kind, Table, load
from labelwise.errors import InvalidInput

FIRST, DRAWN = 60, 60  # labels of one cluster, and labels drawn by chance
MOST_FEATURES = 30  # as many as a table of the corpus may have
# How often a user brings a model of each quality, as we suppose; the rest count once.
OFTEN = {"good": 3.0, "shifted": 3.0, "useless": 0.5, "reversed": 0.25}


@dataclass(frozen=True)
class Task:
    """Labelled rows, the model's output last among the features (of classes, its log-odds)."""

    table: str
    group: str  # the study
    quality: str
    seed: int
    x: np.ndarray
    y: np.ndarray
    spread: np.ndarray  # of each feature over the population
    centre: float  # mean of the model's output over the population


def tasks_of(entry: Entry, seeds: range, cache: Path | None) -> list[Task]:
    """One task a seed, whose quality the seed chooses; none where the table is too small."""
    table = load(entry, cache)
    tasks = []
    for seed in seeds:
        rng = np.random.default_rng([seed, zlib.crc32(table.name.encode())])
        quality = quality_of(table.kind, rng)
        model = predictions(table, quality, seed, cache)
        if model.held_out.sum() < 2 * (FIRST + DRAWN):
            continue
        try:
            start = starts(table, model.held_out, FIRST, seed)
        except InvalidInput:  # no cluster is large enough
            continue
        tasks.append(_task(table, model, quality, start, seed))
    return tasks


def _task(table: Table, model: Predictions, quality: str, start: Start, seed: int) -> Task:
    rows = np.concatenate([start.initial, start.pool[:DRAWN]])
    everyone = np.concatenate([start.initial, start.pool])
    output = model.scores if table.kind == "number" else _log_odds(model.scores)
    both = np.column_stack([table.x, output])
    return Task(
        table=table.name,
        group=table.entry.group,
        quality=quality,
        seed=seed,
        x=both[rows],
        y=table.y[rows],
        spread=both[everyone].std(axis=0),
        centre=float(output[everyone].mean()),
    )


def quality_of(kind: Kind, rng: np.random.Generator) -> str:
    """A quality, as often as users bring models of it."""
    names = QUALITIES[kind]
    share = np.array([OFTEN.get(name, 1.0) for name in names])
    return str(rng.choice(names, p=share / share.sum()))


def _log_odds(probability: np.ndarray) -> np.ndarray:
    return np.log(probability) - np.log1p(-probability)
