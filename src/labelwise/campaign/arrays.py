"""The three tables as arrays, and the part of the target that plans are made on."""

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
    return Arrays(
        pool=encoder.encode(tables["pool"]),
        target=encoder.encode(target),
        labelled=encoder.encode(tables["labelled"]),
        labels=labels,
        mass=mass,
        prediction=prediction,
        predictor_column=(
            encoder.names.index(columns.prediction)
            if predictor_in_belief and columns.prediction is not None
            else None
        ),
        thin=thin_rows(len(target), mass, seed),
    )


def thin_rows(size: int, mass: Any, seed: int) -> np.ndarray | None:
    """A systematic sample with chances by mass, so that its rows count alike."""
    if size <= TARGET_ROWS:
        return None
    rng = np.random.default_rng(seed)
    order = rng.permutation(size)
    shares = np.full(size, 1.0) if mass is None else np.asarray(mass, float)[order]
    ends = np.cumsum(shares) / shares.sum()
    ticks = (np.arange(TARGET_ROWS) + rng.uniform()) / TARGET_ROWS
    rows = order[np.minimum(np.searchsorted(ends, ticks), size - 1)]
    return np.sort(rows)
