"""Which class a row is of, if the model is wrong about it.

The chance of each other class is what the model gives it, times a factor for each pair of a
class that is called and one that is, which the wrong rows seen so far tell:

    P(c | x, called a, wrong) ∝ θ_ac p_c(x),    θ_ac ~ Gamma(α + n_ac, rate α + e_ac),

where n_ac of the wrong rows called a were c, and e_ac were expected to be. Without chances all
other classes are alike to begin with.
"""

from typing import NamedTuple

import numpy as np

from labelwise.estimands.class_metrics import called

WORTH = 1.0  # rows that the model's own word counts for, in every pair of classes


class WrongClasses(NamedTuple):
    """Gamma laws of the factors, called × class."""

    shape: np.ndarray
    rate: np.ndarray

    @staticmethod
    def seen(chances: np.ndarray, labels: np.ndarray) -> "WrongClasses":
        """From rows whose classes are known."""
        size, said, codes = chances.shape[1], called(chances), labels.astype(int)
        wrong = codes != said
        counts, expected = np.zeros((size, size)), np.zeros((size, size))
        np.add.at(counts, (said[wrong], codes[wrong]), 1.0)
        np.add.at(expected, said[wrong], others(chances)[wrong])
        return WrongClasses(WORTH + counts, WORTH + expected)

    @property
    def mean(self) -> np.ndarray:
        return self.shape / self.rate

    def draws(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Factors as they may be, draws × called × class."""
        return rng.gamma(self.shape, size=(count, *self.shape.shape)) / self.rate


def others(chances: np.ndarray) -> np.ndarray:
    """Shares of the classes that a row is not called, rows × classes."""
    left = np.array(chances, float)
    left[np.arange(len(left)), called(chances)] = 0.0
    total = left.sum(axis=1, keepdims=True)
    alike = np.ones_like(left)
    alike[np.arange(len(left)), called(chances)] = 0.0
    alike /= alike.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, left / np.where(total > 0.0, total, 1.0), alike)


def weighed(shares: np.ndarray, said: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Shares of the other classes, by the factors of each row's call."""
    each = shares * factors[said]
    return each / np.maximum(each.sum(axis=1, keepdims=True), 1e-300)
