"""Improving the logits of a policy by stochastic gradients, as the paper does.

Adam on free logits that start at log(1/n), the same number of steps in every round. [1]

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, appendix B.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from labelwise.policies.selection import mask_logits

Gradient = Callable[[PRNGKeyArray, Float[Array, " pool"]], Float[Array, " pool"]]


def improve_logits(
    key: PRNGKeyArray,
    gradient: Gradient,
    available: Bool[Array, " pool"],
    steps: int,
    learning_rate: float,
) -> Float[Array, " pool"]:
    """Logits after `steps` of Adam; rows that are not available stay excluded."""
    adam = optax.adam(learning_rate)
    start = jnp.full(available.shape, -jnp.log(available.shape[0]))

    def step(state, key):
        logits, moments = state
        slope = gradient(key, mask_logits(logits, available))
        updates, moments = adam.update(jnp.where(available, slope, 0.0), moments)
        return (logits + jnp.asarray(updates), moments), None

    keys = jax.random.split(key, steps)
    (logits, _), _ = jax.lax.scan(step, (start, adam.init(start)), keys)
    return mask_logits(logits, available)
