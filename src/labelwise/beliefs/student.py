"""Student's law of several numbers, centred: what SciPy has, without loading its statistics."""

from typing import NamedTuple

import numpy as np
import scipy.special


class Student(NamedTuple):
    """Numbers that are normal but for their scale, which varies."""

    shape: np.ndarray  # positive definite
    freedom: float

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Draws, one a row."""
        scale = rng.chisquare(self.freedom, size=count) / self.freedom
        dim = len(self.shape)
        normal = rng.multivariate_normal(np.zeros(dim), self.shape, size=count)
        return normal / np.sqrt(scale)[:, None]

    def log_density(self, at: np.ndarray) -> np.ndarray:
        """Of each row."""
        values, vectors = np.linalg.eigh(self.shape)
        distance = np.sum((at @ vectors) ** 2 / values, axis=1)
        dim, freedom = len(values), self.freedom
        both = 0.5 * (freedom + dim)
        volume = 0.5 * (dim * np.log(freedom * np.pi) + np.sum(np.log(values)))
        level = scipy.special.gammaln(both) - scipy.special.gammaln(0.5 * freedom) - volume
        return level - both * np.log1p(distance / freedom)
