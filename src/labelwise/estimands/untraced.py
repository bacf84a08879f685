"""Users' functions as JAX calls them, whatever they are written with.

What works on JAX's arrays is used as it is. What does not is called on the host with numpy's:
compiled programs wait for it, and its slope is a difference quotient. What takes one label and
one prediction is called for each row.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from labelwise.own_code import on_host

STEP = 1e-4  # of a label, relative to its size, for a slope

Function = Callable[[Any, Any], Any]


def by_rows(function: Function) -> Function:
    """The function on arrays, be it written for them or for one row at a time."""
    if _takes_arrays(function):
        return function
    return np.vectorize(function, otypes=[float])


def _takes_arrays(function: Function) -> bool:
    """Whether two labels give two numbers, or fail as one does too."""
    y, prediction = np.array([0.0, 1.0]), np.array([0.25, 0.5])
    try:
        with np.errstate(all="ignore"):
            return np.shape(function(y, prediction)) == (2,) or _fails_alone(function)
    except Exception:
        return _fails_alone(function)


def _fails_alone(function: Function) -> bool:
    try:
        return np.shape(function(1.0, 0.5)) != ()
    except Exception:
        return True


def as_traceable(function: Function) -> Function:
    """The function, for numpy's arrays and for JAX's, traced or not."""
    if _is_traceable(function):
        return function
    on_host = _on_host(function)

    def values(y, prediction):
        traced = isinstance(y, jax.Array) or isinstance(prediction, jax.Array)
        if not traced:
            return function(y, prediction)
        shape = np.broadcast_shapes(y.shape, np.shape(prediction))
        wide = [jnp.broadcast_to(jnp.asarray(one), shape) for one in (y, prediction)]
        return on_host(*wide)

    return values


def _is_traceable(function: Function) -> bool:
    if isinstance(function, np.vectorize):
        return False
    shape = jax.ShapeDtypeStruct((2, 3), float), jax.ShapeDtypeStruct((2, 1), float)
    try:
        jax.eval_shape(function, *shape)
    except Exception:
        return False
    return True


def _on_host(function: Function) -> Function:
    numbers = lambda y, prediction: np.asarray(
        function(np.asarray(y), np.asarray(prediction)), float
    )
    told = on_host(numbers, "metric")

    @jax.custom_jvp
    def call(y, prediction):
        like = jax.ShapeDtypeStruct(y.shape, float)
        return jax.pure_callback(told, like, y, prediction, vmap_method="broadcast_all")

    @call.defjvp
    def slope(given, directions):
        y, prediction = given
        step = STEP * jnp.maximum(jnp.abs(y), 1.0)
        rise = (call(y + step, prediction) - call(y - step, prediction)) / (2.0 * step)
        return call(y, prediction), rise * directions[0]

    return call
