"""The records that every layer shares: rows one may label, and the batch chosen from them."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from labelwise.errors import InvalidInput
from labelwise.inputs import as_indices, as_matrix, is_traced

# A logit for rows that must never be drawn: finite, so that gradients stay zero, not NaN.
EXCLUDED = -1e30


class Pool(eqx.Module):
    """The rows one may send to be labelled.

    `available` is False for rows already labelled or pending: no policy can choose them.
    """

    x: Float[Array, "pool dim"]
    available: Bool[Array, " pool"]

    def __init__(self, x: Any, available: Any = None):
        self.x = as_matrix("pool x", x)
        size = self.x.shape[0]
        if size == 0:
            raise InvalidInput("The pool is empty; give at least one row that can be labelled.")
        self.available = _as_mask(
            jnp.ones(size, bool) if available is None else available, size
        )

    @property
    def size(self) -> int:
        return self.x.shape[0]

    def without(self, indices: Any) -> "Pool":
        """The same pool with these rows no longer available."""
        rows = as_indices("indices", indices, self.size, "the pool")
        available = self.available.at[rows].set(False)
        return eqx.tree_at(lambda pool: pool.available, self, available)

    def check_can_give(self, k: int) -> None:
        """Refuse a batch larger than what is left."""
        if is_traced(self.available):
            return
        left = int(np.count_nonzero(self.available))
        if k > left:
            raise InvalidInput(
                f"Cannot choose a batch of {k} from {left} available pool rows; "
                f"{f'ask for at most {left}' if left else 'the pool is used up'}."
            )


class Batch(eqx.Module):
    """The rows chosen in one round, with what is needed to audit the choice."""

    indices: Int[Array, " k"]  # pool rows, in the order they were chosen or drawn
    probabilities: Float[Array, " k"]  # chance of each draw given those before; 1 if not drawn
    scores: Float[Array, " pool"]  # what the policy ranked the rows by, before any was chosen
    logits: Float[Array, " pool"]  # log-weights of a draw from the policy; EXCLUDED = never


def _as_mask(available: Any, size: int) -> Bool[Array, " pool"]:
    if is_traced(available):
        return available
    mask = np.asarray(available)
    if mask.dtype != bool and not np.isin(mask, [0, 1]).all():
        raise InvalidInput(
            f"pool available must hold True or False for each row; it holds {mask.dtype}."
        )
    if mask.shape != (size,):
        raise InvalidInput(
            f"pool available has shape {mask.shape} but pool x has {size} rows; "
            "give one True or False a row."
        )
    return jnp.array(mask, bool)
