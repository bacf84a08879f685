"""Clustered inputs with a severe selection bias: the polyadic sampler, in any dimension.

Anchor i lies at distance i · spacing from the origin in a random direction, so that clusters
grow apart. The initial labels come from cluster 0 alone; pool and target come from all.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, appendix B.1.
"""

from dataclasses import dataclass

import numpy as np

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.errors import InvalidInput
from labelwise.estimands.named import MeanSquaredError
from labelwise.inputs import as_jax
from labelwise.likelihoods import GaussianLikelihood
from labelwise.simulation.problem import Problem
from labelwise.types import Pool


@dataclass(frozen=True)
class Sample:
    """How many rows to draw from each cluster, and how far around its anchor."""

    counts: tuple[int, ...]  # one a cluster
    spread: float  # standard deviation in each dimension

    def draw(self, rng: np.random.Generator, anchors: np.ndarray) -> np.ndarray:
        centres = np.repeat(anchors, self.counts, axis=0)
        return centres + self.spread * rng.normal(size=centres.shape)


@dataclass(frozen=True)
class ClusterDesign:
    """A clustered problem; the defaults are the paper's synthetic experiment.

    The paper leaves out how rows are shared among clusters. As in the authors' data, half of
    the pool lies in the training cluster, and half of the target's clusters count little.
    """

    clusters: int = 51
    dim: int = 1
    spacing: float = 1.0  # anchor i lies at distance i · spacing
    initial: Sample = Sample((100,) + (0,) * 50, 0.5)
    pool: Sample = Sample((250,) + (5,) * 50, 0.25)
    target: Sample = Sample((10,) * 26 + (1,) * 25, 0.5)
    length_scale: float = 1.0
    variance: float = 0.69  # σ_f²
    noise: float = 0.01  # σ²

    def __post_init__(self):
        for name in ("initial", "pool", "target"):
            counts = getattr(self, name).counts
            if len(counts) != self.clusters:
                raise InvalidInput(
                    f"{name} has counts for {len(counts)} clusters but there are "
                    f"{self.clusters}",
                    "give one count a cluster",
                    where=name,
                )

    def prior(self) -> GaussianProcess:
        return GaussianProcess(RBF(self.length_scale, self.variance), self.noise)


def place_anchors(rng: np.random.Generator, clusters: int, dim: int, spacing: float):
    """Centres at distances 0, 1, 2, … times `spacing`, in random directions."""
    directions = rng.normal(size=(clusters, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return spacing * np.arange(clusters)[:, None] * directions


def make_clusters(seed: int, design: ClusterDesign | None = None) -> Problem:
    """A problem whose labels are one draw from the prior, plus noise; the predictor is 0."""
    design = ClusterDesign() if design is None else design
    rng = np.random.default_rng(seed)
    anchors = place_anchors(rng, design.clusters, design.dim, design.spacing)
    parts = [part.draw(rng, anchors) for part in (design.initial, design.pool, design.target)]
    function = _draw_function(rng, design, np.concatenate(parts))
    labels = function + np.sqrt(design.noise) * rng.normal(size=function.shape)
    first, second = np.cumsum([len(part) for part in parts])[:2]
    estimand = MeanSquaredError(parts[2])
    return Problem(
        prior=design.prior(),
        x=as_jax(parts[0]),
        y=as_jax(labels[:first]),
        pool=Pool(parts[1]),
        labels=as_jax(labels[first:second]),
        estimand=estimand,
        truth=estimand.value(
            as_jax(function[second:]), GaussianLikelihood(as_jax(np.asarray(design.noise)))
        ),
        name=f"clusters/{seed}",
        truth_is="expected loss over the target, given the function",
    )


def _draw_function(rng, design: ClusterDesign, x: np.ndarray) -> np.ndarray:
    covariance = np.asarray(design.prior().kernel(as_jax(x), as_jax(x)))
    # The kernel matrix is singular to rounding; its eigenvectors draw from it all the same.
    values, vectors = np.linalg.eigh(covariance)
    return vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=len(x)))
