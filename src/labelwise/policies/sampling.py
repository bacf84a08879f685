"""From logits to a batch: the top k, or a draw whose probabilities are kept.

An answer that must hold whatever the belief needs the chance with which each row was
chosen, so a draw records, for every step, the probability of its row given those before.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from labelwise.policies.constraints import Candidates
from labelwise.types import EMPTY, EXCLUDED, Batch


def mask_logits(
    logits: Float[Array, " pool"], available: Bool[Array, " pool"]
) -> Float[Array, " pool"]:
    """Logits with rows that must not be chosen excluded."""
    return jnp.where(available, logits, EXCLUDED)


def log_scores(
    scores: Float[Array, " pool"], available: Bool[Array, " pool"]
) -> Float[Array, " pool"]:
    """Logits under which a draw is proportional to non-negative scores."""
    return mask_logits(jnp.log(jnp.maximum(scores, 1e-300)), available)


def take_rows(
    rows: Int[Array, " k"], scores: Float[Array, " pool"], logits: Float[Array, " pool"]
) -> Batch:
    """A batch that was chosen, not drawn."""
    return Batch(
        indices=rows,
        probabilities=jnp.ones(rows.shape[0]),
        scores=scores,
        logits=logits,
        drawn=jnp.zeros(rows.shape[0], bool),
    )


def take_places(
    state: Any, scores: Float[Array, " pool"], logits: Float[Array, " pool"]
) -> Batch:
    """The rows in the filled places of a search; an empty place is row -1."""
    return take_rows(jnp.where(state.filled, state.rows, EMPTY), scores, logits)


def take_top(
    logits: Float[Array, " pool"],
    k: int,
    candidates: Candidates,
    scores: Float[Array, " pool"] | None = None,
) -> Batch:
    """The k largest logits; of a unit only the largest, and as far as money reaches."""
    scores = logits if scores is None else scores
    if candidates.plain:
        return take_rows(jax.lax.top_k(logits, k)[1], scores, logits)

    def take_one(slot, state):
        rows, filled = state
        allowed = candidates.open(rows, filled)
        row = jnp.argmax(jnp.where(allowed, logits, -jnp.inf))
        return rows.at[slot].set(row), filled.at[slot].set(allowed.any())

    start = (jnp.zeros(k, int), jnp.zeros(k, bool))
    rows, filled = jax.lax.fori_loop(0, k, take_one, start)
    return take_rows(jnp.where(filled, rows, EMPTY), scores, logits)


def first_probabilities(logits: Any, floor: float = 0.0) -> Float[np.ndarray, " pool"]:
    """The law of the first row that `draw_batch` draws, money no matter."""
    logits = np.asarray(logits)
    free = logits > EXCLUDED / 2
    uniform = free / max(free.sum(), 1)
    return (1.0 - floor) * scipy.special.softmax(logits) + floor * uniform


def draw_batch(
    key: PRNGKeyArray,
    logits: Float[Array, " pool"],
    k: int,
    candidates: Candidates,
    floor: Any = 0.0,
    scores: Float[Array, " pool"] | None = None,
) -> Batch:
    """Draw k rows one at a time without replacement.

    Each draw is from softmax(logits) over the rows left, mixed with the uniform law on them
    in the share `floor`, so that no row's chance is ever smaller than floor / rows left. Rows
    left are of units not yet drawn, and within what is left of the money; once money keeps
    rows out, those that follow do not count as drawn, since not all had a chance.
    """
    free = logits > EXCLUDED / 2

    def draw_one(state, step):
        rows, filled, everyone = state
        slot, key = step
        open_rows = free & candidates.open(rows, filled)
        priceless = free & candidates.without_money().open(rows, filled)
        everyone = everyone & (open_rows == priceless).all()
        any_open = open_rows.any()
        uniform = open_rows / jnp.maximum(open_rows.sum(), 1)
        left = jnp.where(open_rows, logits, EXCLUDED)
        chances = (1.0 - floor) * jax.nn.softmax(left) + floor * uniform
        row = jax.random.categorical(key, jnp.where(open_rows, jnp.log(chances), EXCLUDED))
        state = rows.at[slot].set(row), filled.at[slot].set(any_open), everyone
        return state, (jnp.where(any_open, row, EMPTY), chances[row], everyone & any_open)

    start = (jnp.zeros(k, int), jnp.zeros(k, bool), jnp.array(True))
    steps = (jnp.arange(k), jax.random.split(key, k))
    _, (rows, probabilities, drawn) = jax.lax.scan(draw_one, start, steps)
    return Batch(
        indices=rows,
        probabilities=probabilities,
        scores=logits if scores is None else scores,
        logits=logits,
        drawn=drawn,
    )
