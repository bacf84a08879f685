"""The three tables as arrays, and the part of the target that plans are made on."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from labelwise.tables.columns import read_numbers
from labelwise.tables.encoder import Encoder
from labelwise.tables.roles import Columns

# Plans and variances look at this many target rows; the estimate itself looks at all.
TARGET_ROWS = 1000


@dataclass(frozen=True)
class Arrays:
    """Encoded rows with their numbers."""

    pool: np.ndarray  # pool × features
    target: np.ndarray  # target × features
    labelled: np.ndarray  # labelled × features
    labels: np.ndarray  # of the labelled rows
    mass: np.ndarray | None  # weights of target rows; None: all equal
    prediction: np.ndarray | None  # of target rows
    predictor_column: int | None  # the feature that is the prediction
    thin: np.ndarray | None  # target rows that stand for all; None: all do

    @property
    def features(self) -> int:
        return self.pool.shape[1]

    @property
    def spread(self) -> np.ndarray:
        """Standard deviation of each feature in the population."""
        return self.target.std(axis=0)


def make_arrays(
    tables: dict[str, pd.DataFrame],
    columns: Columns,
    encoder: Encoder,
    seed: int,
    predictor_in_belief: bool,
) -> Arrays:
    """Encode checked tables; `tables` has labelled, pool and target."""
    target = tables["target"]
    mass = prediction = None
    if columns.weight is not None:
        mass = read_numbers(target, columns.weight, "The target table", low=0.0)
    if columns.prediction is not None:
        prediction = read_numbers(target, columns.prediction, "The target table")
    labels = read_numbers(tables["labelled"], columns.label, "The labelled table")
    encoded = encoder.encode(target)
    return Arrays(
        pool=encoder.encode(tables["pool"]),
        target=encoded,
        labelled=encoder.encode(tables["labelled"]),
        labels=labels,
        mass=mass,
        prediction=prediction,
        predictor_column=(
            len(encoder.names) - 1  # it is coded last
            if predictor_in_belief and columns.prediction is not None
            else None
        ),
        thin=thin_rows(encoded, mass, seed),
    )


def thin_rows(x: np.ndarray, mass: Any, seed: int) -> np.ndarray | None:
    """A systematic sample with chances by mass, so that its rows count alike."""
    size = len(x)
    if size <= TARGET_ROWS:
        return None
    rng = np.random.default_rng(seed)
    order = shuffled(x, seed)
    shares = np.full(size, 1.0) if mass is None else np.asarray(mass, float)[order]
    ends = np.cumsum(shares) / shares.sum()
    ticks = (np.arange(TARGET_ROWS) + rng.uniform()) / TARGET_ROWS
    rows = order[np.minimum(np.searchsorted(ends, ticks), size - 1)]
    return np.sort(rows)


def shuffled(x: np.ndarray, seed: int) -> np.ndarray:
    """Rows in an order that looks random but depends on what they hold, not where they are."""
    salt = seed.to_bytes(8, "little")
    digest = lambda row: hashlib.blake2b(row.tobytes(), digest_size=8, salt=salt).digest()
    keys = np.array([digest(row) for row in np.ascontiguousarray(x)], "S8")
    return np.argsort(keys, kind="stable")
