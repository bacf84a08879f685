"""A user's own estimand, as a function of one draw."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Scalar

from labelwise.errors import InvalidInput
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.target import as_target

Function = Callable[[Float[Array, " target"], Float[Array, " target"]], Scalar]


class FunctionEstimand(AbstractEstimand):
    """g = function(outcome, mass): from the expected label at each target row, and its mass.

    The outcome is a draw of the function (of 0/1 labels: the chances of a 1). The function is
    called inside `jax.jit`, so write it with `jax.numpy`; gradient planners differentiate it.
    """

    x: Float[Array, "target dim"]
    mass: Float[Array, " target"]
    function: Function = eqx.field(static=True)

    def __init__(self, x: Any, function: Function, mass: Any = None, where: Any = None):
        if not callable(function):
            raise InvalidInput.must(
                "function",
                "be callable with (outcome, mass)",
                f"it is a {type(function).__name__}",
            )
        self.x, self.mass = as_target(x, mass, where)
        self.function = function
        shape = jnp.shape(jax.eval_shape(function, self.mass, self.mass))
        if shape != ():
            raise InvalidInput.must(
                "function", "return one number", f"it returns an array of shape {shape}"
            )

    def value(self, f, likelihood):
        return self.function(likelihood.mean(f), self.mass)
