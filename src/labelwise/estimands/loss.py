"""Mean squared error of a fixed predictor ψ: g(f) = Σ mass_i (f(x_i) - ψ_i)² + noise. [1]

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 3.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from labelwise.estimands.base import AbstractQuadraticEstimand, Expansion
from labelwise.estimands.outcome import as_target
from labelwise.inputs import as_scalar, as_vector


class MeanSquaredError(AbstractQuadraticEstimand):
    """The expected squared error of a label from the prediction, over the target."""

    x: Float[Array, "target dim"]
    prediction: Float[Array, " target"]
    mass: Float[Array, " target"]  # share of the population each row stands for

    def __init__(self, x: Any, predictor: Any = 0.0, mass: Any = None):
        """`predictor` is a function of the rows, their predictions, or one number."""
        self.x, self.mass = as_target(x, mass)
        prediction: Any = predictor(x) if callable(predictor) else predictor
        if np.ndim(prediction) == 0:
            prediction = jnp.full(self.x.shape[0], as_scalar("prediction", prediction))
        self.prediction = as_vector("prediction", prediction, self.x.shape[0], "target x")

    def value(self, f, noise):
        return self.mass @ (f - self.prediction) ** 2 + noise

    def expand(self, mean, noise):
        slope = 2.0 * self.mass * (mean - self.prediction)
        return Expansion(self.value(mean, noise), slope, self.mass)
