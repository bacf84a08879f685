"""Gains averaged over the components of a mixture.

Each component scores a batch as it would alone, and its score counts by its weight. What
labels would teach about which component is right is left out of the plan; the estimate has it.
"""

from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from labelwise.beliefs.base import AbstractBelief
from labelwise.beliefs.mixture import Mixture
from labelwise.lookahead.scorers.base import AbstractBatchScorer

# Covariances of pool and target that plans may keep, over all components (1.6 GB).
MOST_NUMBERS = 200_000_000
PLANNED = 8  # components that plans look at; more change the batch little

Belief = TypeVar("Belief", bound=AbstractBelief)


class Mixed(eqx.Module):
    """The batch in the making, once for each component."""

    states: Any

    @property
    def rows(self) -> Int[Array, " k"]:
        return self.states.rows[0]

    @property
    def filled(self) -> Bool[Array, " k"]:
        return self.states.filled[0]

    def without(self, slot: Int[Array, ""]) -> "Mixed":
        return Mixed(jax.vmap(lambda state: state.without(slot))(self.states))


class MixtureScorer(AbstractBatchScorer[Mixed]):
    """Prospects of one kind with a further axis in front, and what each weighs."""

    scorers: Any
    weight: Float[Array, " components"]

    def start(self, k):
        return Mixed(jax.vmap(lambda one: one.start(k))(self.scorers))

    def gains(self, state):
        so_far, every = jax.vmap(lambda one, state: one.gains(state))(
            self.scorers, state.states
        )
        return self.weight @ so_far, self.weight @ every

    def put(self, state, slot, row):
        put = lambda one, state: one.put(state, slot, row)
        return Mixed(jax.vmap(put)(self.scorers, state.states))


def planned(mixture: Belief, pool: int, target: int, most: int | None = None) -> Belief:
    """The components that a plan looks at: the heaviest, as many as there is room for."""
    room = (MOST_NUMBERS if most is None else most) // max(pool * target, 1)
    return mixture.few(max(1, min(PLANNED, room)))


def mix(mixture: Mixture, prospect_of: Any) -> MixtureScorer:
    """Prospects of all components."""
    return MixtureScorer(mixture.each(prospect_of), jnp.exp(mixture.log_weight))
