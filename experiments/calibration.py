"""How far is a belief off beyond its own spread? Campaigns on many tables tell.

The combined answer leaves the belief room to be wrong, on a scale with two parts: a multiple of
its own spread, and one of a single draw's that labels do not shrink
(`labelwise.evaluation.combined`). Here campaigns are played on the corpus' tables to learn
from, with models of every quality: 60 labels of one cluster, then 50 drawn by the engine at its
default settings from a pool of 300, or 250 from one of 1,000. (The belief sees eight of the
features, so that all tables share compiled programs.) At three looks each the two ingredients
of each answer are kept, and combined anew for a grid of scales. Campaigns are too short to tell
of a bias that lasts, so it has the room that thousands of labels ask for. Of the scales that
have it, and whose 90 % intervals hold in 90 % at every look, the one that ships has the
smallest interval score, for classes and for numbers, on average over looks: an interval's
width, and what it missed the truth by times 2 / (1 - level) [1]. A seed is a campaign; none of
the tables is reported on elsewhere.

[1] Gneiting, Raftery (2007), Strictly proper scoring rules, prediction, and estimation.
"""

import time
import zlib
from collections.abc import Sequence
from functools import partial
from itertools import product, starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.table import Table as Shown

from experiments import coverage_campaign as campaign
from experiments.corpus import entries, predictions, split, starts
from experiments.corpus_tables import Table, load
from experiments.coverage_draws import Drawn
from experiments.prior_tasks import quality_of
from labelwise import __version__
from labelwise.cli.runs import Task
from labelwise.errors import NumericalError
from labelwise.evaluation.answer import DESIGN, GRID, LEVEL, Answer
from labelwise.evaluation.combined import (
    BIAS_OF_CLASSES,
    BIAS_OF_NUMBERS,
    BiasScale,
    combined_quantiles,
)
from labelwise.evaluation.estimate import Estimate

KINDS = ("class", "number")
FIRST, FEATURES = 60, 8


class Size(NamedTuple):
    """How many rows and labels a campaign has."""

    pool: int
    batch: int
    looks: tuple[int, ...]  # labels bought at which answers are kept
    share: int = 1  # of so many campaigns, one is of this size

    @property
    def rows(self) -> int:
        """That a table needs: half of them train its model."""
        return 2 * (FIRST + self.pool)


SIZES = {"usual": Size(300, 5, (10, 20, 50)), "large": Size(1000, 25, (50, 100, 250), 3)}
OWN = (0.0, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6, 0.8)
LASTING = (0.0, 0.01, 0.015, 0.02, 0.03, 0.045)
SCALES = tuple(starmap(BiasScale, product(OWN, LASTING)))[1:]  # but for no room at all
LEAST_LASTING = 0.015  # that leaves room for a bias of 2 % of a draw's spread for ever
HELD = 0.895  # at every look: 90 %, rounded
SHIPPED = {"class": BIAS_OF_CLASSES, "number": BIAS_OF_NUMBERS}
# Quantiles of the belief's answer that are kept, from which the others are read.
KEPT = (0.005, 0.02, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.98, 0.995)
FARTHEST = 8.0  # classical widths that one interval's score may count
# Every row has them, if only empty: rows of a file have its columns.
FIGURES = (
    *("bought", "kind", "quality", "truth", "classical", "draws", "drawn", "drawn_std"),
    *(f"q{chance:g}" for chance in KEPT),
)


def config() -> dict[str, Any]:
    """What the rows depend on besides table and seed."""
    return {
        "experiment": "calibration",
        "version": __version__,
        "rounds": 3 * 3 - 1,  # rows of a campaign, less one: an estimand and a look
        "first": FIRST,
        "features": FEATURES,
        "batches": campaign.ROUNDS,
        "sizes": {name: size._asdict() for name, size in SIZES.items()},
        "kept": list(KEPT),
    }


def arms(kinds: Sequence[str], size: str) -> list[str]:
    """Tables of the part to learn from, by name, with the size of their campaigns."""
    learn = split()["learn"].values()
    return [f"{entry.name}, {size}" for entry in learn if entry.kind in kinds]


def work(cache: Path | None):
    return partial(_work, cache)


