"""Uncertainty after imagined labels, for beliefs that must learn to know it.

Labels of all rows are imagined once, jointly, from the present belief. What a batch in the
making leaves uncertain is found by conditioning on its imagined labels, as the paper does for
networks: slow beside closed forms, but it asks the belief itself.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 6.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from labelwise.beliefs.base import AbstractBelief
from labelwise.lookahead.scorers.base import AbstractBatchScorer
from labelwise.types import Pool


class Places(eqx.Module):
    """Places for a batch."""

    rows: Int[Array, " k"]
    filled: Bool[Array, " k"]

    def without(self, slot: Int[Array, ""]) -> "Places":
        return Places(self.rows, self.filled.at[slot].set(False))


class RefitScorer(AbstractBatchScorer[Places]):
    """How uncertain each row's expected label still is; the batch itself gains nothing."""

    belief: Any
    pool: Pool
    arm: Int[Array, " pool"]  # the row that a unit is, as chance may treat it
    imagined: Float[Array, " arms"]
    pending: Float[Array, " pending"]  # labels imagined for rows that are out

    @staticmethod
    def of(key: PRNGKeyArray, belief: AbstractBelief, pool: Pool) -> "RefitScorer":
        label_key, arm_key = jax.random.split(key)
        arm = jnp.arange(pool.size)
        if pool.assignment is not None:
            chance = pool.assignment.chance
            arm = arm + pool.size * (jax.random.uniform(arm_key, chance.shape) < chance)
        everywhere = jnp.concatenate([pool.arms, pool.x[jnp.maximum(pool.pending, 0)]])
        labels = belief.sample_labels(label_key, everywhere, 1)[0]
        imagined, pending = jnp.split(labels, [pool.arms.shape[0]])
        return RefitScorer(belief, pool, arm, imagined, pending)

    def start(self, k):
        return Places(jnp.zeros(k, int), jnp.zeros(k, bool))

    def put(self, state, slot, row):
        return Places(state.rows.at[slot].set(row), state.filled.at[slot].set(True))

    def gains(self, state):
        out = self.pool.pending
        rows = self.arm[state.rows]
        x = jnp.concatenate([self.pool.x[jnp.maximum(out, 0)], self.pool.arms[rows]])
        y = jnp.concatenate([self.pending, self.imagined[rows]])
        weight = jnp.concatenate([out >= 0, state.filled]).astype(float)
        variance = self.belief.condition(x, y, weight).outcome(self.pool.arms)[1]
        return jnp.zeros(()), over_arms(variance, self.pool)


def over_arms(values: Float[Array, " arms"], pool: Pool) -> Float[Array, " pool"]:
    """The mean over the treatments that chance may give."""
    if pool.assignment is None:
        return values
    chance = pool.assignment.chance
    return (1.0 - chance) * values[: pool.size] + chance * values[pool.size :]
