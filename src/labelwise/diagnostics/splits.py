"""Tables split with a selection bias: rows to learn from, and tests inside and outside of it.

The linear bias keeps a row with probability σ(k · βᵀx / d): mild, every row has a chance. Its
strength falls with the number of features; `by="rank"` uses the rank of βᵀx instead, from -k to
k, so that a strength means the same on any table. The cluster bias learns from the largest of
50 k-means clusters and tests on others, farther and farther away: outside of the support. [1]

Rows come standardised by a share of them that may train (`standardise`). What a linear bias
tests on is not among these; of a cluster outside, rows are taken whether or not they are.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, appendix D.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from labelwise.diagnostics.clusters import label_clusters, rank_clusters
from labelwise.errors import InvalidInput

STRENGTHS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
RANKS = (5, 10, 15, 20, 25, 30)  # of the clusters tested on, of 50 by distance
CLUSTERS = 50
FEWER = (50, 40, 30, 25, 20, 15, 12, 10, 8, 6, 5, 4, 3, 2)  # tried until the sizes fit
SHARE = 0.7  # of rows that may train

Score = Literal["paper", "rank"]


@dataclass(frozen=True)
class Sizes:
    """Rows of each kind."""

    train: int = 250
    inside: int = 250
    outside: int = 250
    pool: int = 50  # outside, to be labelled next


@dataclass(frozen=True)
class Split:
    """Rows of a table: to learn from, to be judged on, and to learn from next."""

    train: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    pool: np.ndarray


@dataclass(frozen=True)
class ClusterSplits:
    """Splits that share their training rows, by the rank of the cluster they test on."""

    by_rank: dict[int, Split]
    clusters: int  # made, fewer than 50 where a table is small
    distance: np.ndarray  # of each cluster's centre from the largest one's, by rank


def standardise(x: np.ndarray, trains: np.ndarray, edge: float = np.inf) -> np.ndarray:
    """Mean 0 and standard deviation 1 over the rows that may train; cut at `edge`."""
    mean, spread = x[trains].mean(axis=0), x[trains].std(axis=0)
    return np.clip((x - mean) / np.where(spread > 0.0, spread, 1.0), -edge, edge)


def may_train(rng: np.random.Generator, rows: int, share: float = SHARE) -> np.ndarray:
    """A share of the rows, at random, as a mask."""
    mask = np.zeros(rows, bool)
    mask[rng.permutation(rows)[: round(share * rows)]] = True
    return mask


def draw_slopes(rng: np.random.Generator, dim: int) -> np.ndarray:
    """β, uniform on [-1, 1]ᵈ."""
    return rng.uniform(-1.0, 1.0, size=dim)


def linear_probability(
    x: np.ndarray, slopes: np.ndarray, strength: float, by: Score = "paper"
) -> np.ndarray:
    """Of every row, the probability that the linear bias keeps it; x is standardised."""
    scores = x @ slopes
    if by == "paper":
        return expit(strength * scores / x.shape[1])
    from scipy.stats import rankdata  # slow to load

    share = (rankdata(scores) - 0.5) / len(scores)
    return expit(strength * (2.0 * share - 1.0))


def linear_split(
    rng: np.random.Generator,
    x: np.ndarray,
    trains: np.ndarray,
    strength: float,
    sizes: Sizes | None = None,
    by: Score = "paper",
) -> Split:
    """Learn from rows that the bias keeps; held-out rows it keeps are inside, others outside.

    `rng` draws β first: the same seed has the same direction at every strength.
    """
    sizes = sizes or Sizes()
    chance = linear_probability(x, draw_slopes(rng, x.shape[1]), strength, by)
    kept = rng.uniform(size=len(x)) < chance
    groups = {
        "train": (trains & kept, sizes.train),
        "inside": (~trains & kept, sizes.inside),
        "outside": (~trains & ~kept, sizes.outside + sizes.pool),
    }
    for name, (mask, size) in groups.items():
        if mask.sum() < size:
            raise InvalidInput(
                f"The bias leaves {mask.sum()} rows for {name!r}, and {size} are asked for",
                "ask for fewer, or lower the strength",
                where="sizes",
            )
    draw = {
        name: rng.choice(np.flatnonzero(mask), size, replace=False)
        for name, (mask, size) in groups.items()
    }
    outside, pool = np.split(draw["outside"], [sizes.outside])
    return Split(draw["train"], draw["inside"], outside, pool)


def split_clusters(
    rng: np.random.Generator,
    x: np.ndarray,
    trains: np.ndarray,
    ranks: Sequence[int] = RANKS,
    sizes: Sizes | None = None,
    seed: int = 0,
    restarts: int = 1,
) -> ClusterSplits:
    """Learn from the largest cluster; be judged there and on clusters farther and farther away.

    Clusters are 50, or as many fewer as leave enough rows; ranks shrink in proportion. One
    that is too small hands its place to the next farther one. `seed` is that of k-means.
    """
    sizes = sizes or Sizes()
    for clusters in (count for count in FEWER if count <= len(x)):
        rank, distance = rank_clusters(x, label_clusters(x, clusters, seed, restarts))
        places = _places(rank, clusters, ranks, sizes)
        if places and _home_is_large(rank, trains, sizes):
            train, inside = _home(rng, rank, trains, sizes)
            splits = {
                place: Split(train, inside, *_away(rng, rank == place, sizes))
                for place in places
            }
            return ClusterSplits(splits, clusters, distance)
    raise InvalidInput(
        f"No clusters of these {len(x)} rows have as many as {sizes} asks for",
        "ask for fewer",
        where="sizes",
    )


def _places(rank: np.ndarray, clusters: int, ranks: Sequence[int], sizes: Sizes) -> list[int]:
    """Ranks of the clusters to test on, none too small and none twice."""
    counts = np.bincount(rank, minlength=clusters + 1)
    large = np.flatnonzero(counts >= sizes.outside + sizes.pool)
    wanted = [max(2, round(place * clusters / CLUSTERS)) for place in ranks]
    found = [next((int(one) for one in large if one >= place), None) for place in wanted]
    return sorted({place for place in found if place is not None})


def _home_is_large(rank: np.ndarray, trains: np.ndarray, sizes: Sizes) -> bool:
    home = rank == 1
    return (home & trains).sum() >= sizes.train and (home & ~trains).sum() >= sizes.inside


def _home(rng, rank: np.ndarray, trains: np.ndarray, sizes: Sizes):
    draw = lambda mask, size: rng.choice(np.flatnonzero(mask), size, replace=False)
    home = rank == 1
    return draw(home & trains, sizes.train), draw(home & ~trains, sizes.inside)


def _away(rng, mask: np.ndarray, sizes: Sizes) -> list[np.ndarray]:
    rows = rng.choice(np.flatnonzero(mask), sizes.outside + sizes.pool, replace=False)
    return np.split(rows, [sizes.outside])
