"""The target rows of an estimand and the predictions on them, checked."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from labelwise.errors import InvalidInput
from labelwise.inputs import as_jax, as_matrix, as_scalar, as_shares, as_vector, is_traced


def as_target(x: Any, mass: Any, where: Any = None):
    """Target rows and their shares; `where` marks the rows that count, else all do."""
    x = as_matrix("target x", x)
    size = x.shape[0]
    if size == 0:
        raise InvalidInput(
            "The target is empty",
            "give the rows that define what is to be known",
            where="target x",
        )
    shares = as_shares("target mass", mass, size, "target x")
    if where is None:
        return x, shares
    mask = _as_mask(where, size)
    if is_traced(shares, mask):
        return x, shares * mask / jnp.sum(shares * mask)
    within = np.asarray(shares) * mask
    if not within.any():
        raise InvalidInput(
            "where holds for no target row that has mass",
            "give a group that someone is in",
            where="where",
        )
    return x, as_jax(within / within.sum())


def as_prediction(predictor: Any, x: Any) -> Float[Array, " target"]:
    """Predictions at the rows, from a function of them as they were given, numbers, or one."""
    prediction: Any = predictor(x) if callable(predictor) else predictor
    if np.ndim(prediction) == 0:
        number = as_scalar("prediction", prediction)
        if is_traced(number):
            return jnp.full(len(x), number)
        return as_jax(np.full(len(x), float(number)))
    return as_vector("prediction", prediction, len(x), "target x")


def as_probability(predictor: Any, x: Any) -> Float[Array, " target"]:
    """Predictions that are chances of a 1."""
    prediction = as_prediction(predictor, x)
    if is_traced(prediction):
        return prediction
    numbers = np.asarray(prediction)
    if not ((numbers >= 0.0) & (numbers <= 1.0)).all():
        raise InvalidInput.must(
            "prediction",
            "hold probabilities for this estimand",
            f"it ranges from {float(numbers.min()):g} to {float(numbers.max()):g}",
        )
    return prediction


def _as_mask(where: Any, size: int) -> Any:
    if is_traced(where):
        return where
    mask = np.asarray(where)
    if mask.shape != (size,) or not np.isin(mask, [0, 1]).all():
        raise InvalidInput.must(
            "where",
            f"hold True or False for each of the {size} target rows",
            f"it has shape {mask.shape} and dtype {mask.dtype}",
        )
    return mask.astype(bool)
