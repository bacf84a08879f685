"""The log-loss of a belief on bundles of labels, however it comes by it.

Exact for Gaussian processes and their mixtures, and for networks that have finitely many
functions (an ensemble, a single network); else from drawn functions, with the bias that has.
"""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from labelwise.diagnostics.bundles import BUNDLES, SIZE
from labelwise.diagnostics.gaussian import gaussian_losses, gaussian_moments
from labelwise.diagnostics.log_loss import (
    LogLoss,
    expected_dyad_losses,
    losses_of,
    sampled_losses,
)
from labelwise.inputs import as_matrix, as_vector

DRAWS = 1000  # functions, where there is a continuum


def score(
    key: PRNGKeyArray,
    belief: Any,
    x: Any,
    y: Any,
    bundles: np.ndarray,
    fresh: np.ndarray | None = None,
    draws: int = DRAWS,
) -> LogLoss:
    """Loss of bundles of test rows, whose labels are `y` or (`fresh`) one for each place."""
    x, y = _rows(x, y)
    labels = np.asarray(y)[bundles] if fresh is None else fresh
    if belief.is_gaussian:
        return LogLoss.of(gaussian_losses(gaussian_moments(belief, x), bundles, labels))
    if fresh is None:
        table = label_log_probs(key, belief, x, y, draws)
        losses, bias = sampled_losses(table, bundles)
    else:
        losses, bias = losses_of(np.asarray(_joint(key, belief, x, bundles, labels, draws)))
    return LogLoss.of(losses, 0.0 if is_exact(belief) else bias)


def score_dyads(
    key: PRNGKeyArray,
    belief: Any,
    x: Any,
    y: Any,
    rng: np.random.Generator,
    bundles: int = BUNDLES,
    size: int = SIZE,
    draws: int = DRAWS,
) -> LogLoss:
    """Loss of dyadic bundles with repeated labels, with as little chance as can be.

    Where functions are drawn, or are all there are, losses are averaged over how often each
    anchor is repeated.
    """
    x, y = _rows(x, y)
    anchors = rng.integers(len(y), size=(bundles, 2))
    if belief.is_gaussian:
        moments, labels = gaussian_moments(belief, x), np.asarray(y)
        places = rng.integers(2, size=(bundles, size))
        rows = np.take_along_axis(anchors, places, axis=1)
        return LogLoss.of(gaussian_losses(moments, rows, labels[rows]))
    table = label_log_probs(key, belief, x, y, draws)
    losses, bias = expected_dyad_losses(table, anchors, size)
    return LogLoss.of(losses, 0.0 if is_exact(belief) else bias)


def label_log_probs(
    key: PRNGKeyArray, belief: Any, x: Any, y: Any, draws: int = DRAWS
) -> np.ndarray:
    """log p(y_i | f_s(x_i)): a row a function, a column a test row.

    All functions where there are finitely many, else `draws` of them.
    """
    return np.asarray(_table(key, belief, *_rows(x, y), draws))


def is_exact(belief: Any) -> bool:
    """Whether losses need no draws: a Gaussian belief, or one with finitely many functions."""
    network = getattr(belief, "network", None)
    return belief.is_gaussian or (network is not None and network.size is not None)


def _rows(x: Any, y: Any) -> tuple[Array, Array]:
    x = as_matrix("x", x)
    return x, as_vector("y", y, x.shape[0], "x")


@eqx.filter_jit
def _table(key, belief, x, y, draws) -> Float[Array, "functions n"]:
    """By component: each has its own law of labels."""
    of = lambda part, key, count: part.likelihood.log_prob(
        y[None, :], part.representatives(key, x, count)
    )
    return belief.draw(key, draws, of)


@eqx.filter_jit
def _joint(key, belief, x, bundles, labels, draws) -> Float[Array, "functions bundles"]:
    """log-likelihood of each bundle under each function, one place after another."""

    def of(part, key, count):
        functions = part.representatives(key, x, count)
        at = lambda place: part.likelihood.log_prob(place[1][None, :], functions[:, place[0]])
        return jax.lax.map(at, (bundles.T, labels.T)).sum(axis=0)

    return belief.draw(key, draws, of)
