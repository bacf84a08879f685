"""The mean outcome over the target: g(f) = Σ mass_i f(x_i)."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from labelwise.errors import InvalidInput
from labelwise.estimands.base import AbstractQuadraticEstimand, Expansion
from labelwise.inputs import as_matrix, as_shares


class MeanOutcome(AbstractQuadraticEstimand):
    """The average label in the target population."""

    x: Float[Array, "target dim"]
    mass: Float[Array, " target"]  # share of the population each row stands for

    def __init__(self, x: Any, mass: Any = None):
        self.x, self.mass = as_target(x, mass)

    def value(self, f, noise):
        return self.mass @ f

    def expand(self, mean, noise):
        return Expansion(self.mass @ mean, self.mass, jnp.zeros_like(self.mass))


def as_target(x: Any, mass: Any):
    """Target rows and their shares, checked."""
    x = as_matrix("target x", x)
    if x.shape[0] == 0:
        raise InvalidInput(
            "The target is empty; give the rows that define what is to be known."
        )
    return x, as_shares("target mass", mass, x.shape[0], "target x")
