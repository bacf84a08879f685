"""Models of many qualities on the corpus, as they come under evaluation.

Half of a table's rows, by chance, train a model and nothing else; campaigns are drawn from the
other half. The seed and the table choose the half and the learner (a forest, boosted trees or a
linear model), whatever the quality: at one seed an overconfident model is the good one with its
log-odds multiplied, so that qualities can be compared row by row.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.corpus_tables import LEAF, TREES, Kind, Table, write
from labelwise.errors import InvalidInput

EDGE = 0.005  # a predicted probability keeps this far from 0 and 1
SEEN = 4 / 15  # of the clusters train a shifted model
FEW = 60  # rows train a small one
LEAST = 5  # rows of either class that a shifted model has seen
VARIED = 0.9  # a weak model's features have no value in more than this share of the rows

Change = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Predictions:
    """A model's output for every row of a table, and the rows that it was kept from."""

    scores: np.ndarray  # probabilities of a 1, or numbers
    held_out: np.ndarray  # bool
    trained: np.ndarray  # bool: the rows that it learnt from; a part of the others


# What becomes of a good model's log-odds z, given the labels it learnt from.
CLASS_CHANGES: dict[str, Change] = {
    "good": lambda z, y, rng: z,
    "overconfident": lambda z, y, rng: z * rng.choice([2.0, 3.0]),
    "underconfident": lambda z, y, rng: z * rng.uniform(0.3, 0.6),
    "offset": lambda z, y, rng: z + rng.choice([-1.0, 1.0]),
    "useless": lambda z, y, rng: rng.permutation(z),
    "reversed": lambda z, y, rng: -z,
    "constant-ish": lambda z, y, rng: 0.95 * _log_odds(y.mean()) + 0.05 * z,
}
# And of a good model's predicted numbers.
NUMBER_CHANGES: dict[str, Change] = {
    "good": lambda z, y, rng: z,
    "scaled": lambda z, y, rng: y.mean() + rng.choice([0.5, 1.5]) * (z - y.mean()),
    "offset": lambda z, y, rng: z + rng.choice([-0.5, 0.5]) * y.std(),
    "useless": lambda z, y, rng: rng.permutation(z),
    "reversed": lambda z, y, rng: 2.0 * y.mean() - z,
}
CHANGES: dict[Kind, dict[str, Change]] = {"class": CLASS_CHANGES, "number": NUMBER_CHANGES}
TRAINED = ("shifted", "weak", "small")  # otherwise than the good one, and left as they are
QUALITIES: dict[Kind, tuple[str, ...]] = {
    kind: (*changes, *TRAINED) for kind, changes in CHANGES.items()
}


def predictions(
    table: Table, quality: str, seed: int, cache: Path | None = None
) -> Predictions:
    """The output of a model of this quality; models once trained are kept in the cache."""
    if quality not in QUALITIES[table.kind]:
        raise InvalidInput(
            f"There is no quality {quality!r} of a model for a {table.kind}",
            f"there are {', '.join(QUALITIES[table.kind])}",
            where="quality",
        )
    trained_as = quality if quality in TRAINED else "good"
    model = _trained(table, trained_as, seed, cache)
    if quality in (*TRAINED, "good"):
        return model
    rng = _generator(table, seed, quality)
    change = CHANGES[table.kind][quality]
    known = table.y[model.trained]
    if table.kind == "number":
        scores = change(model.scores, known, rng)
    else:
        scores = _probability(change(_log_odds(model.scores), known, rng))
    return Predictions(scores, model.held_out, model.trained)


def _trained(table: Table, quality: str, seed: int, cache: Path | None) -> Predictions:
    if cache is None:
        return _train(table, quality, seed)
    path = cache / f"{table.name}-{table.entry.digest}-{quality}-{seed}.npz"
    if not path.exists():
        model = _train(table, quality, seed)
        write(path, scores=model.scores, held_out=model.held_out, trained=model.trained)
    with np.load(path) as file:
        return Predictions(file["scores"], file["held_out"], file["trained"])


def _train(table: Table, quality: str, seed: int) -> Predictions:
    rng = _generator(table, seed)
    half = rng.permutation(len(table.y))[: len(table.y) // 2]
    learner = _learner(table.kind, int(rng.integers(3)), seed)
    rows, columns = half, np.arange(table.x.shape[1])
    if quality == "shifted":
        rows = _largest_clusters(table, half)
    elif quality == "small":
        rows = _few(table, half)
    elif quality == "weak":
        columns = _few_columns(table.x, _generator(table, seed, quality))
    scores = _fit(table, learner, rows, columns)
    marked = lambda chosen: np.isin(np.arange(len(table.y)), chosen)
    return Predictions(scores, ~marked(half), marked(rows))


def _generator(table: Table, seed: int, purpose: str = "") -> np.random.Generator:
    """One stream for a table, seed and purpose."""
    return np.random.default_rng([seed, zlib.crc32(f"{table.name}/{purpose}".encode())])


def _learner(kind: Kind, which: int, seed: int):
    """A forest, boosted trees or a linear model."""
    from sklearn import ensemble, linear_model  # slow to load

    is_class = kind == "class"
    if which == 0:
        forest = ensemble.RandomForestClassifier if is_class else ensemble.RandomForestRegressor
        share = 1 / 3  # of the features are tried at a split
        return forest(TREES, min_samples_leaf=LEAF, max_features=share, random_state=seed)  # pyright: ignore[reportArgumentType]
    if which == 1:
        boosted = (
            ensemble.HistGradientBoostingClassifier
            if is_class
            else ensemble.HistGradientBoostingRegressor
        )
        return boosted(max_leaf_nodes=15, min_samples_leaf=LEAF, random_state=seed)
    return linear_model.LogisticRegression(max_iter=1000) if is_class else linear_model.Ridge()


def _fit(table: Table, learner, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    from threadpoolctl import threadpool_limits

    x = table.x[:, columns]
    with threadpool_limits(1):  # sums do not depend on the machine
        learner.fit(x[rows], table.y[rows])
        if table.kind == "number":
            return learner.predict(x)
        return np.clip(learner.predict_proba(x)[:, 1], EDGE, 1.0 - EDGE)


def _largest_clusters(table: Table, half: np.ndarray) -> np.ndarray:
    """Rows of the largest clusters, and of as many more as it takes to see both classes."""
    order = np.argsort(-np.bincount(table.clusters[half]), kind="stable")
    for seen in range(round(SEEN * len(order)), len(order)):
        rows = half[np.isin(table.clusters[half], order[: max(seen, 1)])]
        ones = table.y[rows].sum()
        if table.kind == "number" or LEAST <= ones <= len(rows) - LEAST:
            return rows
    return half


def _few(table: Table, half: np.ndarray) -> np.ndarray:
    """The first rows of the half, among them two of either class."""
    if table.kind == "number":
        return half[:FEW]
    classes = [half[table.y[half] == label][:2] for label in (0.0, 1.0)]
    first = np.concatenate(classes)
    return np.concatenate([first, half[~np.isin(half, first)]])[:FEW]


def _few_columns(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    most = [np.unique(column, return_counts=True)[1].max() for column in x.T]
    varied = np.flatnonzero(np.array(most) <= VARIED * len(x))
    varied = varied if varied.size else np.arange(x.shape[1])
    return rng.choice(varied, min(int(rng.integers(1, 3)), varied.size), replace=False)


def _log_odds(probability):
    return np.log(probability) - np.log1p(-probability)


def _probability(log_odds: np.ndarray) -> np.ndarray:
    return np.clip(1.0 / (1.0 + np.exp(-log_odds)), EDGE, 1.0 - EDGE)
