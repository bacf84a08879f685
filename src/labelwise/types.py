"""The records that every layer shares: rows one may label, and the batch chosen from them."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from labelwise.errors import InvalidInput
from labelwise.inputs import as_indices, as_matrix, is_traced
from labelwise.inputs import rows as name_rows

# A logit for rows that must never be drawn: finite, so that gradients stay zero, not NaN.
EXCLUDED = -1e30


class Pool(eqx.Module):
    """The rows one may send to be labelled.

    `available` is False for rows already labelled or pending: no policy can choose them.
    `pending` lists the rows that are out; policies plan as if their labels were to come, so
    name them here rather than only mark them as not available. -1 is an unused place: keep the
    length fixed from round to round and planning compiles once.
    """

    x: Float[Array, "pool dim"]
    available: Bool[Array, " pool"]
    pending: Int[Array, " pending"]  # asked, label not back yet; -1 for none

    def __init__(self, x: Any, available: Any = None, pending: Any = None):
        self.x = as_matrix("pool x", x)
        size = self.x.shape[0]
        if size == 0:
            raise InvalidInput("The pool is empty; give at least one row that can be labelled.")
        self.pending = _as_pending(() if pending is None else pending, size)
        mask = _as_mask(jnp.ones(size, bool) if available is None else available, size)
        out = jnp.where(self.pending < 0, size, self.pending)  # past the end: not written
        self.available = mask.at[out].set(False, mode="drop")

    @property
    def size(self) -> int:
        return self.x.shape[0]

    def without(self, indices: Any) -> "Pool":
        """The same pool with these rows no longer available; what is pending stays so."""
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


def _as_pending(pending: Any, size: int) -> Int[Array, " pending"]:
    if is_traced(pending):
        return pending
    places = np.atleast_1d(np.asarray(pending))
    whole = places.size == 0 or np.issubdtype(places.dtype, np.integer)
    if places.ndim != 1 or not whole:
        raise InvalidInput(
            "pool pending must be a list of whole row numbers of pool x, -1 for an unused "
            f"place; it holds {places.dtype} of shape {places.shape}."
        )
    rows, counts = np.unique(places[places != -1], return_counts=True)
    if rows.size and (rows[0] < 0 or rows[-1] >= size):
        raise InvalidInput(
            f"pool pending must point at the {size} rows of pool x (0 to {size - 1}), or be -1 "
            f"for an unused place; its rows range from {rows[0]} to {rows[-1]}."
        )
    if (counts > 1).any():
        raise InvalidInput(
            f"pool pending holds {name_rows(rows[counts > 1])} more than once; "
            "give each pending row once."
        )
    return jnp.array(places, int)
