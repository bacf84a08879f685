"""Real tables of the coverage study: who is labelled at first, and what the predictor saw.

A table becomes rows as in the paper's real problem (`experiments.readers.mortality`): a forest
chooses ten features, which are standardised, and k-means finds clusters. Before that, numbers
in the outermost half per cent at either end move inwards: one stay's mean pH of 128 would
leave all others alike. Half of the rows train the predictor and nothing else; campaigns are
drawn from the other half. The predictor has seen the largest clusters of its half only, so
elsewhere it is worse than it was built to be. The initial labels of a campaign come from one
cluster, which the seed chooses. (Features, clusters and the smooth label are made from the
whole table, as in the paper.)

Choosing features takes seconds; rows once made are kept in the process and, where a folder is
given, in a file that other processes read.
"""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from experiments.coverage_draws import INITIAL, POOL, Drawn
from experiments.readers import acs, credit, physionet2012
from experiments.readers.mortality import fit_predictor, make_cohort
from labelwise.datasets.support2 import DIED, ID, RISK, load_support2_death
from labelwise.errors import InvalidInput

ROWS, FEATURES, CLUSTERS = 8000, 10, 15
TAIL = 0.005  # of a column's values at either end are moved inwards
SEED = 0  # of everything that is one for all campaigns
SEEN = 4  # clusters the predictor was trained on
HOME = 120  # rows a cluster needs to be the first one labelled
EDGE = 0.005  # a predicted chance keeps this far from 0 and 1
SMOOTH = "chance"  # the forest's out-of-bag chance of the outcome, as a label

Kind = Literal["chance", "class", "number"]


@dataclass(frozen=True)
class Source:
    """Where a table comes from, and the 0/1 column whose forest chooses the features."""

    load: Callable[[Path], pd.DataFrame]
    outcome: str
    others: tuple[str, ...] = ()  # further outcomes
    folder: str | None = None  # below the data folder; none if shipped


@dataclass(frozen=True)
class Outcome:
    """A column of a source as the label, and what kind of label it is."""

    source: str
    label: str
    kind: Kind


@dataclass(frozen=True)
class Prepared:
    """A source as rows of features, with the cluster and every outcome of each."""

    x: np.ndarray
    clusters: np.ndarray
    features: list[str]
    labels: dict[str, np.ndarray]


@dataclass(frozen=True)
class Table:
    """Rows with labels and predictions, and who may be in a campaign."""

    x: np.ndarray
    y: np.ndarray
    prediction: np.ndarray
    clusters: np.ndarray
    features: list[str]
    trained: np.ndarray  # bool: the predictor saw the row
    held_out: np.ndarray  # bool: kept from the predictor, for campaigns


def _load_support2(_: Path) -> pd.DataFrame:
    # The shipped risk model is another predictor's output, not a feature.
    return load_support2_death().drop(columns=[ID, RISK])


SOURCES = {
    "support2": Source(_load_support2, DIED),
    "physionet2012": Source(
        physionet2012.load_physionet2012, physionet2012.OUTCOME, folder="physionet2012"
    ),
    "credit": Source(credit.load_credit, credit.OUTCOME, folder="credit_default_uci"),
    # Below $1,000 a year logarithms have a tail that no mean of squares settles for.
    "acs": Source(
        partial(acs.load_acs, least=1000.0),
        acs.ABOVE,
        (acs.LOG_INCOME,),
        folder="acs_pums_ct",
    ),
}


