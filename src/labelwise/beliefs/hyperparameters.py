"""Hyper-parameters of a Gaussian process as one vector, with weak priors on the data's scale.

Evidence alone runs away on twenty rows (length scales to infinity, noise to zero), so weak
log-normal priors are tied to the scale of the data: length scales to the spread of each
feature, variances to that of the labels, or to that of log-odds where labels are 0 or 1.

A position holds log(parameter / prior median) of length scales, variance and, if there is any,
noise; then the mean's coefficients, in units of the function's prior spread. It is 0 at the
prior medians.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Float, Scalar

from labelwise.beliefs.fields import check_known
from labelwise.beliefs.gaussian_process import Weighting
from labelwise.beliefs.kernels import KERNELS, AbstractScaledKernel, check_kernel
from labelwise.beliefs.means import (
    MEANS,
    AbstractMean,
    ConstantMean,
    PredictorMean,
    ZeroMean,
)
from labelwise.errors import InvalidInput
from labelwise.inputs import as_jax, as_vector
from labelwise.likelihoods import Link

SPREAD = {"length_scale": 1.0, "variance": 1.0, "noise": 1.5}  # prior s.d. in log units
NOISE_SHARE = 0.1  # prior median of the noise, as a share of the labels' variance
# Prior median of the function's variance for 0/1 labels: two thirds of the rows then have
# chances between a fifth and four fifths. The same under both links, whose scales differ.
LATENT_VARIANCE: dict[Link, float] = {"logit": 2.0, "probit": 0.7}

MeanName = Literal["zero", "constant", "predictor"]


@dataclass(frozen=True)
class FitOptions:
    """What is fitted: the make of the prior, and the scale that features have.

    `spread` is each feature's standard deviation in the population, which sets the scale that
    length scales are expected on; the labelled rows' own, if none is given, is too small where
    they come from one corner.
    """

    kernel: str = "matern52"
    mean: MeanName = "constant"
    predictor_column: int | None = None
    per_feature: bool = True  # length scales
    spread: Any = None
    weighting: Weighting = "paper"
    link: Link | None = None  # of 0/1 labels; None means that labels are any number

    @staticmethod
    def of(options: Mapping[str, Any], **given: Any) -> "FitOptions":
        """Options as given, if there are such; `given` are not the caller's to choose."""
        known = {field.name for field in fields(FitOptions)} - {"link", *given}
        check_known("A fit", options, known)
        return FitOptions(**options, **given)

    def check(self, x: Float[Array, "n dim"]) -> None:
        """Refuse options that do not exist, or that do not suit these rows."""
        check_kernel(self.kernel)
        if self.mean not in MEANS:
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
        """From the labels; of classes one 0 and one 1 are added: either may still exist."""
        if link is None:
            variance = spread_of(y[:, None])[0] ** 2
            numbers = (y.mean(), variance, NOISE_SHARE * variance)
            return LabelScales(*(as_jax(np.asarray(number)) for number in numbers))
        share = (y.sum() + 1.0) / (len(y) + 2.0)
        level = (scipy.special.logit if link == "logit" else scipy.special.ndtri)(share)
        variance = np.asarray(LATENT_VARIANCE[link])
        return LabelScales(as_jax(np.asarray(level)), as_jax(variance), None)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Scales:
    """Prior medians, in the data's own units."""

    length_scale: Float[Array, " length_scales"]
    labels: LabelScales
    slope: Scalar  # of a line that rises by the function's spread over the predictor's
    centre: Scalar  # mean of the predictor

    @staticmethod
    def of(x: np.ndarray, labels: LabelScales, options: FitOptions) -> "Scales":
        given, column = options.spread, options.predictor_column or 0
        spread = spread_of(x) if given is None else as_spread(given, x.shape[1])
        medians = spread * np.sqrt(x.shape[1])
        together = np.exp(np.log(medians).mean(keepdims=True))
        slope = np.sqrt(np.asarray(labels.variance)) / spread[column]
        return Scales(
            length_scale=as_jax(medians if options.per_feature else together),
            labels=labels,
            slope=as_jax(np.asarray(slope)),
            centre=as_jax(np.asarray(x[:, column].mean())),
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

    def mean(self, position: Float[Array, " size"], options: FitOptions) -> AbstractMean:
        coefficients = position[len(self.names) :]
        if options.mean == "zero":
            return ZeroMean()
        level = self.labels.level + jnp.sqrt(self.labels.variance) * coefficients[0]
        if options.mean == "constant":
            return ConstantMean(level)
        # A line through the middle of the data: an offset of the labels costs no prior.
        assert options.predictor_column is not None
        slope = self.slope * coefficients[1]
        return PredictorMean(options.predictor_column, level - slope * self.centre, slope)


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
