"""How far can you trust the interval? Many campaigns, and how often each interval held.

Eight problems, real and made up, with first labels from one corner of the data; then 50 labels
in ten rounds, of a pool that is also the target. Every campaign is the engine's own, as
`labelwise new` makes it, and its answers are held to the truth: the combined one, which leads,
and what it is made of, the belief's and that of the rows that chance drew, which are looked at
once or after every round. Beside them stands the classical interval from as many labels drawn
uniformly. A seed is a campaign.
"""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments import coverage_campaign as campaign
from experiments.coverage_campaign import ESTIMANDS, LEVEL, VARIANTS, Interval
from experiments.coverage_draws import Drawn
from experiments.coverage_problems import CELLS, draw
from labelwise import __version__
from labelwise.cli.runs import Task
from labelwise.errors import LabelwiseError
from labelwise.evaluation.estimate import Estimate

SHIPPED = "mixture"  # the variant whose drawn rows answer too
ALSO = tuple(name for name in VARIANTS if name != SHIPPED)
DRAWN = ("by-loss", "uniform")  # that draw otherwise: of them the answer that leads is kept
KINDS = ("classical", *VARIANTS, "design", "anytime", "combined")  # of intervals
HEAVY = ("heavy-tails",)  # squared errors whose spread rests on a few large ones
MAIN = {True: "brier", False: "mse"}


def config(variants: Sequence[str] = ()) -> dict[str, Any]:
    """What the rows depend on besides problem and seed."""
    return {
        "experiment": "coverage",
        "version": __version__,
        "rounds": 2,  # rows of a campaign, less one: an estimand each
        "batches": campaign.ROUNDS,
        "batch": campaign.BATCH,
        "level": LEVEL,
        "variants": [SHIPPED, *variants],
    }


def work(data: Path | None, cache: Path | None, variants: Sequence[str] = ()):
    return partial(_work, data, cache, (SHIPPED, *variants))


def _work(data: Path | None, cache: Path | None, variants, task: Task) -> list[dict[str, Any]]:
    """One campaign of each variant; a row an estimand."""
    began = time.perf_counter()
    binary = CELLS[task.policy].binary
    problem = draw(task.policy, task.seed, data, cache)
    played = {name: _play(problem, binary, name, task.seed) for name in variants}
    rows = []
    for index, name in enumerate(ESTIMANDS[binary]):
        truth = campaign.truth_of(problem, name)
        looks = {
            variant: [(look, *look.parts)[index] for look in estimates]
            for variant, estimates in played.items()
        }
        row = {
            "policy": task.policy,
            "seed": task.seed,
            "round": index,
            "estimand": name,
            "truth": truth,
            **_drawn(looks[SHIPPED], truth),
            **_flat("classical", campaign.classical_answer(problem, name, task.seed)),
        }
        for variant, said in looks.items():
            row |= _flat(variant, _kept(variant, said))
        rows.append({key: _short(value) for key, value in row.items()})
    seconds = round((time.perf_counter() - began) / len(rows), 3)
    return [row | {"seconds": seconds} for row in rows]


def _kept(variant: str, said: Sequence[Estimate]) -> Interval:
    """What a variant is told by at the end: the belief alone, where that is what differs."""
    if not said:
        return Interval.of(None)
    return Interval.of(said[-1].combined if variant in DRAWN else said[-1].credible)


def _play(problem: Drawn, binary: bool, variant: str, seed: int) -> list[Estimate]:
    """What the campaign says, look by look; nothing if it broke down, which is counted."""
    try:
        return campaign.estimates(problem, binary, VARIANTS[variant], seed)
    except LabelwiseError:
        return []


def _drawn(looks: Sequence[Estimate], truth: float) -> dict[str, Any]:
    """What drawn rows say at the end, alone and with the belief; and if they ever missed."""
    answer, combined = (looks[-1].design, looks[-1].combined) if looks else (None, None)
    always = [Interval.of(look.design, anytime=True) for look in looks]
    return {
        "ever_missed": int(any(interval.misses(truth) for interval in always)),
        "heavy": int(answer is not None and answer.heavy),
        "failed": int(not looks),
        **_flat("design", Interval.of(answer)),
        **_flat("anytime", Interval.of(answer, anytime=True)),
        **_flat("combined", Interval.of(combined)),
    }


def _flat(kind: str, interval: Interval) -> dict[str, float]:
    return {f"{kind}_{key}": value for key, value in interval._asdict().items()}


def _short(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """Coverage, width and error of every interval in every cell, and what they must show."""
    cells = {
        f"{cell} {name}": _cell(mine)
        for (cell, name), mine in rows.groupby(["policy", "estimand"], sort=False)
    }
    main = {key: cell for key, cell in cells.items() if key.split()[1] in MAIN.values()}
    return {
        "experiment": "coverage",
        "command": command,
        "level": LEVEL,
        "campaigns": {
            str(cell): int(mine["seed"].nunique()) for cell, mine in rows.groupby("policy")
        },
        "seconds": float(rows["seconds"].sum()),
        "cells": cells,
        "pooled": _pooled(cells),
        "pooled_main": _pooled(main),
        "ever_missed_bounded": float(
            np.mean([cell["ever_missed"] for cell in cells.values() if not cell["heavy_cell"]])
        ),
    }


def _cell(rows: pd.DataFrame) -> dict[str, Any]:
    kinds = [kind for kind in KINDS if f"{kind}_low" in rows]
    return {
        "campaigns": len(rows),
        "heavy_cell": str(rows["policy"].iloc[0]) in HEAVY,
        "ever_missed": float(rows["ever_missed"].mean()),
        "flagged_heavy": float(rows["heavy"].mean()),
        "failed": int(rows["failed"].sum()),
        "kinds": {kind: _kind(rows, kind) for kind in kinds},
    }


def _kind(rows: pd.DataFrame, kind: str) -> dict[str, Any]:
    """One kind of interval; not all campaigns have all kinds."""
    rows = rows[rows[f"{kind}_low"].notna()]
    truth, low, high = rows["truth"], rows[f"{kind}_low"], rows[f"{kind}_high"]
    covered = float(((low <= truth) & (truth <= high)).mean())
    spread = max(covered * (1.0 - covered), 1e-12)
    classical = float((rows["classical_high"] - rows["classical_low"]).mean())
    width = float((high - low).mean())
    return {
        "campaigns": len(rows),
        "coverage": covered,
        "standard_error": float(np.sqrt(spread / max(len(rows), 1))),
        "width": width,
        "relative_width": width / classical,
        "rmse": float(np.sqrt(((rows[f"{kind}_value"] - truth) ** 2).mean())),
    }


def _pooled(cells: dict[str, Any]) -> dict[str, float]:
    """Mean coverage of each kind over cells, which count alike."""
    kinds = next(iter(cells.values()), {"kinds": ()})["kinds"]
    return {
        kind: float(np.mean([cell["kinds"][kind]["coverage"] for cell in cells.values()]))
        for kind in kinds
    }
