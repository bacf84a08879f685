"""Fitting a Gaussian process: hyper-parameters that maximise evidence times prior.

Evidence alone runs away on twenty rows (length scales to infinity, noise to zero), so weak
log-normal priors are tied to the scale of the data: length scales to the spread of each
feature, variances to that of the labels. L-BFGS runs from several starts and the best wins.

Rows are padded to a multiple of `PAD` and masked, so that refitting after each batch
compiles once per `PAD` labels and not at every one.

[1] Rasmussen, Williams (2006), Gaussian Processes for Machine Learning, section 5.4.1.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jaxtyping import Array, Bool, Float, Scalar

from labelwise.beliefs.gp import GaussianProcess, Weighting
from labelwise.beliefs.kernels import KERNELS
from labelwise.beliefs.means import AbstractMean, ConstantMean, PredictorMean, ZeroMean
from labelwise.errors import InvalidInput, NumericalError
from labelwise.inputs import as_count, as_matrix, as_vector
from labelwise.numerics import add_diagonal, cholesky, solve_lower

PAD = 32
BOUND = 6.0  # how far, in log units, a hyper-parameter may leave its prior median
SPREAD = {"length_scale": 1.0, "variance": 1.0, "noise": 1.5}  # prior s.d. in log units
NOISE_SHARE = 0.1  # prior median of the noise, as a share of the labels' variance

MeanName = Literal["zero", "constant", "predictor"]


@dataclass(frozen=True)
class Fit:
    """A fitted prior, with what tells whether to trust it."""

    belief: GaussianProcess  # the prior; condition it on labels
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
) -> Fit:
    """Fit kernel, noise and mean to labels; the mean's coefficients are fitted with them.

    `spread` is each feature's standard deviation in the population, which sets the scale that
    length scales are expected on; the labelled rows' own, if none is given, is too small where
    they come from one corner.
    """
    x = as_matrix("x", x)
    y = as_vector("y", y, x.shape[0], "x")
    _check_choices(x, kernel, mean, predictor_column)
    spread = None if spread is None else _as_spread(spread, x.shape[1])
    scales = _Scales.of(np.asarray(x), np.asarray(y), per_feature, predictor_column, spread)
    padded = _pad(np.asarray(x), np.asarray(y))
    objective = partial(_value_and_gradient, *padded, kernel, mean, predictor_column, scales)
    size = scales.size + _mean_size(mean)
    box = [(-BOUND, BOUND)] * scales.size + [(None, None)] * _mean_size(mean)
    best = sorted(
        (
            scipy.optimize.minimize(objective, start, jac=True, method="L-BFGS-B", bounds=box)
            for start in _start_points(size, scales.size, starts, seed)
        ),
        key=lambda result: result.fun,
    )
    if not np.isfinite(best[0].fun):
        raise NumericalError(
            "Fitting broke down: the evidence is not finite from any start; bring features and "
            "labels to ordinary scales."
        )
    found = jnp.asarray(best[0].x)
    belief = _build(found, kernel, mean, predictor_column, scales, weighting)
    return Fit(
        belief=belief,
        log_evidence=float(_log_evidence(belief, *padded)),
        at_bound=scales.names_at_bound(best[0].x),
        starts=tuple(float(-result.fun) for result in best),
    )


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


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Scales:
    """Prior medians, in the data's own units."""

    length_scale: Float[Array, " length_scales"]
    variance: Scalar
    noise: Scalar
    level: Scalar  # mean of the labels
    unit: Scalar  # standard deviation of the labels
    slope: Scalar  # of a line that rises one `unit` over the predictor's standard deviation
    centre: Scalar  # mean of the predictor

    @staticmethod
    def of(
        x: np.ndarray,
        y: np.ndarray,
        per_feature: bool,
        predictor_column: int | None,
        given: np.ndarray | None = None,
    ) -> "_Scales":
        spread = _spread(x)
        column = 0 if predictor_column is None else predictor_column
        spread = spread if given is None else given
        medians = spread * np.sqrt(x.shape[1])
        scales = medians if per_feature else np.exp(np.log(medians).mean(keepdims=True))
        unit = _spread(y[:, None])[0]
        variance = unit**2
        slope, centre = unit / spread[column], x[:, column].mean()
        numbers = (variance, NOISE_SHARE * variance, y.mean(), unit, slope, centre)
        return _Scales(jnp.asarray(scales), *(jnp.asarray(n, float) for n in numbers))

    @property
    def size(self) -> int:
        return self.length_scale.shape[0] + 2

    def log_prior(self, position: Float[Array, " size"]) -> Scalar:
        """Log-normal priors; `position` is log(parameter / median)."""
        features = self.length_scale.shape[0]
        width = jnp.concatenate(
            [
                jnp.full(features, SPREAD["length_scale"]),
                jnp.array([SPREAD["variance"], SPREAD["noise"]]),
            ]
        )
        return -0.5 * jnp.sum((position[: self.size] / width) ** 2)

    def names_at_bound(self, position: np.ndarray) -> tuple[str, ...]:
        features = self.length_scale.shape[0]
        names = [f"length_scale[{i}]" for i in range(features)] + ["variance", "noise"]
        near = np.abs(position[: self.size]) > BOUND - 1e-3
        return tuple(name for name, edge in zip(names, near, strict=True) if edge)


