"""Fitting a Gaussian process: hyper-parameters that maximise evidence times prior.

The priors are those of `hyperparameters`. L-BFGS runs from several starts and the best wins.

Rows are padded to `PAD`, or beyond it to a multiple of `FINE`, and masked, so that refitting
after each batch seldom compiles.

[1] Rasmussen, Williams (2006), Gaussian Processes for Machine Learning, section 5.4.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jaxtyping import Array, Bool, Float, Scalar

from labelwise.beliefs import classifier
from labelwise.beliefs.base import AbstractBelief
from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.hyperparameters import FitOptions, Scales
from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.process import AbstractProcess
from labelwise.errors import NumericalError
from labelwise.inputs import as_count, as_jax, as_matrix, as_vector
from labelwise.likelihoods import BernoulliLikelihood, Link
from labelwise.numerics import add_diagonal, cholesky, solve_lower
from labelwise.programs import program
from labelwise.runtime import single_threaded

PAD = 128  # labelled rows of a posterior come in multiples of this; here, the first of them
FINE = 32  # beyond: there arithmetic, which grows by the cube, outweighs compiling
# A climb on many labels ends where a step gains less than this share of the objective, or where
# slopes are as flat: labels do not tell apart what is that close. Few are climbed to rounding,
# so that the same labels give the same answers wherever they are computed.
MANY, SHARE, FLAT = 200, 1e-7, 1e-3
BOUND = 6.0  # how far, in log units, a hyper-parameter may leave its prior median
# What is so much less likely before a climb, in log units, is not looked at after it.
HOPELESS = 12.0

Prior = TypeVar("Prior", bound=AbstractBelief)


@dataclass(frozen=True)
class Fitted(Generic[Prior]):
    """A prior, and the labels it was fitted to: it has not learnt from them yet."""

    prior: Prior
    labelled: Labelled = field(repr=False, compare=False)

    @cached_property
    def posterior(self) -> Prior:
        """The belief given the labels of the fit."""
        return self.prior.condition(self.labelled.x, self.labelled.y)


@dataclass(frozen=True)
class Fit(Fitted[Prior]):
    """The best hyper-parameters, with what tells whether to trust them."""

    log_evidence: float
    at_bound: tuple[str, ...]  # hyper-parameters that the data pushed to the edge
    starts: tuple[float, ...]  # the objective reached from each start, best first
    position: tuple[float, ...]  # where it was found, to start a later fit from


def fit_gaussian_process(
    x: Any, y: Any, *, starts: int = 4, seed: int = 0, **options: Any
) -> Fit[GaussianProcess]:
    """Fit kernel, noise and mean to labels; the mean's coefficients are fitted with them.

    Options are those of `FitOptions`: kernel, mean, predictor_column, per_feature, spread and
    weighting.
    """
    problem, *_ = facings(FitProblem.of(x, y, FitOptions.of(options)))
    return maximise(problem, starts, seed)


def fit_gaussian_process_classifier(
    x: Any, y: Any, *, link: Link = "logit", starts: int = 4, seed: int = 0, **options: Any
) -> Fit[GaussianProcessClassifier]:
    """Fit kernel and mean to 0/1 labels, by Laplace's approximation of the evidence.

    The mean of the function is expected near the log-odds of the labels as a whole, or what
    stands for them under `link`. Options are as for `fit_gaussian_process`.
    """
    link = BernoulliLikelihood(link).link
    chosen = FitOptions.of(options, link=link, weighting="paper")  # there is no noise to weigh
    problem, *_ = facings(FitProblem.of(x, y, chosen))
    return maximise(problem, starts, seed)


def log_evidence(
    belief: GaussianProcess,
    x: Float[Array, "n dim"],
    y: Float[Array, " n"],
    mask: Bool[Array, " n"] | None = None,
) -> Scalar:
    """log p(y | x) under a prior, rows with a False mask left out. [1, eq. 5.8]"""
    mask = jnp.ones(x.shape[0], bool) if mask is None else mask
    both = mask[:, None] & mask[None, :]
    features = belief.kernel.features(x)
    covariance = jnp.where(both, belief.kernel(features, features), 0.0)
    factor = cholesky(add_diagonal(covariance, jnp.where(mask, belief.noise, 1.0)))
    residual = jnp.where(mask, y - belief.prior_mean(x), 0.0)
    surprise = jnp.sum(solve_lower(factor, residual) ** 2)
    volume = jnp.sum(jnp.log(jnp.diagonal(factor)))
    return -0.5 * surprise - volume - 0.5 * mask.sum() * jnp.log(2.0 * jnp.pi)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FitProblem:
    """Labels, and what is to be found of the prior behind them; rows are padded and masked."""

    x: Float[Array, "n dim"]
    y: Float[Array, " n"]
    mask: Bool[Array, " n"]
    scales: Scales
    options: FitOptions = field(metadata={"static": True})  # but for arrays

    @staticmethod
    def of(x: Any, y: Any, options: FitOptions) -> "FitProblem":
        x = as_matrix("x", x)
        y = as_vector("y", y, x.shape[0], "x")
        if options.link is not None:
            BernoulliLikelihood(options.link).check("y", y)
        options.check(x)
        scales = Scales.of(np.asarray(x), np.asarray(y), options)
        rows = _pad(np.asarray(x), np.asarray(y))
        return FitProblem(*rows, scales, options.without_arrays)

    @property
    def size(self) -> int:
        """How many numbers there are to find."""
        return len(self.scales.names) + self.scales.coefficients(self.options)

    @property
    def labelled(self) -> Labelled:
        """The labels, without padding."""
        count = int(np.count_nonzero(self.mask))
        rows = lambda array: as_jax(np.array(array)[:count])
        return Labelled(rows(self.x), rows(self.y), as_jax(np.ones(count)))

    @property
    def turned(self) -> "FitProblem | None":
        """The same if the model says the opposite of what it means; None where none would."""
        line = self.scales.line
        if line is None or float(line.other) == 0.0:
            return None
        return replace(self, scales=replace(self.scales, line=line.turned))

    def build(self, position: Float[Array, " size"]) -> AbstractProcess:
        """The prior with these hyper-parameters."""
        kernel = self.scales.kernel(position, self.options.kernel)
        mean = self.scales.mean(position, self.options)
        if self.options.link is not None:
            return GaussianProcessClassifier(kernel, mean, self.options.link)
        noise = self.scales.noise(position)
        return GaussianProcess(kernel, noise, mean, self.options.weighting)

    def log_evidence(self, position: Float[Array, " size"]) -> Scalar:
        belief = self.build(position)
        if isinstance(belief, GaussianProcessClassifier):
            return classifier.log_evidence(belief, self.x, self.y, self.mask)
        assert isinstance(belief, GaussianProcess)
        return log_evidence(belief, self.x, self.y, self.mask)

    def log_posterior(self, position: Float[Array, " size"]) -> Scalar:
        """Up to a constant."""
        return self.log_evidence(position) + self.scales.log_prior(position)


@single_threaded
def facings(problem: FitProblem, also: Sequence[np.ndarray] = ()) -> list[FitProblem]:
    """The problem with the model's output as it is and turned round, the likelier first.

    What the labels rule out is left out.
    """
    turned = problem.turned
    if turned is None:
        return [problem]
    points = [*also, *problem.scales.centres]
    log = lambda each: max(-_value_and_gradient(each, point)[0] for point in points)
    (least, second), (most, first) = sorted(
        ((log(each), each) for each in (turned, problem)), key=lambda pair: pair[0]
    )
    return [first] if least < most - HOPELESS else [first, second]


@single_threaded
def maximise(
    problem: FitProblem, starts: int, seed: int, also: Sequence[np.ndarray] = ()
) -> Fit[Any]:
    """Climb from several starts, those in `also` first, and keep the best."""
    logs = len(problem.scales.names)
    box = [(-BOUND, BOUND)] * logs + [(None, None)] * (problem.size - logs)
    starts = as_count("starts", starts, least=0 if also else 1)
    points = [*also, *_start_points(problem, logs, starts, seed)]
    many = int(np.count_nonzero(problem.mask)) > MANY
    climb = lambda start: scipy.optimize.minimize(
        partial(_value_and_gradient, problem),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=box,
        options={"ftol": SHARE, "gtol": FLAT} if many else None,
    )
    best = sorted((climb(start) for start in points), key=lambda result: result.fun)
    if not np.isfinite(best[0].fun):
        raise NumericalError(
            "Fitting broke down: the evidence is not finite from any start",
            "bring features and labels to ordinary scales",
        )
    prior, evidence = _built(problem, as_jax(best[0].x))
    return Fit(
        prior=prior,
        labelled=problem.labelled,
        log_evidence=float(evidence),
        at_bound=_names_at_bound(best[0].x, problem.scales),
        starts=tuple(float(-result.fun) for result in best),
        position=tuple(float(value) for value in best[0].x),
    )


@program
def _built(problem: FitProblem, position) -> tuple[Any, Scalar]:
    return problem.build(position), problem.log_evidence(position)


@program
def loss_and_gradient(problem: FitProblem, position: Float[Array, " size"]):
    """What is made small, and its slope."""
    return jax.value_and_grad(lambda at: -problem.log_posterior(at))(position)


def _value_and_gradient(problem: FitProblem, position):
    # A copy: the search goes on writing into its own.
    value, gradient = loss_and_gradient(problem, as_jax(np.array(position)))
    return float(value), np.asarray(gradient)


def _start_points(problem: FitProblem, logs: int, starts: int, seed: int) -> list[np.ndarray]:
    """The prior medians first, then draws around them."""
    if not starts:
        return []
    around = np.random.default_rng(seed).normal(size=(starts, problem.size))
    # One start is enough for the mean's coefficients, in which the evidence has one peak.
    around[:, logs:] = 0.0
    centres = problem.scales.centres[:starts]
    around[: len(centres)] = 0.0
    around[: len(centres), :logs] = centres
    return list(around)


def _names_at_bound(position: np.ndarray, scales: Scales) -> tuple[str, ...]:
    near = np.abs(position[: len(scales.names)]) > BOUND - 1e-3
    return tuple(name for name, edge in zip(scales.names, near, strict=True) if edge)


def _pad(x: np.ndarray, y: np.ndarray):
    count = len(y)
    extra = -count % (PAD if count <= PAD else FINE) if count else PAD
    mask = np.arange(count + extra) < count
    return as_jax(padded(x, extra)), as_jax(np.pad(y, (0, extra))), as_jax(mask)


def padded(x: np.ndarray, extra: int) -> np.ndarray:
    """Rows with some more, to be hidden: the last repeats, which keeps distances finite."""
    if not len(x):
        return np.zeros((extra, x.shape[1]))
    return np.pad(x, ((0, extra), (0, 0)), mode="edge")
