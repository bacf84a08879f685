"""Which belief suits these labels? Candidates foretell labels that they have not learnt from.

Twice: each cluster of labelled rows by a belief that has seen the others only, as labels are to
be foretold where none are; and each batch by a belief that has seen the labels before it, as it
happened. A cluster of more than a third of the rows is split, so that none decides alone. Both
are joint log-losses of ten different rows, which are least on average for the belief that
labels come from; clusters and batches count by their labels. All
candidates face the same bundles, so they can be compared pair by pair: the margin between two
has the standard error of its clusters and batches. Of those within one standard error of the
best, the first named is chosen.

A belief is called calibrated unless its 90 % intervals for the mean label of a cluster fail to
hold more often than chance allows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import jax
import numpy as np
from scipy.special import bdtr, stdtrit

from labelwise.diagnostics.bundles import SIZE, draw_distinct
from labelwise.diagnostics.calibration import label_draws, mean_rank
from labelwise.diagnostics.clusters import label_clusters
from labelwise.diagnostics.dynamic import Labelling, Learn
from labelwise.diagnostics.scores import score
from labelwise.errors import InvalidInput

CLUSTERS = 8
ROWS_EACH = 6  # labels a cluster should have, on average
FEWEST = 12  # labels to learn anything from
LEAST = 3  # rows of a cluster that is held out
MOST = 3  # of all rows, one is held out at once in so many, at most
LATEST = 5  # batches that are foretold again
BUNDLES = 500
LEVEL, ALARM = 0.9, 0.05
CLEAR = 0.975  # a margin is told from chance beyond this quantile


@dataclass(frozen=True)
class Standing:
    """How one candidate did; losses are those of ten labels."""

    name: str
    clusters: tuple[float, ...]  # loss on each cluster held out
    batches: tuple[float, ...]  # and on each batch, scaled to ten labels
    held: int  # clusters whose mean label lay in its 90 % interval
    error: str | None = None  # why it could not take part
    sizes: tuple[int, ...] = ()  # labels of each cluster and batch; none: as many in each

    @property
    def losses(self) -> np.ndarray:
        return np.array([*self.clusters, *self.batches])

    @property
    def loss(self) -> float:
        return _mean(self.losses, self.sizes) if self.error is None else float("inf")

    @property
    def on_clusters(self) -> float | None:
        """The part of the loss that is of clusters."""
        return _mean(self.losses[: len(self.clusters)], self.sizes[: len(self.clusters)])

    @property
    def on_batches(self) -> float | None:
        """The part of the loss that is of batches; None if there are none."""
        return _mean(self.losses[len(self.clusters) :], self.sizes[len(self.clusters) :])

    @property
    def calibrated(self) -> bool:
        """Whether as many clusters were held as chance allows of a belief that is right."""
        count = len(self.clusters)
        return self.error is None and float(bdtr(self.held, count, LEVEL)) >= ALARM


@dataclass(frozen=True)
class Contest:
    """All candidates: the one to choose, then the others, the best first."""

    standings: tuple[Standing, ...]
    labels: int  # that were known

    @property
    def best(self) -> Standing:
        return self.standings[0]

    @property
    def margin(self) -> float | None:
        """How much lower its loss is than the best other's; None if it is alone.

        A little below 0 where one named later is better, but not by more than chance.
        """
        pair = self._pair
        return None if pair is None else _mean(pair, self.best.sizes)

    @property
    def standard_error(self) -> float | None:
        pair = self._pair
        return None if pair is None or len(pair) < 2 else _error(pair, self.best.sizes)

    @property
    def clear(self) -> bool:
        """Whether the margin is more than chance would leave of none, by Student's law."""
        margin, error = self.margin, self.standard_error
        if margin is None or error is None:
            return False
        return margin > float(stdtrit(len(self.best.losses) - 1, CLEAR)) * error

    @property
    def _pair(self) -> np.ndarray | None:
        fit = [one for one in self.standings if one.error is None]
        return fit[1].losses - fit[0].losses if len(fit) > 1 else None

    @property
    def calibrated(self) -> bool:
        """Whether any candidate is."""
        return any(one.calibrated for one in self.standings)

    def to_dict(self) -> dict[str, Any]:
        standings = [asdict(one) | _figures(one) for one in self.standings]
        return {
            "best": self.best.name,
            "margin": self.margin,
            "standard_error": self.standard_error,
            "calibrated": self.calibrated,
            "labels": self.labels,
            "standings": standings,
        }


def _figures(one: Standing) -> dict[str, Any]:
    """What follows from its losses; of one that failed there are none."""
    loss = one.loss if one.error is None else None
    parts = {"on_clusters": one.on_clusters, "on_batches": one.on_batches}
    return {"loss": loss, **parts, "calibrated": one.calibrated}


