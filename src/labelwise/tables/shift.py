"""How the labelled rows, the pool and the target differ: a first look before labels are spent.

Three views, from coarse to fine: whether a classifier can tell two tables apart (area under
the curve 0.5: it cannot), which features differ (standardised mean differences), and how much
of the target has nothing labelled near it.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

MOST_ROWS = 2000  # rows of each table that the comparison looks at
FEWEST_ROWS = 10  # fewer than this cannot be cross-validated
MOST_DISTANCES = 1_000_000  # held at a time
QUANTILE = 0.95  # of distances within the target: what "near" means


@dataclass(frozen=True)
class FeatureShift:
    """Standardised difference of one feature's mean from the target's."""

    feature: str
    labelled: float
    pool: float


@dataclass(frozen=True)
class Shift:
    """How the three tables differ at first look."""

    differences: tuple[FeatureShift, ...]  # largest of the labelled rows first
    labelled_auc: float | None  # labelled against target; None if too few rows, or not asked
    pool_auc: float | None  # pool against target; None also if they are the same table
    uncovered: float  # share of the target without a labelled neighbour
    expected_uncovered: float  # the share if the labelled rows were drawn from the target
    radius: float  # within which a row is a neighbour

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare(
    labelled: np.ndarray,
    pool: np.ndarray,
    target: np.ndarray,
    names: list[str],
    seed: int,
    *,
    same: bool = False,
    telling_apart: bool = True,
) -> Shift:
    """Compare encoded rows; `same` says that the pool is the target.

    Without `telling_apart` no classifier is tried, which takes most of the time.
    """
    rng = np.random.default_rng(seed)
    some = lambda table: sample_rows(rng, table, MOST_ROWS)
    labelled, pool, target = some(labelled), some(pool), some(target)
    radius = _radius(rng, len(labelled), target)
    return Shift(
        differences=_differences(labelled, pool, target, names),
        labelled_auc=tell_apart(labelled, target, seed) if telling_apart else None,
        pool_auc=tell_apart(pool, target, seed) if telling_apart and not same else None,
        uncovered=uncovered(labelled, target, radius),
        expected_uncovered=1.0 - QUANTILE,
        radius=radius,
    )


def tell_apart(first: np.ndarray, second: np.ndarray, seed: int) -> float | None:
    """Cross-validated area under the curve of a classifier that tells two tables apart.

    Rows that are in both are left out of the second: a classifier that met a row's twin on the
    other side would do worse than chance.
    """
    second = _without(second, first)
    if min(len(first), len(second)) < FEWEST_ROWS:
        return None
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from threadpoolctl import threadpool_limits

    x = np.concatenate([first, second])
    side = np.repeat([1, 0], [len(first), len(second)])
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    options: Any = {"max_iter": 40, "random_state": seed, "early_stopping": False}
    classifier = HistGradientBoostingClassifier(**options)
    with threadpool_limits(1):  # its threads fight over busy cores, and the work is small
        scores = cross_val_predict(classifier, x, side, cv=folds, method="predict_proba")
    return float(roc_auc_score(side, np.asarray(scores)[:, 1]))


def _without(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    known = {row.tobytes() for row in np.ascontiguousarray(others)}
    kept = [row.tobytes() not in known for row in np.ascontiguousarray(rows)]
    return rows[np.array(kept, bool)]


def sample_rows(rng: np.random.Generator, table: np.ndarray, most: int) -> np.ndarray:
    """Draw at most so many rows, kept in their order."""
    if len(table) <= most:
        return table
    return table[np.sort(rng.choice(len(table), most, replace=False))]


def _differences(labelled, pool, target, names) -> tuple[FeatureShift, ...]:
    spread = target.std(axis=0)
    # A feature that is constant in the target is measured by its spread elsewhere.
    spread = np.where(spread > 1e-9, spread, np.concatenate([labelled, pool]).std(axis=0))
    spread = np.where(spread > 1e-9, spread, 1.0)
    middle = target.mean(axis=0)
    # A table without rows differs in nothing.
    from_target = lambda table: (
        ((table.mean(axis=0) if len(table) else middle) - middle) / spread
    )
    columns = names, from_target(labelled).tolist(), from_target(pool).tolist()
    each = [FeatureShift(*row) for row in zip(*columns, strict=True)]
    return tuple(sorted(each, key=lambda feature: -abs(feature.labelled)))


def uncovered(
    labelled: np.ndarray, target: np.ndarray, radius: float, mass: np.ndarray | None = None
) -> float:
    """Measure the share of the target that has no labelled row within the radius."""
    if not len(labelled):
        return 1.0
    far = nearest(target, labelled) > radius * (1.0 + 1e-9)
    return float(np.average(far, weights=mass))


def _radius(rng: np.random.Generator, labelled: int, target: np.ndarray) -> float:
    """What "near" means: had as many labelled rows been drawn from the target itself, 95 % of
    the target would lie within this distance of one of them."""
    if len(target) < 3:
        return float("inf")
    size = max(min(labelled, len(target) // 2), 1)
    drawn = rng.permutation(len(target))
    return float(np.quantile(nearest(target[drawn[size:]], target[drawn[:size]]), QUANTILE))


def nearest(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Measure the distance of each row to the nearest of the others."""
    middle = others.mean(axis=0)  # from which lengths are short, and rounding small
    rows, others = rows - middle, others - middle
    lengths = np.sum(others**2, axis=1)
    block = max(MOST_DISTANCES // len(others), 1)
    starts = range(0, len(rows), block)
    blocks = (rows[start : start + block] for start in starts)
    closest = [np.argmin(lengths - 2.0 * some @ others.T, axis=1) for some in blocks]
    return np.linalg.norm(rows - others[np.concatenate(closest)], axis=1)