def _work(cache: Path | None, task: Task) -> list[dict[str, Any]]:
    """One campaign; a row a look and an estimand. If a table is too small, without figures."""
    began = time.perf_counter()
    name, size = task.policy.split(", ")
    entry, size = entries()[name], SIZES[size]
    binary = entry.kind == "class"
    drawn = _draw(load(entry, cache), size, task.seed, cache)
    looks = [] if drawn is None else _play(drawn[0], binary, size, task.seed)
    heading = {"policy": task.policy, "seed": task.seed, **dict.fromkeys(FIGURES)}
    names = campaign.ESTIMANDS[binary]
    rows = [
        heading | {"round": index, "bought": bought, "estimand": name}
        for index, (bought, name) in enumerate(product(size.looks, names))
    ]
    if drawn is not None and looks:
        problem, quality = drawn
        for row, each in zip(rows, looks, strict=True):
            row |= {"kind": entry.kind, "quality": quality}
            row |= _figures(problem, row, each, task.seed)
    seconds = round((time.perf_counter() - began) / len(rows), 3)
    return [row | {"seconds": seconds} for row in rows]


def _play(problem: Drawn, binary: bool, size: Size, seed: int) -> list[Estimate]:
    """What the campaign says at each look, of each estimand; nothing if it broke down."""
    try:
        variant = campaign.Variant(batch=size.batch)
        found = campaign.estimates(problem, binary, variant, seed)
    except NumericalError:
        return []
    looks = [found[bought // size.batch] for bought in size.looks]
    return [each for look in looks for each in (look, *look.parts)]


def _draw(table: Table, size: Size, seed: int, cache: Path | None) -> tuple[Drawn, str] | None:
    """What a campaign starts from, and the quality of its model."""
    if len(table.y) < size.rows or table.x.shape[1] < FEATURES:
        return None
    rng = np.random.default_rng([seed, 77, zlib.crc32(table.name.encode())])
    quality = quality_of(table.kind, rng)
    model = predictions(table, quality, seed, cache)
    start = starts(table, model.held_out, FIRST, seed)
    pool, first = start.pool[: size.pool], start.initial
    if len(pool) < size.pool:
        return None
    x = table.x[:, np.sort(rng.permutation(table.x.shape[1])[:FEATURES])]
    labels, scores = table.y, model.scores
    parts = (x[first], labels[first], x[pool], labels[pool], scores[first], scores[pool])
    return Drawn(*parts), quality


def _figures(problem: Drawn, row: dict[str, Any], estimate: Any, seed: int):
    name = row["estimand"]
    classical = campaign.classical_answer(problem, name, seed, row["bought"])
    belief, drawn = estimate.credible, estimate.design
    figures = {
        "truth": campaign.truth_of(problem, name),
        "classical": classical.high - classical.low,
        "draws": 0 if drawn is None else drawn.draws,
        "drawn": np.nan if drawn is None else drawn.value + drawn.beyond,
        "drawn_std": np.nan if drawn is None else drawn.std,
    }
    values = np.interp(KEPT, GRID, belief.quantiles)
    figures |= {f"q{chance:g}": value for chance, value in zip(KEPT, values, strict=True)}
    return {key: float(f"{value:.6g}") for key, value in figures.items()}


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """Coverage and scores by scale, of each kind after so many labels; and what is best."""
    rows = rows.dropna(subset=["truth", "drawn"]) if "truth" in rows else rows
    size = rows["policy"].str.rsplit(", ", n=1).str[-1]
    looks = {_name(*key): mine for key, mine in rows.groupby(["kind", size, "bought"])}
    each = {name: _of_look(mine) for name, mine in looks.items()}
    return {
        "experiment": "calibration",
        "command": command,
        "shipped": {kind: _told(scale) for kind, scale in SHIPPED.items()},
        "chosen": {kind: _best(each, kind) for kind in KINDS},
        "campaigns": {name: len(mine) // 3 for name, mine in looks.items()},
        "looks": each,
        "shipped_by": {
            kind: _shipped(rows[rows["kind"] == kind], SHIPPED[kind]) for kind in KINDS
        },
    }


def _name(kind: Any, size: Any, bought: Any) -> str:
    return f"{kind}, {size}, {int(bought)} labels"


def _told(scale: BiasScale) -> str:
    return f"{scale.own:g}, {scale.lasting:g}"


def _of_look(rows: pd.DataFrame) -> dict[str, Any]:
    """By scale."""
    return {_told(scale): _hold(rows, _intervals(rows, scale)) for scale in SCALES}


def _best(each: dict[str, Any], kind: str) -> str | None:
    """The smallest score, on average over looks, of scales that hold at every one of them."""
    mine = [look for name, look in each.items() if name.startswith(kind)]
    holds = lambda scale: all(look[_told(scale)]["coverage"] >= HELD for look in mine)
    score = lambda scale: np.mean([look[_told(scale)]["score"] for look in mine])
    room = [scale for scale in SCALES if scale.lasting >= LEAST_LASTING and holds(scale)]
    return _told(min(room, key=score)) if mine and room else None


def _shipped(rows: pd.DataFrame, scale: BiasScale) -> dict[str, Any]:
    """How often intervals hold, by estimand and by the model's quality."""
    held = pd.Series(_held(rows, _intervals(rows, scale)), rows.index)
    means = {by: held.groupby(rows[by]).mean() for by in ("estimand", "quality")}
    return {
        by: {str(name): float(one) for name, one in mean.items()} for by, mean in means.items()
    }


def _intervals(rows: pd.DataFrame, scale: BiasScale) -> np.ndarray:
    return np.array([_interval(row, scale) for _, row in rows.iterrows()]).reshape(-1, 2)


def _interval(row: pd.Series, scale: BiasScale) -> tuple[float, float]:
    """The combined interval from what was kept of its ingredients."""
    quantiles = tuple(np.interp(GRID, KEPT, [row[f"q{chance:g}"] for chance in KEPT]))
    belief = Answer(row["q0.5"], 0.0, quantiles)
    drawn = Answer(row["drawn"], row["drawn_std"], (), DESIGN, draws=int(row["draws"]))
    tails = [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0]
    low, high = np.interp(tails, GRID, combined_quantiles(belief, drawn, scale))
    return float(low), float(high)


def _held(rows: pd.DataFrame, ends: np.ndarray) -> np.ndarray:
    truth = rows["truth"].to_numpy()
    return (ends[:, 0] <= truth) & (truth <= ends[:, 1])


def _hold(rows: pd.DataFrame, ends: np.ndarray) -> dict[str, float]:
    truth, classical = (
        rows["truth"].to_numpy(),
        np.maximum(rows["classical"].to_numpy(), 1e-300),
    )
    width, held = ends[:, 1] - ends[:, 0], _held(rows, ends)
    beyond = np.maximum(ends[:, 0] - truth, 0.0) + np.maximum(truth - ends[:, 1], 0.0)
    score = np.minimum((width + 2.0 / (1.0 - LEVEL) * beyond) / classical, FARTHEST)
    # Campaigns are told apart, not estimands of one campaign.
    error = np.sqrt(held.mean() * (1.0 - held.mean()) / max(len(rows) / 3.0, 1.0))
    return {
        "coverage": float(held.mean()),
        "standard_error": float(error),
        "median_width": float(np.median(width / classical)),
        "score": float(score.mean()),
    }


def tabulate(summary: dict[str, Any]) -> Shown:
    title = "Coverage of 90 % intervals / median width of classical / interval score"
    shown = Shown(title=title, box=SIMPLE)
    shown.add_column("look")
    shown.add_column("campaigns", justify="right")
    for which in ("shipped", "chosen"):
        told = ", ".join(f"{kind} {scale}" for kind, scale in summary[which].items())
        shown.add_column(f"{which} ({told})", justify="right")
    for name, look in summary["looks"].items():
        kind = name.split(", ")[0]
        each = (look.get(summary[which][kind]) for which in ("shipped", "chosen"))
        shown.add_row(name, str(summary["campaigns"][name]), *map(_cell, each))
    return shown


def _cell(found: dict[str, float] | None) -> str:
    if found is None:
        return "–"
    return f"{found['coverage']:.3f} / {found['median_width']:.2f} / {found['score']:.2f}"
