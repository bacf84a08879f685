"""Clusters of rows, and how far each lies from the largest."""

import numpy as np

RESTARTS = 10  # of k-means: fixed, so that a seed means the same clusters everywhere


def label_clusters(
    x: np.ndarray, clusters: int, seed: int, restarts: int | None = None
) -> np.ndarray:
    """The k-means cluster of every row."""
    from sklearn.cluster import KMeans  # slow to load, and only clusters need it
    from threadpoolctl import threadpool_limits

    tries = RESTARTS if restarts is None else restarts
    means = KMeans(clusters, n_init=tries, random_state=seed)  # pyright: ignore[reportArgumentType]
    # One thread: sums do not depend on the machine, and on busy cores threads wait for each
    # other for longer than they compute.
    with threadpool_limits(1):
        return np.asarray(means.fit(x).labels_)


def rank_clusters(x: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Clusters numbered anew: 1 is the largest, 2 the nearest to it, and so on.

    And the distance of each one's centre from that of the largest, which does not fall.
    """
    names, counts = np.unique(labels, return_counts=True)
    centres = np.stack([x[labels == name].mean(axis=0) for name in names])
    away = np.linalg.norm(centres - centres[np.argmax(counts)], axis=1)
    away[np.argmax(counts)] = -1.0  # first, even if another has the same centre
    order = np.argsort(away, kind="stable")
    rank = np.empty(len(names), int)
    rank[order] = np.arange(1, len(names) + 1)
    return rank[np.searchsorted(names, labels)], np.maximum(away[order], 0.0)
