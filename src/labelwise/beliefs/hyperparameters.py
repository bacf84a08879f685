"""Hyper-parameters of a Gaussian process as one vector, with weak priors on the data's scale.

Evidence alone runs away on twenty rows (length scales to infinity, noise to zero), so weak
log-normal priors are tied to the scale of the data: length scales to the spread of each
feature, variances to that of the labels, or to that of log-odds where labels are 0 or 1.

Where the model's output is known in the labels' own unit, the priors are those that a corpus of
tables has taught (`learnt_prior`): the output itself is then the mean, and a line around it is
a part of the kernel.

A position holds log(parameter / prior median) of length scales, variance and, if there is any,
noise and the line's scale; then the mean's coefficients, in units of the function's prior
spread. It is 0 at the prior medians.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Float, Scalar

from labelwise.beliefs.fields import check_known
from labelwise.beliefs.gaussian_process import Weighting
from labelwise.beliefs.kernels import KERNELS, AbstractKernel, WithLine, check_kernel
from labelwise.beliefs.learnt_prior import CLASSES, NUMBERS, LearntPrior
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

FEW_LABELS = 20  # with fewer, the labels' spread is not taken from them alone
OVER_OUTPUT = 2.0  # variance of labels over that of a model's output, by the learnt prior

MeanName = Literal["zero", "constant", "predictor"]


class ModelOutput(NamedTuple):
    """A model's output as its column has it: intercept + slope · column.

    In the unit of the labels; of 0/1 labels, in log-odds.
    """

    intercept: float
    slope: float
    middle: float  # mean of the output over the population
    log_odds: bool = False  # whether it is one of log-odds, or of numbers


@dataclass(frozen=True)
class FitOptions:
    """What is fitted: the make of the prior, and the scale that features have.

    `spread` is each feature's standard deviation in the population, which sets the scale that
    length scales are expected on; the labelled rows' own, if none is given, is too small where
    they come from one corner. With the model's `output` the prior is the learnt one, else weak.
    """

    kernel: str = "matern52"
    mean: MeanName = "constant"
    predictor_column: int | None = None
    per_feature: bool = True  # length scales
    spread: Any = None
    weighting: Weighting = "paper"
    output: ModelOutput | None = None  # of the model, in the predictor's column
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
        # Classes, and numbers beside a model's output, have a unit before any label.
        if x.shape[0] < 2 and self.link is None and self.output is None:
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
        if self.output is not None:
            self._check_output(self.output)

    def _check_output(self, output: "ModelOutput") -> None:
        if self.mean != "predictor" or self.link not in (None, "logit"):
            raise InvalidInput(
                "A model's output is used with mean='predictor' and log-odds",
                "leave out output, or choose that mean and the link 'logit'",
                where="output",
            )
        if output.log_odds != (self.link == "logit"):
            raise InvalidInput(
                "A model's output must be in the unit of the labels, of 0/1 labels in log-odds",
                "leave it out, or say what it is by log_odds",
                where="output",
            )

    @property
    def without_arrays(self) -> "FitOptions":
        """What programs are compiled for: not for numbers of these very rows."""
        return replace(self, spread=None, output=None)

    @property
    def learnt(self) -> LearntPrior | None:
        """The prior that a corpus has taught, if the model's output is known."""
        if self.output is None:
            return None
        return NUMBERS if self.link is None else CLASSES

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
            variance = spread_of(y[:, None])[0] ** 2 if len(y) else 1.0
            numbers = (y.mean() if len(y) else 0.0, variance, NOISE_SHARE * variance)
            return LabelScales(*(as_jax(np.asarray(number)) for number in numbers))
        share = (y.sum() + 1.0) / (len(y) + 2.0)
        level = (scipy.special.logit if link == "logit" else scipy.special.ndtri)(share)
        variance = np.asarray(LATENT_VARIANCE[link])
        return LabelScales(as_jax(np.asarray(level)), as_jax(variance), None)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Line:
    """The model's output as the prior mean, and how far the truth's line may be from it."""

    mean: PredictorMean
    centre: Scalar  # of the column, where the output has its middle
    level: Scalar  # variance of the level there ...
    slope: Scalar  # ... and of the slope, in the column's unit
    share: Scalar  # of models that face this way ...
    other: Scalar  # ... and of those that say the opposite

    @property
    def turned(self) -> "Line":
        """Around the opposite of the output."""
        mean = PredictorMean(self.mean.column, -self.mean.intercept, -self.mean.slope)
        return replace(self, mean=mean, share=self.other, other=self.share)

    @staticmethod
    def of(output: ModelOutput, prior: LearntPrior, unit: float, column: int) -> "Line":
        """Around an output, for labels of this spread."""
        start = output.middle + prior.slope * (output.intercept - output.middle)
        numbers = (
            (output.middle - output.intercept) / output.slope,
            (unit * prior.level_spread) ** 2,
            (output.slope * prior.slope_spread) ** 2,
            1.0 - prior.turned,
            prior.turned,
        )
        mean = PredictorMean(column, start, prior.slope * output.slope)
        return Line(mean, *(as_jax(np.asarray(number)) for number in numbers))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Scales:
    """Prior medians, in the data's own units."""

    length_scale: Float[Array, " length_scales"]
    labels: LabelScales
    slope: Scalar  # of a line that rises by the function's spread over the predictor's
    centre: Scalar  # mean of the predictor
    line: Line | None = None  # of the learnt prior

    @staticmethod
    def of(x: np.ndarray, y: np.ndarray, options: FitOptions) -> "Scales":
        given, column, learnt = options.spread, options.predictor_column or 0, options.learnt
        spread = spread_of(x) if given is None else as_spread(given, x.shape[1])
        medians = spread * np.sqrt(x.shape[1])
        together = np.exp(np.log(medians).mean(keepdims=True))
        labels = LabelScales.of(y, options.link)
        slope = np.sqrt(np.asarray(labels.variance)) / spread[column]
        scales = Scales(
            length_scale=as_jax(medians if options.per_feature else together),
            labels=labels,
            slope=as_jax(np.asarray(slope)),
            centre=as_jax(np.asarray(x[:, column].mean() if len(x) else 0.0)),
        )
        if learnt is None:
            return scales
        assert options.output is not None
        unit = 1.0
        if options.link is None:
            unit = _unit(y, float(options.output.slope * spread[column]))
        return scales.learnt(learnt, Line.of(options.output, learnt, unit, column), unit)

    def learnt(self, prior: LearntPrior, line: Line, unit: float) -> "Scales":
        """The medians that a corpus has taught, for labels of this spread."""
        usual = prior.kinds[0]
        variance = as_jax(np.asarray(usual.variance[0] * unit**2))
        noise = None if usual.noise is None else as_jax(np.asarray(usual.noise[0] * unit**2))
        length_scale = as_jax(prior.length_scale[0] * np.asarray(self.length_scale))
        labels = replace(self.labels, variance=variance, noise=noise)
        return replace(self, length_scale=length_scale, labels=labels, line=line)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters that are fitted on a log scale."""
        features = (f"length_scale[{i}]" for i in range(self.length_scale.shape[0]))
        noise = () if self.labels.noise is None else ("noise",)
        return (*features, "variance", *noise, *(() if self.line is None else ("line",)))

    def coefficients(self, options: FitOptions) -> int:
        """How many the mean has that are to be found."""
        return options.coefficients if self.line is None else 0

    def log_prior(self, position: Float[Array, " size"]) -> Scalar:
        """Log-normal on scales, a unit normal on the mean's coefficients."""
        if self.line is not None:
            return self._learnt_log_prior(position)
        width = np.ones(position.shape[0])
        width[: len(self.names)] = [SPREAD[name.split("[")[0]] for name in self.names]
        return -0.5 * jnp.sum((position / width) ** 2)

    def _learnt_log_prior(self, position: Float[Array, " size"]) -> Scalar:
        """Length scales apart; the others together, by the kinds that a model may be of."""
        features = self.length_scale.shape[0]
        scales = position[:features] / self._prior.length_scale[1]
        centres, widths = self._kinds
        away = (position[None, features:] - centres) / widths
        share = np.log([kind.share for kind in self._prior.kinds])
        each = share - 0.5 * jnp.sum(away**2, axis=1) - np.log(widths).sum(axis=1)
        kinds = jax.scipy.special.logsumexp(each) - 0.5 * jnp.sum(scales**2)
        assert self.line is not None
        return kinds + jnp.log(self.line.share)

    @property
    def _prior(self) -> LearntPrior:
        return CLASSES if self.labels.noise is None else NUMBERS

    @property
    def _kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """Centres and widths of the kinds, kinds × (variance, noise, line), as positions."""
        names, kinds = self.names[self.length_scale.shape[0] :], self._prior.kinds
        laws = np.array([[getattr(kind, name) for name in names] for kind in kinds])
        return np.log(laws[:, :, 0] / laws[0, :, 0]), laws[:, :, 1]

    @property
    def centres(self) -> list[np.ndarray]:
        """Positions to start from: the prior's medians, of each kind of model."""
        features, size = self.length_scale.shape[0], len(self.names)
        if self.line is None:
            return [np.zeros(size)]
        return [np.concatenate([np.zeros(features), centre]) for centre in self._kinds[0]]

    def kernel(self, position: Float[Array, " size"], name: str) -> AbstractKernel:
        features = self.length_scale.shape[0]
        length_scale = self.length_scale * jnp.exp(position[:features])
        variance = self.labels.variance * jnp.exp(position[features])
        kernel = KERNELS[name](length_scale[0] if features == 1 else length_scale, variance)
        if self.line is None:
            return kernel
        wider = jnp.exp(2.0 * position[len(self.names) - 1])
        line, column = self.line, self.line.mean.column
        return WithLine(kernel, column, line.centre, wider * line.level, wider * line.slope)

    def noise(self, position: Float[Array, " size"]) -> Scalar | None:
        if self.labels.noise is None:
            return None
        return self.labels.noise * jnp.exp(position[self.length_scale.shape[0] + 1])

    def mean(self, position: Float[Array, " size"], options: FitOptions) -> AbstractMean:
        if self.line is not None:
            return self.line.mean
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


def _unit(y: np.ndarray, output: float) -> float:
    """The labels' spread; where they are few, what that of the model's output suggests too."""
    if len(y) >= FEW_LABELS:
        return float(spread_of(y[:, None])[0])
    seen = float(np.var(y)) if len(y) else 0.0
    more = FEW_LABELS - len(y)
    return math.sqrt((len(y) * seen + more * OVER_OUTPUT * output**2) / FEW_LABELS)


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
