"""How far a fixed predictor ψ is from labels, over the target. [1]

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 3.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from labelwise.estimands.base import (
    AbstractEstimand,
    AbstractQuadraticEstimand,
    Expansion,
    LinearEstimand,
)
from labelwise.estimands.target import as_prediction, as_target


class MeanSquaredError(AbstractQuadraticEstimand):
    """The expected squared error of a label from the prediction.

    g(f) = Σ mass_i ((E[label_i] - ψ_i)² + Var[label_i]). Of 0/1 labels it is the Brier score.
    """

    x: Float[Array, "target dim"]
    prediction: Float[Array, " target"]
    mass: Float[Array, " target"]  # share of the population each row stands for

    def __init__(self, x: Any, predictor: Any = 0.0, mass: Any = None, where: Any = None):
        """`predictor` is a function of the rows, their predictions, or one number."""
        self.x, self.mass = as_target(x, mass, where)
        self.prediction = as_prediction(predictor, x)

    def value(self, f, likelihood):
        return self.mass @ (
            (likelihood.mean(f) - self.prediction) ** 2 + likelihood.variance(f)
        )

    def expand(self, mean, likelihood):
        slope = 2.0 * self.mass * (mean - self.prediction)
        return Expansion(self.value(mean, likelihood), slope, self.mass)


class MeanAbsoluteError(AbstractEstimand):
    """The expected distance of a label from the prediction, label noise included."""

    x: Float[Array, "target dim"]
    prediction: Float[Array, " target"]
    mass: Float[Array, " target"]

    def __init__(self, x: Any, predictor: Any = 0.0, mass: Any = None, where: Any = None):
        self.x, self.mass = as_target(x, mass, where)
        self.prediction = as_prediction(predictor, x)

    def value(self, f, likelihood):
        return self.mass @ likelihood.absolute_error(f, self.prediction)


class MeanError(LinearEstimand):
    """The predictor's bias, prediction minus label: positive where it predicts too much."""

    def __init__(self, x: Any, predictor: Any = 0.0, mass: Any = None, where: Any = None):
        self.x, self.mass = as_target(x, mass, where)
        self.slope = -self.mass
        self.offset = self.mass @ as_prediction(predictor, x)


class RSquared(AbstractEstimand):
    """1 - MSE / Var[label]: the share of the labels' variance that the predictor explains.

    The variance is over the target population: that of E[label] plus that of labels given f.
    """

    x: Float[Array, "target dim"]
    prediction: Float[Array, " target"]
    mass: Float[Array, " target"]

    def __init__(self, x: Any, predictor: Any = 0.0, mass: Any = None, where: Any = None):
        self.x, self.mass = as_target(x, mass, where)
        self.prediction = as_prediction(predictor, x)

    def value(self, f, likelihood):
        outcome, noise = likelihood.mean(f), self.mass @ likelihood.variance(f)
        error = self.mass @ (outcome - self.prediction) ** 2 + noise
        spread = self.mass @ (outcome - self.mass @ outcome) ** 2 + noise
        return 1.0 - error / jnp.maximum(spread, 1e-300)
