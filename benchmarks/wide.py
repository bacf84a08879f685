"""Tables of 30,000 rows with 94 features, and four questions about 0/1 labels."""

from pathlib import Path

import numpy as np
import pandas as pd

ROWS, NUMBERS, MARKS, LABELLED = 30_000, 20, 73, 200  # the prediction is a feature too
ESTIMANDS = ("accuracy", "recall", "precision", "brier")
COLUMNS = ("id", "y", "risk")  # id, label and prediction


def write_tables(folder: Path, rows: int = ROWS) -> None:
    """Labelled rows from a corner, a pool with its answers apart, and a target."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    labelled = _rows(rng, LABELLED, 0, 0.3)
    pool, target = _rows(rng, rows, LABELLED, 0.0), _rows(rng, rows, 0, 0.0)
    tables = {
        "labelled": labelled,
        "pool": pool.drop(columns="y"),
        "target": target.drop(columns=["y", "id"]),
        "answers": pool[["id", "y"]],
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, float_format="%.5g")


def _rows(rng: np.random.Generator, size: int, start: int, shift: float) -> pd.DataFrame:
    x = rng.normal(shift, 1.0, size=(size, NUMBERS + MARKS))
    x[:, NUMBERS:] = x[:, NUMBERS:] > 0.5
    score = 0.8 * x[:, 0] + 0.3 * x[:, 1]
    level = score + 0.5 * x[:, 2] * x[:, 3] + 0.4 * x[:, NUMBERS]
    chance, risk = (1.0 / (1.0 + np.exp(-one)) for one in (level, score))
    frame = pd.DataFrame(x, columns=[f"x{place}" for place in range(x.shape[1])])
    y = (rng.uniform(size=size) < chance).astype(int)
    return frame.assign(id=np.arange(start, start + size), risk=risk, y=y)