@lru_cache
def make_table(outcome: Outcome, folder: Path | None, cache: Path | None) -> Table:
    """The source's rows with one outcome as the label and its predictor's output."""
    prepared = prepare(outcome.source, folder, cache)
    x, y, clusters = prepared.x, prepared.labels[outcome.label], prepared.clusters
    training = np.zeros(len(x), bool)
    training[np.random.default_rng(SEED).permutation(len(x))[: len(x) // 2]] = True
    largest = np.argsort(-np.bincount(clusters[training]), kind="stable")[:SEEN]
    trained = training & np.isin(clusters, largest)
    prediction = predict(outcome.kind, x[trained], y[trained], x)
    return Table(x, y, prediction, clusters, prepared.features, trained, ~training)


def draw_rows(table: Table, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Initial rows, all of one cluster, and a pool of any others."""
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(table.held_out)
    large = np.flatnonzero(np.bincount(table.clusters[rows]) >= HOME)
    if large.size == 0 or len(rows) < INITIAL + POOL:
        raise InvalidInput(
            f"{len(rows)} rows are left for campaigns",
            f"give a table of which {INITIAL + POOL} are left, {HOME} of them in one cluster",
            where="table",
        )
    home = rows[table.clusters[rows] == rng.choice(large)]
    initial = rng.choice(home, INITIAL, replace=False)
    return initial, rng.choice(np.setdiff1d(rows, initial), POOL, replace=False)


def draw_from_table(table: Table, seed: int) -> Drawn:
    initial, pool = draw_rows(table, seed)
    return Drawn(
        table.x[initial],
        table.y[initial],
        table.x[pool],
        table.y[pool],
        table.prediction[initial],
        table.prediction[pool],
    )


def predict(kind: Kind, x: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Train on x and y: a logistic regression for classes, a ridge regression for numbers."""
    from sklearn.linear_model import LogisticRegression, Ridge

    if kind == "chance":
        return fit_predictor(x, y)(rows)
    if kind == "number":
        return Ridge(alpha=1.0).fit(x, y).predict(rows)
    chance = LogisticRegression(max_iter=1000).fit(x, y).predict_proba(rows)[:, 1]
    return np.clip(chance, EDGE, 1.0 - EDGE)


@lru_cache
def prepare(name: str, folder: Path | None, cache: Path | None) -> Prepared:
    """Read from the cache, or made and left there; its name tells what it was made with."""
    if cache is None:
        return _make(SOURCES[name], folder)
    settings = "-".join(map(str, (ROWS, FEATURES, CLUSTERS, TAIL, SEED)))
    path = cache / f"{name}-{settings}.npz"
    if not path.exists():
        _write(path, _make(SOURCES[name], folder))
    with np.load(path) as file:
        labels = dict(zip(file["names"].tolist(), file["labels"], strict=True))
        return Prepared(file["x"], file["clusters"], file["features"].tolist(), labels)


def _make(source: Source, folder: Path | None) -> Prepared:
    if source.folder is None:
        table = source.load(Path())
    elif folder is None:
        raise InvalidInput(
            f"The data of {source.folder} are not shipped",
            "give the folder that holds them",
            where="folder",
        )
    else:
        table = source.load(folder / source.folder)
    table = table.sample(min(ROWS, len(table)), random_state=SEED)
    outcomes = [source.outcome, *source.others]
    labels = {key: table[key].to_numpy(float) for key in outcomes}
    inputs = _trim(table.drop(columns=outcomes)).join(table[source.outcome])
    cohort = make_cohort(inputs, source.outcome, FEATURES, CLUSTERS)
    labels[SMOOTH] = cohort.y
    return Prepared(cohort.x, cohort.clusters, list(cohort.features), labels)


def _trim(table: pd.DataFrame) -> pd.DataFrame:
    numbers = table.select_dtypes("number").astype(float)
    low, high = numbers.quantile(TAIL), numbers.quantile(1.0 - TAIL)
    return table.drop(columns=list(numbers)).join(numbers.clip(low, high, axis=1))


def _write(path: Path, made: Prepared) -> None:
    """Whole or not at all: another process may be reading or writing the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {
        "x": made.x,
        "clusters": made.clusters,
        "features": np.array(made.features),
        "names": np.array(list(made.labels)),
        "labels": np.stack(list(made.labels.values())),
    }
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npz", delete=False) as file:
        np.savez(file, allow_pickle=False, **arrays)
    os.replace(file.name, path)
