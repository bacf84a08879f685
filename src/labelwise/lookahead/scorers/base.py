"""What a batch in the making is worth so far, and what each further row would add.

Search works on this alone, whether worth is computed in closed form, averaged over random
treatments, or taken from draws. A scorer holds what stays the same in a round; the batch in
the making is a small state beside it, so that searching copies nothing large.
"""

import abc
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Scalar

from labelwise.lookahead.gain import Remaining, Slots, added_gain, remaining
from labelwise.lookahead.posterior_view import PosteriorView

# Has `rows`, `filled` and `without(slot)`, and what the scorer needs to go on.
State = TypeVar("State", bound=Any)
# From what a batch leaves unexplained to the worth, in each part, of the batch as it is and
# with each pool row besides.
Measure = Callable[
    [PosteriorView, Remaining], tuple[Float[Array, " parts"], Float[Array, "parts pool"]]
]


class AbstractBatchScorer(eqx.Module, Generic[State]):
    """The pool's rows, as a batch of k could be made of them."""

    @abc.abstractmethod
    def start(self, k: int) -> State:
        """No place filled."""

    @abc.abstractmethod
    def gains(self, state: State) -> tuple[Scalar, Float[Array, " pool"]]:
        """The gain of the rows in the places, and what each pool row would add to it."""

    @abc.abstractmethod
    def put(self, state: State, slot: Int[Array, ""], row: Int[Array, ""]) -> State:
        """With one place filled by this row."""


def by_gain(view: PosteriorView, left: Remaining):
    """The variance that the estimand is expected to lose."""
    return left.gain, left.gain[:, None] + added_gain(view, left)


def by_variance(view: PosteriorView, left: Remaining, weight: Float[Array, " pool"]):
    """How uncertain each row's own function value still is, times its weight."""
    return jnp.zeros(1), (weight * (left.variance - view.noise))[None, :]


def by_mean_variance(view: PosteriorView, left: Remaining):
    """The mean variance that the target loses by one more row; needs one curved part."""
    return jnp.zeros(1), left.spread / left.variance[None, :]


class ExactScorer(AbstractBatchScorer[Slots]):
    """Gains in closed form."""

    view: PosteriorView
    measure: Measure = eqx.field(default=by_gain, static=True)

    def start(self, k):
        return Slots.empty(self.view, k)

    def gains(self, state):
        so_far, every = self.measure(self.view, remaining(self.view, state))
        return compare(self.view, so_far, every)

    def put(self, state, slot, row):
        return state.put(slot, row, self.view.columns(row[None]))

    def narrowed(self, state: Slots, others: Int[Array, " some"]):
        """The scorer and state on the batch's rows and some others only, and these rows."""
        rows = jnp.concatenate([state.rows, others])
        columns = state.columns
        few = type(columns)(columns.covariance[:, rows], columns.product[..., rows])
        narrow = Slots(jnp.arange(state.rows.shape[0]), state.filled, few)
        return ExactScorer(self.view.take(rows), self.measure), narrow, rows


def compare(view: PosteriorView, so_far, every) -> tuple[Scalar, Float[Array, " pool"]]:
    """From worths in each part to one gain, and what each row adds to it."""
    gain = view.parts.improvement(so_far)
    return gain, view.parts.improvement(every) - gain
