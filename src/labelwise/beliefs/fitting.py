"""Fitting a Gaussian process: hyper-parameters that maximise evidence times prior.

The priors are those of `hyperparameters`. L-BFGS runs from several starts and the best wins.

Rows are padded to a multiple of `PAD` and masked, so that refitting after each batch
compiles once per `PAD` labels and not at every one.

[1] Rasmussen, Williams (2006), Gaussian Processes for Machine Learning, section 5.4.1.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jaxtyping import Array, Bool, Float, Scalar

from labelwise.beliefs import classifier
from labelwise.beliefs.classifier import GaussianProcessClassifier, check_binary
from labelwise.beliefs.gp import GaussianProcess, Weighting
from labelwise.beliefs.hyperparameters import Choices, LabelScales, MeanName, Scales, as_spread
from labelwise.beliefs.labels import BernoulliLabels, Link
from labelwise.beliefs.process import AbstractProcess
from labelwise.errors import NumericalError
from labelwise.inputs import as_count, as_matrix, as_vector
from labelwise.numerics import add_diagonal, cholesky, solve_lower

PAD = 32
BOUND = 6.0  # how far, in log units, a hyper-parameter may leave its prior median

Prior = TypeVar("Prior", bound=AbstractProcess)


@dataclass(frozen=True)
class Fit(Generic[Prior]):
    """A fitted prior, with what tells whether to trust it."""

    belief: Prior  # the prior; condition it on labels
    log_evidence: float
    at_bound: tuple[str, ...]  # hyper-parameters that the data pushed to the edge
    starts: tuple[float, ...]  # the objective reached from each start, best first


def fit_gaussian_process(
    x: Any,
    y: Any,
    *,
    kernel: str = "matern52",
    mean: MeanName = "constant",
    predictor_column: int | None = None,
    per_feature: bool = True,
    spread: Any = None,
    weighting: Weighting = "paper",
    starts: int = 4,
    seed: int = 0,
) -> Fit[GaussianProcess]:
    """Fit kernel, noise and mean to labels; the mean's coefficients are fitted with them.

    `spread` is each feature's standard deviation in the population, which sets the scale that
    length scales are expected on; the labelled rows' own, if none is given, is too small where
    they come from one corner.
    """
    x = as_matrix("x", x)
    y = as_vector("y", y, x.shape[0], "x")
    choices = Choices(kernel, mean, predictor_column, weighting)
    choices.check(x)
    labels = LabelScales.of_numbers(np.asarray(y))
    scales = _scales(x, labels, per_feature, predictor_column, spread)
    return _fit(x, y, choices, scales, starts, seed)


def fit_gaussian_process_classifier(
    x: Any,
    y: Any,
    *,
    kernel: str = "matern52",
    mean: MeanName = "constant",
    predictor_column: int | None = None,
    per_feature: bool = True,
    spread: Any = None,
    link: Link = "logit",
    starts: int = 4,
    seed: int = 0,
) -> Fit[GaussianProcessClassifier]:
    """Fit kernel and mean to 0/1 labels, by Laplace's approximation of the evidence.

    The mean of the function is expected near the log-odds of the labels as a whole, or what
    stands for them under `link`. `spread` is as for `fit_gaussian_process`.
    """
    x = as_matrix("x", x)
    y = as_vector("y", y, x.shape[0], "x")
    check_binary("y", y)
    choices = Choices(kernel, mean, predictor_column, link=BernoulliLabels(link).link)
    choices.check(x)
    labels = LabelScales.of_classes(np.asarray(y), link)
    scales = _scales(x, labels, per_feature, predictor_column, spread)
    return _fit(x, y, choices, scales, starts, seed)


def log_evidence(
    belief: GaussianProcess,
    x: Float[Array, "n dim"],
    y: Float[Array, " n"],
    mask: Bool[Array, " n"] | None = None,
) -> Scalar:
    """log p(y | x) under a prior, rows with a False mask left out. [1, eq. 5.8]"""
    mask = jnp.ones(x.shape[0], bool) if mask is None else mask
    both = mask[:, None] & mask[None, :]
    covariance = jnp.where(both, belief.kernel(x, x), 0.0)
    factor = cholesky(add_diagonal(covariance, jnp.where(mask, belief.noise, 1.0)))
    residual = jnp.where(mask, y - belief.prior_mean(x), 0.0)
    surprise = jnp.sum(solve_lower(factor, residual) ** 2)
    volume = jnp.sum(jnp.log(jnp.diagonal(factor)))
    return -0.5 * surprise - volume - 0.5 * mask.sum() * jnp.log(2.0 * jnp.pi)


def _scales(x, labels, per_feature, predictor_column, spread) -> Scales:
    given = None if spread is None else as_spread(spread, x.shape[1])
    return Scales.of(np.asarray(x), labels, per_feature, predictor_column, given)


def _fit(x, y, choices: Choices, scales: Scales, starts: int, seed: int) -> Fit[Any]:
    padded = _pad(np.asarray(x), np.asarray(y))
    objective = partial(_value_and_gradient, *padded, choices, scales)
    logs = len(scales.names)
    box = [(-BOUND, BOUND)] * logs + [(None, None)] * choices.coefficients
    best = sorted(
        (
            scipy.optimize.minimize(objective, start, jac=True, method="L-BFGS-B", bounds=box)
            for start in _start_points(len(box), logs, starts, seed)
        ),
        key=lambda result: result.fun,
    )
    if not np.isfinite(best[0].fun):
        raise NumericalError(
            "Fitting broke down: the evidence is not finite from any start; bring features and "
            "labels to ordinary scales."
        )
    belief = _build(jnp.asarray(best[0].x), choices, scales)
    return Fit(
        belief=belief,
        log_evidence=float(_evidence(belief, *padded)),
        at_bound=_names_at_bound(best[0].x, scales),
        starts=tuple(float(-result.fun) for result in best),
    )


def _build(position, choices: Choices, scales: Scales) -> AbstractProcess:
    kernel = scales.kernel(position, choices.kernel)
    mean = scales.mean(position, choices)
    if choices.link is not None:
        return GaussianProcessClassifier(kernel, mean, choices.link)
    return GaussianProcess(kernel, scales.noise(position), mean, choices.weighting)


@eqx.filter_jit
def _evidence(belief, x, y, mask):
    if isinstance(belief, GaussianProcessClassifier):
        return classifier.log_evidence(belief, x, y, mask)
    return log_evidence(belief, x, y, mask)


@partial(jax.jit, static_argnums=3)
def _loss_and_gradient(x, y, mask, choices, scales, position):
    def loss(position):
        belief = _build(position, choices, scales)
        return -(_evidence(belief, x, y, mask) + scales.log_prior(position))

    return jax.value_and_grad(loss)(position)


def _value_and_gradient(x, y, mask, choices, scales, position):
    value, gradient = _loss_and_gradient(x, y, mask, choices, scales, jnp.asarray(position))
    return float(value), np.asarray(gradient)


def _start_points(size: int, log_size: int, starts: int, seed: int) -> list[np.ndarray]:
    """The prior medians first, then draws around them."""
    starts = as_count("starts", starts)
    around = np.random.default_rng(seed).normal(size=(starts, size))
    # One start is enough for the mean's coefficients, in which the evidence has one peak.
    around[:, log_size:] = 0.0
    around[0] = 0.0
    return list(around)


def _names_at_bound(position: np.ndarray, scales: Scales) -> tuple[str, ...]:
    near = np.abs(position[: len(scales.names)]) > BOUND - 1e-3
    return tuple(name for name, edge in zip(scales.names, near, strict=True) if edge)


def _pad(x: np.ndarray, y: np.ndarray):
    extra = -len(y) % PAD
    mask = np.arange(len(y) + extra) < len(y)
    # Repeating the last row keeps every distance finite; the mask hides it.
    return (
        jnp.asarray(np.pad(x, ((0, extra), (0, 0)), mode="edge")),
        jnp.asarray(np.pad(y, (0, extra))),
        jnp.asarray(mask),
    )
