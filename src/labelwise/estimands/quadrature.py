"""Labels that stand for all that may come, with their chances, to average a function over."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# A normal law is cut off where one in 10¹⁰ is left, and each piece of it integrated by
# Gauss–Legendre nodes. Smooth functions with corners or steps at the breaks are right to 1e-7;
# a corner elsewhere costs up to 1 % of the spread, a step elsewhere up to 6 % of its height.
REACH = 6.5
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_UNIT, _SHARES = (_NODES + 1.0) / 2.0, _WEIGHTS / 2.0

Labels = tuple[Float[Array, "*n nodes"], Float[Array, "*n nodes"]]


def normal_labels(mean: Any, spread: Any, breaks: Sequence[Any]) -> Labels:
    """Of labels that are normal, in pieces between their mean, some breaks and the tails."""
    inside = [
        jnp.clip((place - mean) / jnp.maximum(spread, 1e-150), -REACH, REACH)
        for place in breaks
    ]
    end = jnp.full_like(mean, REACH)
    edges = jnp.sort(jnp.stack([-end, 0.0 * end, *inside, end], axis=-1), axis=-1)
    low, width = edges[..., :-1, None], jnp.diff(edges)[..., None]
    column = (*(1 for _ in low.shape[:-1]), -1)
    away = low + width * _UNIT.reshape(column)
    weight = width * _SHARES.reshape(column) * jnp.exp(-0.5 * away**2)
    flat = (*mean.shape, -1)
    y, weight = mean[..., None] + spread[..., None] * away.reshape(flat), weight.reshape(flat)
    return y, weight / jnp.sum(weight, axis=-1, keepdims=True)


def possible_labels(
    likelihood: Any, chances: Float[Array, "n labels"]
) -> Float[Array, "n labels"]:
    """The labels that have these chances, where they have few values."""
    return jnp.broadcast_to(np.array(likelihood.support), chances.shape)
