"""What the data sets with treatments share: reading, encoding, and who is labelled first."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.simulation.bias import cluster_bias
from labelwise.tables.encoder import fit_encoder

CAP = 4.0  # standard deviations; see `encode_covariates`
LARGEST_SEED = 2**32 - 1  # k-means takes no larger one


def read_shipped(name: str) -> pd.DataFrame:
    """A table that comes with the package; its first line is a notice, not data."""
    with (files("experiments.readers") / "data" / name).open("rb") as file:
        return pd.read_csv(file, compression="gzip", comment="#")


def encode_covariates(table: pd.DataFrame) -> np.ndarray:
    """Numbers standardised and capped, texts as one indicator a level, as campaigns do.

    The cap is for this use: some columns are zero but for a dozen units, who would lie 20
    standard deviations away, and distances between units would show little else.
    """
    features = fit_encoder({"covariates": table}, table.columns.tolist()).encode(table)
    return np.clip(features, -CAP, CAP)


@dataclass(frozen=True, eq=False)
class TrialDraw:
    """A study: some units seen as they happened, a pool of others, and the truth."""

    x_labelled: np.ndarray  # one region only
    z_labelled: np.ndarray  # as observed
    y_labelled: np.ndarray  # the factual outcome
    x_pool: np.ndarray  # from everywhere
    x_target: np.ndarray  # all units, the labelled and the pool among them
    truth: float  # the trial's own effect
    rows_labelled: np.ndarray  # where they stand among all units ...
    rows_pool: np.ndarray  # ... none in both


def draw_trial(
    name: str, data: Any, seed: int, labelled: int, pool: int, clusters: int
) -> dict[str, Any]:
    """The fields of a `TrialDraw`: one region out of `clusters`, and a pool from all others.

    `data` has every unit's x, z and y, and the effect.
    """
    first, others = draw_rows(name, data.x, seed, labelled, pool, clusters)
    return {
        "x_labelled": data.x[first],
        "z_labelled": data.z[first],
        "y_labelled": data.y[first],
        "x_pool": data.x[others],
        "x_target": data.x,
        "truth": data.effect,
        "rows_labelled": first,
        "rows_pool": others,
    }


def draw_rows(
    name: str, x: np.ndarray, seed: int, labelled: int, pool: int, clusters: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one region, a k-means cluster, and other rows from everywhere; none in both."""
    if not 0 <= seed <= LARGEST_SEED:
        raise InvalidInput.must("seed", f"lie between 0 and {LARGEST_SEED}", f"it is {seed}")
    if labelled < 1 or pool < 1 or labelled + pool > len(x):
        raise InvalidInput(
            f"{name} has {len(x)} units",
            f"it cannot give {labelled} labelled and {pool} in the pool: ask for fewer, and "
            "at least one of each",
            where="labelled",
        )
    first = cluster_bias(x, labelled, seed, clusters)
    rng = np.random.default_rng([seed, 1])  # not the stream that chose the region
    others = rng.choice(np.setdiff1d(np.arange(len(x)), first), pool, replace=False)
    return first, others


def difference_of_means(y: np.ndarray, z: np.ndarray) -> float:
    """The mean outcome of the treated less that of the others."""
    return float(y[z == 1].mean() - y[z == 0].mean())