def hold_contest(
    candidates: Mapping[str, Learn],
    known: Labelling,
    batches: Sequence[np.ndarray] = (),
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> Contest:
    """Score candidates on labels that are known; `batches` are places of some, as they came.

    Labels in no batch came first.
    """
    folds = [*hold_out_clusters(known.x, seed), *_hold_out_batches(known, batches)]
    standings = []
    for name, learn in candidates.items():
        standings.append(_stand(name, learn, known, folds, seed))
        advance()
    chosen = _choose(standings)
    others = sorted((one for one in standings if one is not chosen), key=lambda one: one.loss)
    return Contest((chosen, *others), len(known.y))


def _choose(standings: Sequence[Standing]) -> Standing:
    """The first that is within a standard error of the best: earlier ones are trusted more."""
    best = min(standings, key=lambda one: one.loss)
    for one in standings:
        if one.error is None:
            more = one.losses - best.losses
            if _mean(more, one.sizes) <= _error(more, one.sizes):
                return one
    return best


def _mean(losses: np.ndarray, sizes: Sequence[int]) -> Any:
    """By labels: that of a cluster of three is mostly noise. None of nothing."""
    return float(np.average(losses, weights=sizes or None)) if len(losses) else None


def _error(losses: np.ndarray, sizes: Sequence[int]) -> float:
    """Standard error of such a mean, clusters and batches taken as independent.

    If all vary alike, by σ², the mean of shares w varies by σ² Σ w², and one that takes part in
    it is off it by σ² (1 - 2w + Σ w²): so much too little is seen, the more a part weighs.
    """
    count = len(losses)
    share = np.asarray(sizes) / np.sum(sizes) if sizes else np.full(count, 1.0 / count)
    off, total = (share * (losses - _mean(losses, sizes))) ** 2, np.sum(share**2)
    seen = np.sum(share**2 * (1.0 - 2.0 * share + total))
    return float(np.sqrt(np.sum(off) * total / seen)) if seen > 0.0 else 0.0


@dataclass(frozen=True)
class Fold:
    """Rows to learn from and rows to foretell."""

    seen: np.ndarray
    test: np.ndarray
    batch: bool


def hold_out_clusters(x: np.ndarray, seed: int) -> list[Fold]:
    """Each cluster of rows once; those of one or two rows are always learnt from."""
    rows = len(x)
    if rows < FEWEST:
        raise InvalidInput(
            f"{rows} labels are too few to check beliefs by",
            f"label {FEWEST} rows or more first",
            where="labels",
        )
    count = min(CLUSTERS, max(2, rows // ROWS_EACH))
    most, whole = max(rows // MOST, 2 * LEAST), np.arange(rows)
    parts = [
        part
        for large in _clusters(x, whole, count, seed)
        for part in _split(x, large, most, seed)
    ]
    return [
        Fold(np.setdiff1d(whole, part), part, False) for part in parts if len(part) >= LEAST
    ]


def _clusters(x: np.ndarray, rows: np.ndarray, count: int, seed: int) -> list[np.ndarray]:
    """So many clusters of these rows, or as many as there are different ones."""
    count = min(count, len(np.unique(x[rows], axis=0)))
    labels = label_clusters(x[rows], count, seed)
    return [rows[labels == one] for one in range(count)]


def _split(x: np.ndarray, rows: np.ndarray, most: int, seed: int) -> list[np.ndarray]:
    """Rows in parts no larger: by clusters again, or by chance where rows are alike."""
    if len(rows) <= most:
        return [rows]
    parts = _clusters(x, rows, 2, seed)
    if min(len(part) for part in parts) < LEAST or len(parts) < 2:
        parts = np.array_split(np.random.default_rng(seed).permutation(rows), 2)
    return [one for part in parts for one in _split(x, np.sort(part), most, seed)]


def _hold_out_batches(known: Labelling, batches: Sequence[np.ndarray]) -> list[Fold]:
    """The latest batches, each foretold from everything before it."""
    bought = np.concatenate([*batches, np.zeros(0, int)]).astype(int)
    seen = np.setdiff1d(np.arange(len(known.y)), bought)
    folds = []
    for batch in batches:
        if len(seen) >= FEWEST and len(batch):
            folds.append(Fold(seen, np.asarray(batch), True))
        seen = np.concatenate([seen, batch])
    return folds[-LATEST:]


def _stand(name: str, learn: Learn, known: Labelling, folds: Sequence[Fold], seed: int):
    longest, found = max(len(fold.test) for fold in folds), []
    try:
        for number, fold in enumerate(folds):
            belief = learn(known.x[fold.seen], known.y[fold.seen])
            found.append(_foretell(belief, known, fold, longest, seed + number))
    except (ArithmeticError, ValueError) as error:  # of this candidate alone
        return Standing(name, (), (), 0, str(error))
    pick = lambda batch: tuple(
        loss for fold, (loss, _) in zip(folds, found, strict=True) if fold.batch == batch
    )
    held = sum(
        abs(rank - 0.5) <= LEVEL / 2.0
        for fold, (_, rank) in zip(folds, found, strict=True)
        if not fold.batch
    )
    order = sorted(folds, key=lambda fold: fold.batch)  # clusters come first
    return Standing(
        name, pick(False), pick(True), held, sizes=tuple(len(f.test) for f in order)
    )


def _foretell(belief: Any, known: Labelling, fold: Fold, longest: int, seed: int):
    """The loss of ten labels of a fold, and the rank of its mean label."""
    count, key = len(fold.test), jax.random.key(seed)
    # As many rows in every fold, so that one program serves all: the first stands in.
    rows = np.concatenate([fold.test, np.repeat(fold.test[:1], longest - count)])
    x, y = known.x[rows], known.y[rows]
    few = 1 if count <= SIZE else BUNDLES  # there is one bundle of all
    bundles = draw_distinct(np.random.default_rng(seed), count, few)
    loss = score(key, belief, x, y, bundles).mean * SIZE / bundles.shape[1]
    return loss, mean_rank(label_draws(key, belief, x)[:, :count], y[:count])
