"""A campaign small enough to be made again and again: 30 rows, a belief that is not fitted."""

import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.flat import create

POOL = 30
LABELLED = 12
TARGET = 20


def label_of(one: str) -> float:
    """The label that the world gives an id, the same in every process."""
    digest = hashlib.sha256(one.encode()).digest()
    return round(int.from_bytes(digest[:4], "big") / 2**32, 6)


def make_tables() -> dict[str, pd.DataFrame]:
    """Labelled, pool and target, with two features and a prediction."""
    rng = np.random.default_rng(7)
    rows = lambda size, start: pd.DataFrame(
        {
            "id": [f"r{start + index}" for index in range(size)],
            "a": rng.normal(size=size),
            "b": rng.normal(size=size),
            "psi": rng.uniform(size=size),
        }
    )
    labelled, pool = rows(LABELLED, 1000), rows(POOL, 0)
    labelled["y"] = labelled["id"].map(label_of)
    return {"labelled": labelled, "pool": pool, "target": rows(TARGET, 2000)}


def options(**changes: Any) -> dict[str, Any]:
    """What the small campaign is created with."""
    from labelwise import RBF, GaussianProcess

    chosen = {
        **make_tables(),
        "id": "id",
        "label": "y",
        "prediction": "psi",
        "belief": GaussianProcess(RBF(1.0, 1.0), 0.1),
        "policy": "random",
        "batch": 3,
        "budget": 20,
        "seed": 3,
        "label_range": (0.0, 1.0),
        "predictor_in_belief": False,
    }
    return chosen | changes


def make(path: Path, **changes: Any):
    """Create it."""
    return create(path, **options(**changes))


def labels_of(ids: Any) -> dict[str, float]:
    return {str(one): label_of(str(one)) for one in ids}


def bind_again(folder: Path) -> None:
    """Give the log hashes of what it holds now, as one who forges all of it would."""
    from labelwise.campaign.store.folder import LOG, FolderStore
    from labelwise.campaign.store.reading import bind

    log = sqlite3.connect(folder / LOG)
    for table in ("start", "chain"):
        (triggers,) = zip(*log.execute(TRIGGERS, (table,)), strict=True)
        for name in triggers:
            log.execute(f"DROP TRIGGER {name}")
        log.execute(f"DELETE FROM {table}")
    bind(log, FolderStore(folder).stored_tables(), "2024-01-01T00:00:00.000000+00:00")
    log.commit()
    log.close()
    (folder / "campaign.head").unlink()


TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?"


def dump(folder: Path) -> dict[str, list[tuple]]:
    """Every row of every table of the log."""
    log = sqlite3.connect(f"{(folder / 'campaign.db').resolve().as_uri()}?mode=ro", uri=True)
    try:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        names = [name for (name,) in log.execute(query)]
        return {name: log.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    finally:
        log.close()