def _build(
    position, kernel, mean, predictor_column, scales, weighting: Weighting = "paper"
) -> GaussianProcess:
    features = scales.length_scale.shape[0]
    length_scale = scales.length_scale * jnp.exp(position[:features])
    if features == 1:
        length_scale = length_scale[0]
    return GaussianProcess(
        kernel=KERNELS[kernel](length_scale, scales.variance * jnp.exp(position[features])),
        noise=scales.noise * jnp.exp(position[features + 1]),
        mean=_build_mean(position[scales.size :], mean, predictor_column, scales),
        weighting=weighting,
    )


def _build_mean(coefficients, mean, predictor_column, scales) -> AbstractMean:
    if mean == "zero":
        return ZeroMean()
    level = scales.level + scales.unit * coefficients[0]
    if mean == "constant":
        return ConstantMean(level)
    # A line through the middle of the data, so that an offset of the labels costs no prior.
    slope = scales.slope * coefficients[1]
    return PredictorMean(predictor_column, level - slope * scales.centre, slope)


def _spread(columns: np.ndarray) -> np.ndarray:
    """Standard deviations; of columns that vary by rounding only, 1."""
    spread, size = columns.std(axis=0), np.abs(columns).max(axis=0)
    return np.where(spread > 1e-9 * size, spread, 1.0)


def _as_spread(spread: Any, features: int) -> np.ndarray:
    numbers = np.asarray(as_vector("spread", spread, features, "the features of x"))
    if (numbers < 0).any():
        raise InvalidInput("spread must hold standard deviations; some are negative.")
    return np.where(numbers > 0, numbers, 1.0)


def _mean_size(mean: MeanName) -> int:
    return {"zero": 0, "constant": 1, "predictor": 2}[mean]


_log_evidence = eqx.filter_jit(log_evidence)


@partial(jax.jit, static_argnums=(3, 4, 5))
def _loss_and_gradient(x, y, mask, kernel, mean, predictor_column, scales, position):
    def loss(position):
        belief = _build(position, kernel, mean, predictor_column, scales)
        # A unit normal on the mean's coefficients, in the labels' own units.
        coefficients = position[scales.size :]
        prior = scales.log_prior(position) - 0.5 * jnp.sum(coefficients**2)
        return -(log_evidence(belief, x, y, mask) + prior)

    return jax.value_and_grad(loss)(position)


def _value_and_gradient(x, y, mask, kernel, mean, predictor_column, scales, position):
    value, gradient = _loss_and_gradient(
        x, y, mask, kernel, mean, predictor_column, scales, jnp.asarray(position)
    )
    return float(value), np.asarray(gradient)


def _start_points(size: int, log_size: int, starts: int, seed: int) -> list[np.ndarray]:
    """The prior medians first, then draws around them."""
    starts = as_count("starts", starts)
    around = np.random.default_rng(seed).normal(size=(starts, size))
    around[:, log_size:] = (
        0.0  # the mean's coefficients enter quadratically: one start is enough
    )
    around[0] = 0.0
    return list(around)


def _pad(x: np.ndarray, y: np.ndarray):
    extra = -len(y) % PAD
    mask = np.arange(len(y) + extra) < len(y)
    # Repeating the last row keeps every distance finite; the mask hides it.
    return (
        jnp.asarray(np.pad(x, ((0, extra), (0, 0)), mode="edge")),
        jnp.asarray(np.pad(y, (0, extra))),
        jnp.asarray(mask),
    )


def _check_choices(x, kernel, mean, predictor_column) -> None:
    if kernel not in KERNELS:
        raise InvalidInput(f"kernel must be one of {', '.join(KERNELS)}; it is {kernel!r}.")
    if mean not in ("zero", "constant", "predictor"):
        raise InvalidInput(f"mean must be zero, constant or predictor; it is {mean!r}.")
    if x.shape[0] < 2:
        raise InvalidInput(
            f"Fitting needs at least 2 labelled rows; there are {x.shape[0]}: "
            "give hyper-parameters instead."
        )
    if mean == "predictor" and not (
        predictor_column is not None and -x.shape[1] <= predictor_column < x.shape[1]
    ):
        raise InvalidInput(
            "A mean linear in the predictor needs predictor_column, the column of x with "
            f"its output (0 to {x.shape[1] - 1}); it is {predictor_column}."
        )
