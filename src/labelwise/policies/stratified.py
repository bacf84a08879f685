"""Rows drawn together, spread evenly over an order: a systematic sample.

Rows are laid out in order, each as long as its probability; a comb with k teeth, put down at a
random place, takes a row a tooth. So every k-th part of the order, by probability, gives one
row, and a row is taken with exactly k times its probability, which is kept. In random order,
each draw has the law of one row drawn alone. Where what is measured goes with the order, their
mean is less uncertain than that of rows drawn one by one; where it does not, as uncertain. [1]

[1] Madow (1949), On the theory of systematic sampling, II.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from labelwise.inputs import as_jax
from labelwise.policies.sampling import first_probabilities
from labelwise.types import Batch


def spread_evenly(
    rng: np.random.Generator, batch: Batch, order_by: Float[np.ndarray, " pool"], floor: float
) -> Batch:
    """As many rows as a batch that was drawn, anew by its law, evenly along `order_by`."""
    law = capped(first_probabilities(batch.logits, floor), len(batch.indices))
    rows = systematic(rng, law, order_by, len(batch.indices))
    return replace(
        batch,
        indices=as_jax(rows),
        probabilities=as_jax(law[rows]),
        drawn=as_jax(np.ones(len(rows), bool)),
    )


def systematic(
    rng: np.random.Generator,
    law: Float[np.ndarray, " pool"],
    order_by: Float[np.ndarray, " pool"],
    k: int,
) -> Int[np.ndarray, " {k}"]:
    """k rows in random order; no row may be likelier than one in k. Ties are in any order."""
    ties = rng.permutation(len(law))
    order = ties[np.argsort(order_by[ties], kind="stable")]
    order = order[law[order] > 0.0]
    ends = np.cumsum(law[order])
    teeth = (np.arange(k) + rng.uniform()) / k * ends[-1]
    taken = np.minimum(np.searchsorted(ends, teeth, side="right"), len(order) - 1)
    # Of rows as long as the comb's step, rounding could give two teeth the same one.
    taken = np.maximum.accumulate(taken - np.arange(k)) + np.arange(k)
    return rng.permutation(order[np.minimum(taken, len(order) - k + np.arange(k))])


def capped(law: Float[np.ndarray, " pool"], k: int) -> Float[np.ndarray, " pool"]:
    """The law with no row likelier than one in k: what is cut off goes to the others."""
    most, law = 1.0 / k, np.array(law, float)
    full = np.zeros(len(law), bool)
    while True:
        left = 1.0 - most * full.sum()
        others = np.where(full, 0.0, law)
        law = np.where(full, most, others * (left / max(others.sum(), 1e-300)))
        over = (law > most) & ~full
        if not over.any():
            return law
        full |= over
