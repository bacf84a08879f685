"""Who got labelled first: rows chosen with a selection bias, for studies.

Labels at hand seldom come from the whole population. `cluster_bias` labels one cluster only,
the harshest case. The other two prefer rows that lie far along one direction and leave every
row a chance: `linear_bias`, the paper's mild one, keeps rows with odds that rise along it;
`tilted_bias` draws them with weights that rise along it, and can be as strong as one likes.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, appendix D.3.
[2] Kool, van Hoof, Welling (2019), Stochastic Beams and Where to Find Them, section 2.3.
"""

from collections.abc import Callable

import numpy as np

from labelwise.diagnostics.clusters import label_clusters
from labelwise.diagnostics.splits import draw_slopes, linear_probability
from labelwise.errors import InvalidInput


def cluster_bias(x: np.ndarray, size: int, seed: int, clusters: int = 10) -> np.ndarray:
    """`size` rows of one k-means cluster, drawn at random among those with enough rows."""
    _check(x, size)
    if not 1 <= clusters <= len(x):
        raise InvalidInput.must(
            "clusters", f"lie between 1 and the {len(x)} rows of x", f"it is {clusters}"
        )
    labels = label_clusters(x, clusters, seed)
    counts = np.bincount(labels, minlength=clusters)
    large = np.flatnonzero(counts >= size)
    if large.size == 0:
        raise InvalidInput(
            f"No cluster has {size} rows, the largest of {clusters} has {counts.max()}",
            "lower the size or the number of clusters",
            where="size",
        )
    rng = np.random.default_rng(seed)
    home = rng.choice(large)
    return rng.choice(np.flatnonzero(labels == home), size, replace=False)


def linear_bias(x: np.ndarray, size: int, seed: int, strength: float = 16.0) -> np.ndarray:
    """`size` rows at random among those kept, each with probability σ(strength · βᵀx / d). [1]

    β is drawn uniformly from [-1, 1]ᵈ, and x is standardised column by column. The default is
    the strongest of the paper's.
    """
    _check(x, size, strength)
    rng = np.random.default_rng(seed)
    kept = np.flatnonzero(rng.uniform(size=len(x)) < keep_probability(rng, x, strength))
    if len(kept) < size:
        raise InvalidInput(
            f"The bias keeps {len(kept)} of {len(x)} rows, and size is {size}",
            "lower the size",
            where="size",
        )
    return rng.choice(kept, size, replace=False)


def keep_probability(rng: np.random.Generator, x: np.ndarray, strength: float) -> np.ndarray:
    """Of every row, the probability that the linear bias keeps it, for one draw of β."""
    spread = x.std(axis=0)
    standard = (x - x.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return linear_probability(standard, draw_slopes(rng, x.shape[1]), strength)


def tilted_bias(x: np.ndarray, size: int, seed: int, strength: float = 3.0) -> np.ndarray:
    """`size` rows drawn one after another with probability ∝ exp(strength · xᵀu).

    u is a random unit vector. Adding Gumbel noise to the exponents and keeping the largest
    draws without replacement, and never forms the exponential, which may overflow. [2]
    """
    _check(x, size, strength)
    rng = np.random.default_rng(seed)
    scores = strength * (x @ draw_direction(rng, x.shape[1])) + rng.gumbel(size=len(x))
    return np.argsort(-scores, kind="stable")[:size]


def draw_direction(rng: np.random.Generator, dim: int) -> np.ndarray:
    """A unit vector, every direction as likely."""
    direction = rng.normal(size=dim)
    return direction / np.linalg.norm(direction)


BIASES: dict[str, Callable[..., np.ndarray]] = {
    "cluster": cluster_bias,
    "linear": linear_bias,
    "tilted": tilted_bias,
}


def _check(x: np.ndarray, size: int, strength: float = 0.0) -> None:
    if x.ndim != 2 or x.shape[1] == 0 or not np.isfinite(x).all():
        raise InvalidInput.must(
            "x", "be a table of finite numbers", f"it has shape {x.shape}: encode it first"
        )
    if not 1 <= size <= len(x):
        raise InvalidInput.must(
            "size", f"lie between 1 and the {len(x)} rows of x", f"it is {size}"
        )
    if not np.isfinite(strength):
        raise InvalidInput.must("strength", "be a finite number", f"it is {strength}")
