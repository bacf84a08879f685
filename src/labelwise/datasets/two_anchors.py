"""Two clusters, labels in one: a Gaussian process as the truth, and as the oracle.

One anchor lies at the origin, the other `distance` away in a random direction. Training rows
lie around the first; test rows around both. Labels are a draw of a Gaussian process plus noise.
The same process, given the training labels, is an oracle: no belief can have a lower expected
loss where test labels are fresh.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, appendix D.2; it
    leaves out the number of features, the spread around anchors and the distances.
"""

from dataclasses import dataclass

import numpy as np

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.inputs import as_jax


@dataclass(frozen=True)
class TwoAnchorDesign:
    """The defaults are the paper's where it gives them."""

    train: int = 100
    test: int = 200  # from both clusters alike
    more: int = 20  # further rows around the second anchor, to be labelled next
    dim: int = 5
    spread: float = 0.5  # standard deviation around an anchor, in each dimension
    length_scale: float = 2.0
    variance: float = 0.69  # σ_f²
    noise: float = 0.01  # σ²

    def prior(self) -> GaussianProcess:
        """The process that labels come from."""
        return GaussianProcess(RBF(self.length_scale, self.variance), self.noise)


@dataclass(frozen=True)
class TwoAnchors:
    """Rows, their labels and the function behind them."""

    x: np.ndarray
    y: np.ndarray
    function: np.ndarray
    train: np.ndarray  # places of rows
    inside: np.ndarray  # test rows around the first anchor
    outside: np.ndarray  # and around the second
    pool: np.ndarray
    design: TwoAnchorDesign

    def fresh(self, rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
        """New labels of some rows."""
        noise = np.sqrt(self.design.noise) * rng.normal(size=len(rows))
        return self.function[rows] + noise


def draw_two_anchors(
    seed: int, distance: float, design: TwoAnchorDesign | None = None
) -> TwoAnchors:
    """One draw of rows, function and labels; a seed means the same rows at every distance."""
    design = design or TwoAnchorDesign()
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=design.dim)
    direction /= np.linalg.norm(direction)
    half = design.test // 2
    counts = (design.train, half, design.test - half, design.more)
    away = np.repeat([0.0, 0.0, distance, distance], counts)
    x = design.spread * rng.normal(size=(len(away), design.dim)) + away[:, None] * direction
    function = _draw(rng, design, x)
    y = function + np.sqrt(design.noise) * rng.normal(size=len(x))
    train, inside, outside, pool = np.split(np.arange(len(x)), np.cumsum(counts)[:-1])
    return TwoAnchors(x, y, function, train, inside, outside, pool, design)


def _draw(rng: np.random.Generator, design: TwoAnchorDesign, x: np.ndarray) -> np.ndarray:
    rows = as_jax(x)
    values, vectors = np.linalg.eigh(np.asarray(design.prior().kernel(rows, rows)))
    # The kernel matrix is singular to rounding; its eigenvectors draw from it all the same.
    return vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=len(x)))
