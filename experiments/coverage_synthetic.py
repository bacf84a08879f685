"""Made-up problems of the coverage study: one where the model is right, one where it is not.

Rows have standard deviation 1 in every feature. The initial ones lie close together, in a
place that the seed chooses.
"""

import jax.numpy as jnp
import numpy as np
from sklearn.linear_model import Ridge

from experiments.coverage_draws import INITIAL, POOL, Drawn
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import Matern52

EDGE = np.sqrt(3.0)  # a uniform variable between -EDGE and EDGE has standard deviation 1
SHARE = 1 / 3  # of the edge: the square of the initial rows within that of the pool
LENGTH_SCALE, VARIANCE, NOISE = 1.0, 1.0, 0.15**2
PENALTY = 10.0  # of the ridge: a slope learned in a corner must not run wild outside
JITTER = 1e-9  # of variance: the kernel matrix is singular to rounding

FEATURES, DEGREES = 4, 3  # of the heavy-tailed problem; of freedom of its noise
DISTANCE, SPREAD = 1.0, 0.5  # of the initial rows from the middle, and around their centre
TRAINING = 200


def prior() -> GaussianProcess:
    """The belief that the well-specified functions are drawn from."""
    return GaussianProcess(Matern52(LENGTH_SCALE, VARIANCE), NOISE)


def draw_well_specified(seed: int) -> Drawn:
    """A new function every seed, and a ridge regression on its initial labels.

    The predictor may know nothing of the function but those labels. Had it learned from
    others, it would carry news of the function that the belief leaves out, and the right
    prior's intervals would no longer be exact.
    """
    x, _, y = draw_function(seed)
    predictor = Ridge(alpha=PENALTY).fit(x[:INITIAL], y[:INITIAL])
    return _part(x, y, predictor.predict(x))


def draw_function(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, the function there and noisy labels; the initial rows come first."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-EDGE, EDGE, (INITIAL + POOL, 2))
    centre = rng.uniform(-1.0, 1.0, 2) * EDGE * (1 - SHARE)
    x[:INITIAL] = centre + SHARE * x[:INITIAL]
    covariance = np.asarray(prior().kernel(jnp.asarray(x), jnp.asarray(x)))
    root = np.linalg.cholesky(covariance + JITTER * np.eye(len(x)))
    function = root @ rng.normal(size=len(x))
    return x, function, function + np.sqrt(NOISE) * rng.normal(size=len(x))


def draw_heavy_tails(seed: int) -> Drawn:
    """Curved truth, noise of Student's t with 3 degrees of freedom that grows along a feature.

    The seed turns the features, so that no axis is special. Squared errors have no variance:
    a rare label outweighs many. A ridge regression has learned from other rows near the
    initial ones.
    """
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(FEATURES, FEATURES)))
    x = rng.normal(size=(TRAINING + INITIAL + POOL, FEATURES))
    near = slice(0, TRAINING + INITIAL)
    x[near] = DISTANCE * turn[0] + SPREAD * x[near]
    y = truth(x @ turn) + noise_scale(x @ turn) * rng.standard_t(DEGREES, len(x))
    predictor = Ridge(alpha=1.0).fit(x[:TRAINING], y[:TRAINING])
    x, y = x[TRAINING:], y[TRAINING:]
    return _part(x, y, predictor.predict(x))


def truth(z: np.ndarray) -> np.ndarray:
    return np.sin(2.0 * z[:, 0]) + 0.5 * z[:, 1] * z[:, 2] + np.logaddexp(0.0, z[:, 3])


def noise_scale(z: np.ndarray) -> np.ndarray:
    """On average over the pool, the noise has about a sixth of the labels' variance."""
    return 0.2 * np.exp(0.5 * z[:, 0])


def _part(x: np.ndarray, y: np.ndarray, prediction: np.ndarray) -> Drawn:
    first, others = slice(INITIAL), slice(INITIAL, None)
    return Drawn(
        x[first], y[first], x[others], y[others], prediction[first], prediction[others]
    )
