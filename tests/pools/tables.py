"""Small tables in several Parquet files."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 6000


def columns(rows: int = ROWS, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "id": np.arange(rows),
        "a": rng.normal(3.0, 2.0, rows),
        "b": np.where(rng.random(rows) < 0.1, np.nan, rng.random(rows)).astype(np.float32),
        "kind": np.array(["x", "y", "z"])[rng.integers(3, size=rows)],
        "score": rng.random(rows).astype(np.float32),
    }


def write(folder: Path, files: int = 3, group: int = 700, **changed: Any) -> Path:
    """The table in so many files, with row groups of so many rows."""
    whole = pa.table(columns() | changed)
    folder.mkdir(parents=True, exist_ok=True)
    cuts = np.linspace(0, len(whole), files + 1).astype(int)
    for number, (begin, end) in enumerate(pairwise(cuts)):
        some = whole.slice(begin, end - begin)
        pq.write_table(some, folder / f"part-{number}.parquet", row_group_size=group)
    return folder
