"""Fitting a mixture: hyper-parameters that the labels allow, not the best ones alone.

Around the best hyper-parameters the log posterior is nearly a parabola. Candidates are drawn
from a Student law of that shape, each is weighed by its posterior density over the density that
it was drawn from, and a few are kept in proportion to these weights [1]. With many features
their length scales move together: one by one they would be too many directions to draw in.

[1] Rubin (1988), Using the SIR algorithm to simulate posterior distributions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from labelwise.beliefs.fit import (
    MANY,
    Fit,
    FitProblem,
    Fitted,
    facings,
    loss_and_gradient,
    maximise,
)
from labelwise.beliefs.hyperparameters import FitOptions, Scales
from labelwise.beliefs.mixture import Mixture
from labelwise.beliefs.student import Student
from labelwise.inputs import as_count, as_jax
from labelwise.likelihoods import BernoulliLikelihood, Link
from labelwise.programs import program
from labelwise.runtime import single_threaded

COMPONENTS = 8
CANDIDATES = 8  # drawn for each component that is kept
TAILS = 5  # degrees of freedom of the law that candidates are drawn from
STEP = 1e-3  # in log units, to take slopes of slopes with
FEW_SCALES = 20  # up to here length scales vary one by one
LEAST_CURVATURE = 0.3  # that of the widest prior: labels do not make it flatter


@dataclass(frozen=True)
class MixtureFit(Fitted[Mixture]):
    """A fitted mixture, with what tells whether to trust it."""

    best: Fit[Any]  # the single best hyper-parameters
    effective: float  # how many candidates of equal weight the candidates were worth


def fit_mixture(
    x: Any,
    y: Any,
    *,
    components: int = COMPONENTS,
    link: Link | None = None,
    starts: int = 2,
    start: Sequence[float] | None = None,
    seed: int = 0,
    **options: Any,
) -> MixtureFit:
    """Fit a mixture of Gaussian processes, or with a `link` of classifiers of 0/1 labels.

    Options are those of `fit_gaussian_process`; `start` is where an earlier fit ended.
    """
    components = as_count("components", components)
    link = None if link is None else BernoulliLikelihood(link).link
    problem = FitProblem.of(x, y, FitOptions.of(options, link=link))
    also = [] if start is None or len(start) != problem.size else [np.asarray(start, float)]
    problem, *others = facings(problem, also)
    starts = as_count("starts", starts)
    if len(problem.labelled.y) > MANY:  # one is enough: where an earlier fit ended, if any did
        starts = 0 if also else 1
    best = maximise(problem, starts, seed, also)
    return mix_around(problem, best, components, seed, others)


@single_threaded
def mix_around(
    problem: FitProblem,
    best: Fit[Any],
    components: int,
    seed: int,
    others: Sequence[FitProblem] = (),
) -> MixtureFit:
    """Components that the labels allow, around the best; one component is the best itself.

    `others` have the same hyper-parameters and may be true instead.
    """
    if components == 1:
        return MixtureFit(Mixture.of([best.prior]), best.labelled, best, 1.0)
    mode = np.asarray(best.position)
    directions = free_directions(problem.scales, len(mode))
    shape = _shape(_curvature(problem, mode, directions))
    law = Student(shape, TAILS)
    moves = law.draw(np.random.default_rng([seed, 1]), CANDIDATES * components)
    moves[0] = 0.0  # the best is a candidate too
    positions = mode + moves @ directions.T
    problems = [problem, *others]
    judged = [_judge(each, as_jax(positions)) for each in problems]
    log_posterior = np.concatenate([each.log_posterior for each in judged])
    log_evidence = np.concatenate([each.log_evidence for each in judged])
    logs = log_posterior - np.tile(law.log_density(moves), len(problems))
    weight = _normalised(logs)
    kept = _pick(weight, components)
    which, place = np.divmod(kept, len(positions))
    built = [_build(each, as_jax(positions[place])) for each in problems]
    # Seeing the labels of the fit gives every component that was kept the same weight.
    return MixtureFit(
        prior=Mixture(_chosen(built, which), as_jax(-log_evidence[kept])),
        labelled=best.labelled,
        best=best,
        effective=float(1.0 / np.sum(weight**2)),
    )


def free_directions(scales: Scales, size: int) -> np.ndarray:
    """Columns along which hyper-parameters may move: all, or length scales as one."""
    features = scales.length_scale.shape[0]
    if features <= FEW_SCALES:
        return np.eye(size)
    together = np.zeros((size, 1))
    together[:features] = 1.0
    return np.hstack([together, np.eye(size)[:, features:]])


class _Evidence(NamedTuple):
    log_posterior: Float[Array, " candidates"]
    log_evidence: Float[Array, " candidates"]


@program
def _judge(problem: FitProblem, positions: Float[Array, "candidates size"]) -> _Evidence:
    def of(position):
        evidence = problem.log_evidence(position)
        return _Evidence(evidence + problem.scales.log_prior(position), evidence)

    return jax.lax.map(of, positions)


@program
def _build(problem: FitProblem, positions):
    return jax.vmap(problem.build)(positions)


def _chosen(built: Sequence[Any], which: np.ndarray) -> Any:
    """Of each component that of the problem named, from all components of every problem."""
    if len(built) == 1:
        return built[0]
    line = np.arange(len(which))
    return jax.tree.map(lambda *leaves: as_jax(np.stack(leaves)[which, line]), *built)


def _curvature(problem: FitProblem, mode: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Second derivatives of minus the log posterior along directions, from slopes beside it.

    Laplace's approximation of the evidence is written so that its slope is exact, but the
    slope of that slope would not be. Few directions take few slopes, however many
    hyper-parameters there are.
    """
    slope = lambda at: np.asarray(loss_and_gradient(problem, as_jax(at))[1])
    steps = STEP * directions.T
    each = [slope(mode + step) - slope(mode - step) for step in steps]
    return np.array(each) @ directions / (2.0 * STEP)


def _shape(curvature: np.ndarray) -> np.ndarray:
    """The covariance of the parabola, no wider than the priors are."""
    finite = np.where(np.isfinite(curvature), curvature, 0.0)
    values, vectors = np.linalg.eigh((finite + finite.T) / 2.0)
    return (vectors / np.maximum(values, LEAST_CURVATURE)) @ vectors.T


def _pick(weight: np.ndarray, count: int) -> np.ndarray:
    """Places in proportion to weights that sum to one, by steps of one size."""
    steps = (np.arange(count) + 0.5) / count
    places = np.searchsorted(np.cumsum(weight), steps, side="right")
    return np.minimum(places, len(weight) - 1)


def _normalised(logs: np.ndarray) -> np.ndarray:
    """Weights that sum to one; candidates beyond arithmetic have none."""
    logs = np.where(np.isfinite(logs), logs, -np.inf)
    weight = np.exp(logs - logs.max())
    return weight / weight.sum()
