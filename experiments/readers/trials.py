"""What the data sets with treatments share: reading, encoding, and who is labelled first."""

from importlib.resources import files

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
