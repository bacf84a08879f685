"""Where outside data come in: checked once, by name, and turned into float64 arrays.

Traced values (inside `jax.jit`) pass unchecked: they were checked when they came in.
"""

import operator
from numbers import Real
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int, PRNGKeyArray, Scalar

import labelwise.numerics  # noqa: F401  (64 bits before the first array is made)
from labelwise.errors import InvalidInput, NumericalError
from labelwise.tables.text import hold, name_rows


def is_traced(*values: Any) -> bool:
    """Whether any of the values is abstract, so that its numbers cannot be looked at."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree_util.tree_leaves(list(values)))


def as_jax(own: np.ndarray) -> Array:
    """A numpy array that nobody else may change, as JAX's: they may share its memory.

    By `device_put`, since `jnp.asarray` compiles a program for every shape.
    """
    return jax.device_put(own)


def as_array(name: str, value: Any, ndim: int) -> Array:
    """Turn `value` into a finite float64 array of `ndim` dimensions."""
    if not is_traced(value):
        value = _as_finite_numpy(name, value)
    if value.ndim != ndim:
        remedy = " (ravel it)" if ndim == 1 and value.shape[1:] == (1,) else ""
        raise InvalidInput.must(
            name, f"have {_axes(ndim)}", f"it has shape {value.shape}{remedy}"
        )
    traced = is_traced(value)
    array = jnp.asarray(value, float) if traced else as_jax(np.array(value, float))
    if array.dtype != jnp.float64:
        raise NumericalError(
            "JAX was set back to 32 bits after Labelwise was imported",
            'call jax.config.update("jax_enable_x64", True)',
            where="jax_enable_x64",
        )
    return array


def as_matrix(name: str, value: Any) -> Float[Array, "n dim"]:
    """Read rows of features."""
    return as_array(name, value, 2)


def as_vector(name: str, value: Any, length: int, of: str) -> Float[Array, " n"]:
    """Read one number for each of the `length` rows of `of`."""
    vector = as_array(name, value, 1)
    if vector.shape[0] != length:
        raise InvalidInput(
            f"{name} has {vector.shape[0]} values but {of} has {length} rows",
            "give one value a row",
            where=name,
        )
    return vector


def as_scalar(name: str, value: Any, *, low: float = -np.inf, strict: bool = False) -> Scalar:
    """Read a finite number at or (`strict`) above `low`."""
    scalar = as_array(name, value, 0)
    if not is_traced(scalar):
        number = float(scalar)
        if number < low or (strict and number == low):
            bound = f"greater than {low:g}" if strict else f"at least {low:g}"
            raise InvalidInput.must(name, f"be {bound}", f"it is {number:g}")
    return scalar


def as_fractions(name: str, value: Any, length: int, of: str) -> Float[Array, " n"]:
    """Read one number in [0, 1] for each row."""
    vector = as_vector(name, value, length, of)
    if not is_traced(vector):
        outside = np.flatnonzero((np.asarray(vector) < 0) | (np.asarray(vector) > 1))
        if outside.size:
            raise InvalidInput.must(
                name,
                "lie between 0 and 1",
                f"{name_rows(outside)} {hold(outside)} {float(vector[outside[0]]):g}",
            )
    return vector


def as_shares(name: str, value: Any, length: int, of: str) -> Float[Array, " n"]:
    """Scale non-negative numbers, one a row, to sum to one; None means equal shares."""
    if value is None:
        return as_jax(np.full(length, 1.0 / length))
    vector = as_vector(name, value, length, of)
    if is_traced(vector):
        return vector / vector.sum()
    numbers = np.asarray(vector)
    negative = np.flatnonzero(numbers < 0)
    if negative.size:
        raise InvalidInput.must(name, "not be negative", f"see {name_rows(negative)}")
    if not numbers.any():
        raise InvalidInput(
            f"{name} is zero on every row of {of}", "give some row a share", where=name
        )
    shares = numbers / numbers.max()  # so that the sum of huge numbers stays finite
    return as_jax(shares / shares.sum())


def as_count(name: str, value: Any, least: int = 1) -> int:
    """Read a whole number; True and 2.0 are not meant as one."""
    try:
        count = operator.index(value)
        if isinstance(value, bool):
            raise TypeError
    except TypeError:
        raise InvalidInput.must(name, "be a whole number", f"it is {value!r}") from None
    if count < least:
        raise InvalidInput.must(name, f"be at least {least}", f"it is {count}")
    return count


def as_positive(
    name: str, value: Any, most: int | float = np.inf, rule: str = "be a positive number"
) -> float:
    """Read a finite number above 0 and not above `most`; True is not meant as one."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0.0 < float(value) < np.inf or float(value) > most:
        raise InvalidInput.must(name, rule, f"it is {value!r}")
    return float(value)


def as_indices(
    name: str, value: Any, size: int, of: str, unused: int | None = None
) -> Int[Array, " k"]:
    """Read row numbers of a table of `size` rows; `unused` marks a place that holds none."""
    if is_traced(value):
        return jnp.asarray(value)
    also = "" if unused is None else f", with {unused} for an unused place"
    rows = np.atleast_1d(np.asarray(value))
    if rows.size == 0:
        return as_jax(np.zeros(0, int))
    if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
        raise InvalidInput.must(
            name,
            f"be a list of whole row numbers of {of}{also}",
            f"it holds {rows.dtype} of shape {rows.shape}",
        )
    used = rows[rows != unused] if unused is not None else rows
    if used.size and (used.min() < 0 or used.max() >= size):
        raise InvalidInput.must(
            name,
            f"point at the {size} rows of {of} (0 to {size - 1}){also}",
            f"they range from {used.min()} to {used.max()}",
        )
    return as_jax(np.array(rows, int))


def as_key(key: Any) -> PRNGKeyArray:
    """Take a key, or make one of a whole number."""
    if is_traced(key) or (
        isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    ):
        return key
    try:
        return jax.random.key(operator.index(key))
    except (TypeError, OverflowError):
        raise InvalidInput.must(
            "key", "come from jax.random.key, or be a whole number", f"it is {key!r}"
        ) from None


def check_is(name: str, value: Any, kind: type) -> None:
    """Refuse an object of another kind, by name."""
    if not isinstance(value, kind):
        raise InvalidInput.must(
            name, f"be a {kind.__name__}", f"it is a {type(value).__name__}"
        )


def check_same_features(name: str, x: Float[Array, "n dim"], other: str, dim: int) -> None:
    """Two tables must have the same columns."""
    if x.shape[1] != dim:
        raise InvalidInput(
            f"{name} has {x.shape[1]} features but {other} has {dim}",
            "give the same columns to both",
            where=name,
        )


def _as_finite_numpy(name: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{name} must hold numbers only",
            "convert text and missing values first",
            where=name,
        ) from None
    finite = np.isfinite(array)
    if not finite.all():
        bad = np.flatnonzero(~finite.reshape(len(array), -1).all(1)) if array.ndim else []
        place = f" in {name_rows(bad)}" if array.ndim else ""
        remedy = "drop or impute before planning" if array.ndim else "give a finite number"
        raise InvalidInput(f"{name} is NaN or infinite{place}", remedy, where=name)
    return array


def _axes(ndim: int) -> str:
    return {0: "no axes (one number)", 1: "one axis (a value a row)"}.get(
        ndim, "two axes (rows, features)"
    )
