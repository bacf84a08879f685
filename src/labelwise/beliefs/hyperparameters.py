"""Hyper-parameters of a Gaussian process as one vector, with weak priors on the data's scale.

Evidence alone runs away on twenty rows (length scales to infinity, noise to zero), so weak
log-normal priors are tied to the scale of the data: length scales to the spread of each
feature, variances to that of the labels, or to that of log-odds where labels are 0 or 1.

A position holds log(parameter / prior median) of length scales, variance and, if there is any,
noise; then the mean's coefficients, in units of the function's prior spread. It is 0 at the
prior medians.
"""

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Scalar

from labelwise.beliefs.gaussian_process import Weighting
from labelwise.beliefs.kernels import KERNELS, AbstractScaledKernel
from labelwise.beliefs.means import AbstractMean, ConstantMean, PredictorMean, ZeroMean
from labelwise.errors import InvalidInput
from labelwise.inputs import as_vector
from labelwise.likelihoods import Link

SPREAD = {"length_scale": 1.0, "variance": 1.0, "noise": 1.5}  # prior s.d. in log units
NOISE_SHARE = 0.1  # prior median of the noise, as a share of the labels' variance
# Prior median of the function's variance for 0/1 labels: two thirds of the rows then have
# chances between a fifth and four fifths. The same under both links, whose scales differ.
LATENT_VARIANCE: dict[Link, float] = {"logit": 2.0, "probit": 0.7}

MeanName = Literal["zero", "constant", "predictor"]


@dataclass(frozen=True)
class Choices:
    """What is not a number: one function is compiled for each of these."""

    kernel: str
    mean: MeanName
    predictor_column: int | None
    weighting: Weighting = "paper"
    link: Link | None = None  # of 0/1 labels; None means that labels are any number

    def check(self, x: Float[Array, "n dim"]) -> None:
        """Refuse choices that do not exist, or that do not suit these rows."""
        if self.kernel not in KERNELS:
            raise InvalidInput.must(
                "kernel", f"be one of {', '.join(KERNELS)}", f"it is {self.kernel!r}"
            )
        if self.mean not in ("zero", "constant", "predictor"):
            raise InvalidInput.must(
                "mean", "be zero, constant or predictor", f"it is {self.mean!r}"
            )
        if x.shape[0] < 2:
            raise InvalidInput(
                "Fitting needs at least 2 labelled rows",
                f"there are {x.shape[0]}: give hyper-parameters instead",
                where="x",
            )
        column, features = self.predictor_column, x.shape[1]
        if self.mean == "predictor" and not (
            column is not None and -features <= column < features
        ):
            raise InvalidInput(
                "A mean linear in the predictor needs predictor_column, the column of x with "
                f"its output (0 to {features - 1})",
                f"it is {column}",
                where="predictor_column",
            )

    @property
    def coefficients(self) -> int:
        """How many the mean has."""
        return {"zero": 0, "constant": 1, "predictor": 2}[self.mean]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LabelScales:
    """What is expected of the function before its labels are looked at one by one."""

    level: Scalar  # its mean
    variance: Scalar
    noise: Scalar | None  # None for 0/1 labels

    @staticmethod
    def of(y: np.ndarray, link: Link | None) -> "LabelScales":
        return LabelScales.of_numbers(y) if link is None else LabelScales.of_classes(y, link)

    @staticmethod
    def of_numbers(y: np.ndarray) -> "LabelScales":
        variance = spread_of(y[:, None])[0] ** 2
        return LabelScales(
            jnp.asarray(y.mean()), jnp.asarray(variance), jnp.asarray(NOISE_SHARE * variance)
        )

    @staticmethod
    def of_classes(y: np.ndarray, link: Link) -> "LabelScales":
        """One 0 and one 1 are added: a class that was not met may still exist."""
        chance = (y.sum() + 1.0) / (len(y) + 2.0)
        inverse = jax.scipy.special.logit if link == "logit" else jax.scipy.special.ndtri
        return LabelScales(inverse(chance), jnp.asarray(LATENT_VARIANCE[link]), None)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Scales:
    """Prior medians, in the data's own units."""

    length_scale: Float[Array, " length_scales"]
    labels: LabelScales
    slope: Scalar  # of a line that rises by the function's spread over the predictor's
    centre: Scalar  # mean of the predictor

    @staticmethod
    def of(
        x: np.ndarray,
        labels: LabelScales,
        per_feature: bool,
        predictor_column: int | None,
        given: np.ndarray | None = None,
    ) -> "Scales":
        spread = spread_of(x) if given is None else given
        column = 0 if predictor_column is None else predictor_column
        medians = spread * np.sqrt(x.shape[1])
        scales = medians if per_feature else np.exp(np.log(medians).mean(keepdims=True))
        return Scales(
            length_scale=jnp.asarray(scales),
            labels=labels,
            slope=jnp.sqrt(labels.variance) / spread[column],
            centre=jnp.asarray(x[:, column].mean()),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters that are fitted on a log scale."""
        features = (f"length_scale[{i}]" for i in range(self.length_scale.shape[0]))
        return (*features, "variance", *(() if self.labels.noise is None else ("noise",)))

    def log_prior(self, position: Float[Array, " size"]) -> Scalar:
        """Log-normal on scales, a unit normal on the mean's coefficients."""
        width = np.ones(position.shape[0])
        width[: len(self.names)] = [SPREAD[name.split("[")[0]] for name in self.names]
        return -0.5 * jnp.sum((position / width) ** 2)

    def kernel(self, position: Float[Array, " size"], name: str) -> AbstractScaledKernel:
        features = self.length_scale.shape[0]
        length_scale = self.length_scale * jnp.exp(position[:features])
        variance = self.labels.variance * jnp.exp(position[features])
        return KERNELS[name](length_scale[0] if features == 1 else length_scale, variance)

    def noise(self, position: Float[Array, " size"]) -> Scalar | None:
        if self.labels.noise is None:
            return None
        return self.labels.noise * jnp.exp(position[self.length_scale.shape[0] + 1])

    def mean(self, position: Float[Array, " size"], choices: Choices) -> AbstractMean:
        coefficients = position[len(self.names) :]
        if choices.mean == "zero":
            return ZeroMean()
        level = self.labels.level + jnp.sqrt(self.labels.variance) * coefficients[0]
        if choices.mean == "constant":
            return ConstantMean(level)
        # A line through the middle of the data: an offset of the labels costs no prior.
        assert choices.predictor_column is not None
        slope = self.slope * coefficients[1]
        return PredictorMean(choices.predictor_column, level - slope * self.centre, slope)


def spread_of(columns: np.ndarray) -> np.ndarray:
    """Standard deviations; of columns that vary by rounding only, 1."""
    spread, size = columns.std(axis=0), np.abs(columns).max(axis=0)
    return np.where(spread > 1e-9 * size, spread, 1.0)


def as_spread(spread: Any, features: int) -> np.ndarray:
    """Each feature's standard deviation as given; 1 where it is 0."""
    numbers = np.asarray(as_vector("spread", spread, features, "the features of x"))
    if (numbers < 0).any():
        raise InvalidInput.must("spread", "hold standard deviations", "some are negative")
    return np.where(numbers > 0, numbers, 1.0)
