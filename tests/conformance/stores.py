"""Every store, and a small campaign to keep in one. A new store joins its suite by one line."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np

from labelwise.campaign.store.contract import AbstractStore, Contents, Item
from labelwise.campaign.store.folder import FolderStore
from labelwise.campaign.store.sqlite import MemoryStore
from labelwise.evaluation.answer import DESIGN, GRID, Answer
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.round import Draws, Plan, Reason, Round

POOL = 12
CONTENTS = Contents(
    documents={"settings": {"name": "small", "seed": [1, None, 0.5]}, "labels": {}},
    items=[Item("labelled", 0, "old"), *(Item("pool", row, f"r{row}") for row in range(POOL))],
    tables={"labelled": b"PAR1 \x00 labelled", "pool": b"PAR1 pool"},
)
Clock = Callable[[], datetime]


def in_folder(place: Path, clock: Clock | None) -> AbstractStore:
    FolderStore.create(place / "campaign", CONTENTS)
    return FolderStore.open(place / "campaign", clock)


# How each is made from `CONTENTS`, with some free place on disk and a clock.
STORES: dict[str, Callable[[Path, Clock | None], AbstractStore]] = {
    "folder": in_folder,
    "memory": lambda _, clock: MemoryStore(CONTENTS, clock),
}


def make_estimate(value: float = 0.25) -> Estimate:
    """An estimate with everything that one may have."""
    quantiles = tuple(float(value + level) for level in GRID)
    drawn = Answer(
        value, 0.1, quantiles, DESIGN, (0.1, 0.4), {"0.9": [0.1, 0.4]}, 3, 1, heavy=True
    )
    part = Estimate("mse", "Error of north", 5, 1, {}, Answer(value, 0.2, quantiles))
    return Estimate(
        estimand="mse",
        title="Mean squared error",
        initial=5,
        bought=2,
        belief={"name": "gp", "position": [0.1, 0.2]},
        credible=Answer(value, 0.2, quantiles),
        design=drawn,
        headline=DESIGN,
        warnings=("beware",),
        beats=0.75,
        parts=(part,),
    )


def make_round(number: int, rows: tuple[int, ...] = (3, 1), draws: bool = True) -> Round:
    """A round with everything that one may have."""
    size = len(rows)
    plan = Plan(
        rows=rows,
        probabilities=(0.125,) * size,
        policy="lookahead",
        std=0.3,
        expected=0.2,
        random=0.25,
        uncertainty=0.24,
        reasons=(Reason(0.5, 0.5, 0.1, 0.2),) * size,
        covariance=((1.0,) * size,) * size,
        treated=(1.0,) * size,
        cost=2.0,
        drawn=(draws,) * size,
    )
    kept = Draws(
        drawn=(True,) * size,
        closed=(5,),
        questions={"Mean squared error": [0, 0]},
        foreseen=(0.5,),
        predictions=np.arange(2 * POOL, dtype=np.float32).reshape(2, POOL) / 7,
    )
    return Round(number, plan, make_estimate(), (7,), kept if draws else None, 4)
