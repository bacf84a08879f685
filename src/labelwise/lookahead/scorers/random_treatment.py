"""Units whose treatment chance decides once they are chosen: gains on average over it.

The view is on arms: each unit untreated, then each unit treated. A world fixes how the units
in the batch will be treated; the gain of a batch is its mean over worlds, by enumeration for
small batches and else over drawn worlds that stay the same for every batch compared.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 3.
"""

from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from labelwise.lookahead.gain import Slots, remaining
from labelwise.lookahead.posterior_view import CovarianceColumns, PosteriorView
from labelwise.lookahead.scorers.base import AbstractBatchScorer, Measure, by_gain, compare

MOST_ENUMERATED = 6  # batches up to this size have all their worlds looked at
WORLDS = 64  # drawn for larger ones


class Treated(eqx.Module):
    """Places for units, with the columns of both their arms."""

    rows: Int[Array, " k"]
    filled: Bool[Array, " k"]
    covariance: Float[Array, "k 2 arms"]
    product: Float[Array, "curved k 2 arms"]

    def without(self, slot: Int[Array, ""]) -> "Treated":
        filled = self.filled.at[slot].set(False)
        return Treated(self.rows, filled, self.covariance, self.product)

    def in_world(self, treated: Bool[Array, " k"], size: int) -> Slots:
        """The batch with each unit in one arm."""
        arm = treated.astype(int)
        place = jnp.arange(self.rows.shape[0])
        columns = CovarianceColumns(self.covariance[place, arm], self.product[:, place, arm])
        return Slots(self.rows + size * arm, self.filled, columns)


class RandomTreatmentScorer(AbstractBatchScorer[Treated]):
    """Expected gains over the random treatment of the batch's units."""

    view: PosteriorView  # on arms
    chance: Float[Array, " pool"]  # of being treated
    uniform: Float[Array, "worlds k"] | None  # a unit is treated if its chance exceeds it
    measure: Measure = eqx.field(default=by_gain, static=True)

    @staticmethod
    def of(
        key: PRNGKeyArray,
        view: PosteriorView,
        chance: Float[Array, " pool"],
        k: int,
        measure: Measure = by_gain,
    ) -> "RandomTreatmentScorer":
        if k <= MOST_ENUMERATED:
            return RandomTreatmentScorer(view, chance, None, measure)
        half = jax.random.uniform(key, (WORLDS // 2, k))
        # In pairs of opposites: each place is treated about as often as its chance says.
        return RandomTreatmentScorer(view, chance, jnp.concatenate([half, 1.0 - half]), measure)

    def start(self, k):
        arms, curved = self.view.size, len(self.view.parts.curved)
        return Treated(
            jnp.zeros(k, int),
            jnp.zeros(k, bool),
            jnp.zeros((k, 2, arms)),
            jnp.zeros((curved, k, 2, arms)),
        )

    def put(self, state, slot, row):
        size = self.chance.shape[0]
        columns = self.view.columns(jnp.stack([row, row + size]))
        return Treated(
            state.rows.at[slot].set(row),
            state.filled.at[slot].set(True),
            state.covariance.at[slot].set(columns.covariance),
            state.product.at[:, slot].set(columns.product),
        )

    def gains(self, state):
        size = self.chance.shape[0]

        def of_world(world):
            treated, weight = world
            left = remaining(self.view, state.in_world(treated, size))
            so_far, every = self.measure(self.view, left)
            by_arm = (every[:, :size], every[:, size:])
            chance = self.chance[None, :]
            return weight * so_far, weight * ((1.0 - chance) * by_arm[0] + chance * by_arm[1])

        worlds = self.worlds(state)
        so_far, every = jax.lax.map(of_world, worlds)
        return compare(self.view, so_far.sum(axis=0), every.sum(axis=0))

    def worlds(self, state) -> tuple[Bool[Array, "worlds k"], Float[Array, " worlds"]]:
        """Who is treated in each world, and the worlds' chances."""
        k = state.rows.shape[0]
        chance = jnp.where(state.filled, self.chance[state.rows], 0.5)
        if self.uniform is not None:
            count = self.uniform.shape[0]
            return self.uniform[:, :k] < chance[None, :], jnp.full(count, 1.0 / count)
        treated = jnp.asarray(np.array(list(product([False, True], repeat=k))))
        each = jnp.where(treated, chance[None, :], 1.0 - chance[None, :])
        return treated, jnp.prod(each, axis=1)
