"""From logits to a batch: the top k, or a draw whose probabilities are kept.

An answer that must hold whatever the belief needs the chance with which each row was
chosen, so a draw records, for every step, the probability of its row given those before.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from labelwise.types import EXCLUDED, Batch


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
        indices=rows, probabilities=jnp.ones(rows.shape[0]), scores=scores, logits=logits
    )


def take_top(
    logits: Float[Array, " pool"], k: int, scores: Float[Array, " pool"] | None = None
) -> Batch:
    """The k largest logits."""
    rows = jax.lax.top_k(logits, k)[1]
    return take_rows(rows, logits if scores is None else scores, logits)


def draw_batch(
    key: PRNGKeyArray,
    logits: Float[Array, " pool"],
    k: int,
    floor: float = 0.0,
    scores: Float[Array, " pool"] | None = None,
) -> Batch:
    """Draw k rows one at a time without replacement.

    Each draw is from softmax(logits) over the rows left, mixed with the uniform law on them
    in the share `floor`, so that no row's chance is ever smaller than floor / rows left.
    """

    def draw_one(left, key):
        open_rows = left > EXCLUDED / 2
        uniform = open_rows / open_rows.sum()
        chances = (1.0 - floor) * jax.nn.softmax(left) + floor * uniform
        row = jax.random.categorical(key, jnp.where(open_rows, jnp.log(chances), EXCLUDED))
        return left.at[row].set(EXCLUDED), (row, chances[row])

    _, (rows, probabilities) = jax.lax.scan(draw_one, logits, jax.random.split(key, k))
    return Batch(
        indices=rows,
        probabilities=probabilities,
        scores=logits if scores is None else scores,
        logits=logits,
    )
