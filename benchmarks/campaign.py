"""How long a person waits: opening a campaign, asking and telling, on a pool of 20,000 rows."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from labelwise.campaign.campaign import Campaign
from labelwise.evaluation.spec import Sampling, Tables
from labelwise.tables.columns import Columns

POOL, TARGET, LABELLED, FEATURES, BATCH = 20_000, 5_000, 500, 12, 10
ASKS = 4  # the first one compiles, and is reported apart
TOTAL = ASKS + 2


def run(advance: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Seconds of each step; asks and tells after the first call."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "campaign"
        pool = _rows(rng, POOL, 1.5, 0)
        began = time.perf_counter()
        _create(path, rng, pool)
        created = time.perf_counter() - began
        advance()
        began = time.perf_counter()
        campaign = Campaign.open(path)
        opened = time.perf_counter() - began
        advance()
        answers = pool.set_index("id")["y"]
        asks, tells = [], []
        for _ in range(ASKS):
            began = time.perf_counter()
            batch = campaign.ask()
            asks.append(time.perf_counter() - began)
            began = time.perf_counter()
            campaign.tell(batch.assign(y=batch["id"].map(answers)))
            tells.append(time.perf_counter() - began)
            advance()
    return {
        "pool": POOL,
        "target": TARGET,
        "labels": LABELLED,
        "features": FEATURES,
        "create_seconds": created,
        "open_seconds": opened,
        "first_ask_seconds": asks[0],
        "ask_seconds": float(np.median(asks[1:])),
        "tell_seconds": float(np.median(tells)),
    }


def _create(path: Path, rng: np.random.Generator, pool: pd.DataFrame) -> None:
    Campaign.create(
        path,
        Tables(
            labelled=_rows(rng, LABELLED, 0.5, POOL),
            pool=pool.drop(columns="y"),
            target=_rows(rng, TARGET, 1.0, 0).drop(columns=["y", "id"]),
        ),
        Columns(id="id", label="y", prediction="prediction"),
        sampling=Sampling(batch=BATCH),
    )


def _rows(rng: np.random.Generator, size: int, spread: float, start: int) -> pd.DataFrame:
    x = rng.normal(0.0, spread, size=(size, FEATURES))
    frame = pd.DataFrame(x, columns=[f"x{index}" for index in range(FEATURES)])
    y = np.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.3 * rng.normal(size=size)
    return frame.assign(id=np.arange(start, start + size), prediction=np.sin(x[:, 0]), y=y)
