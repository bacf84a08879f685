"""The mean outcome over the target: g(f) = Σ mass_i E[label_i]."""

from typing import Any

import jax.numpy as jnp

from labelwise.estimands.base import LinearEstimand
from labelwise.estimands.target import as_target


class MeanOutcome(LinearEstimand):
    """The average label in the target population; of 0/1 labels, the share of ones."""

    def __init__(self, x: Any, mass: Any = None, where: Any = None):
        self.x, self.mass = as_target(x, mass, where)
        self.slope, self.offset = self.mass, jnp.zeros(())
