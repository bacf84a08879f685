"""Log-loss of Gaussian beliefs in closed form: no functions are drawn, nothing is biased.

Labels of a bundle are jointly normal, with covariance V + noise · I, V being that of the
function at the bundle's rows: singular where a row stands there twice, which the noise mends.
Of a mixture, likelihoods are averaged over components by their weights.
"""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from scipy.special import logsumexp

from labelwise.errors import InvalidInput
from labelwise.inputs import as_matrix


class GaussianMoments(NamedTuple):
    """Of the function at some rows, by component."""

    weight: np.ndarray  # of components
    mean: np.ndarray  # components by rows
    covariance: np.ndarray  # components by rows by rows
    noise: np.ndarray  # of components


def gaussian_moments(belief: Any, x: Any) -> GaussianMoments:
    """What a Gaussian process, or a mixture of them, says of some rows."""
    return GaussianMoments(*(np.asarray(part) for part in _moments(belief, as_matrix("x", x))))


def gaussian_losses(
    moments: GaussianMoments, bundles: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Exact losses; `labels` are those of each place of a bundle, repeated or fresh."""
    if not (moments.noise > 0.0).all():
        raise InvalidInput(
            "Without noise a label seen twice has no density",
            "give noise above 0",
            where="noise",
        )
    logs = np.stack(
        [_log_densities(moments, part, bundles, labels) for part in _parts(moments)]
    )
    with np.errstate(divide="ignore"):  # a component may weigh nothing
        weighted = logs + np.log(moments.weight)[:, None]
    return -np.asarray(logsumexp(weighted, axis=0))


def _parts(moments: GaussianMoments) -> range:
    return range(len(moments.weight))


def _log_densities(moments: GaussianMoments, part: int, bundles, labels) -> np.ndarray:
    """log N(labels; mean, covariance + noise · I) of every bundle, in one component."""
    size = bundles.shape[1]
    away = labels - moments.mean[part][bundles]
    covariance = moments.covariance[part][bundles[:, :, None], bundles[:, None, :]]
    factor = np.linalg.cholesky(covariance + moments.noise[part] * np.eye(size))
    white = np.linalg.solve(factor, away[:, :, None])[:, :, 0]
    log_det = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
    return -0.5 * (white**2).sum(axis=1) - log_det - 0.5 * size * np.log(2.0 * np.pi)


@eqx.filter_jit
def _moments(belief, x):
    of = lambda part: (part.mean(x), part.covariance(x), part.noise)
    return (belief.weight, *belief.each(of))
