"""The default policy: the batch with the largest exact gain that search can find."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp

from labelwise.errors import InvalidInput
from labelwise.estimands.moments import as_quadratic, check_gaussian
from labelwise.lookahead.gain import Slots, added_gain, remaining
from labelwise.lookahead.outlook import Outlook
from labelwise.lookahead.pending import look_past_pending
from labelwise.numerics import largest
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.search import beam, greedy, pair_swap, swap
from labelwise.policies.selection import log_scores, take_rows

Effort = Literal["auto", "greedy", "swaps", "thorough"]

SMALL = 250_000  # pool · k² up to which "auto" is thorough
SHORTLIST = 5000  # swaps in a larger pool look at this many rows


class Lookahead(AbstractPolicy):
    """Minimise the variance of the estimand expected after the batch and all pending labels.

    The expectation is exact, over the labels of both.

    Effort: "greedy" adds the best row k times; "swaps" then replaces single rows until none
    helps; "thorough" starts from a beam of sets and ends with swaps of pairs; "auto" is
    thorough on small problems and "swaps" on large ones.
    """

    effort: Effort = eqx.field(default="auto", static=True)
    width: int = eqx.field(default=16, static=True)  # of the beam

    def __check_init__(self):
        if self.effort not in ("auto", "greedy", "swaps", "thorough"):
            raise InvalidInput(
                f"effort must be auto, greedy, swaps or thorough; it is {self.effort!r}."
            )
        if self.width < 1:
            raise InvalidInput(f"width must be at least 1; it is {self.width}.")

    def check(self, belief, estimand):
        check_gaussian(belief)
        as_quadratic(estimand)

    def choose(self, key, belief, estimand, pool, k):
        outlook = look_past_pending(belief, as_quadratic(estimand), pool)
        scores = added_gain(remaining(outlook, Slots.empty(outlook, 1)))
        rows = self._search(outlook, pool.available, scores, k)
        return take_rows(rows, scores, log_scores(scores, pool.available))

    def _search(self, outlook: Outlook, available, scores, k):
        effort = self.effort
        if effort == "auto":
            effort = "thorough" if outlook.size * k**2 <= SMALL else "swaps"
        if effort == "thorough":
            slots = swap(outlook, available, beam(outlook, available, k, self.width))
            return pair_swap(outlook, available, slots).rows
        slots = greedy(outlook, available, k)
        if effort == "greedy":
            return slots.rows
        if outlook.size <= SHORTLIST:
            return swap(outlook, available, slots).rows
        return _swap_in_shortlist(outlook, available, scores, slots)


def _swap_in_shortlist(outlook, available, scores, slots: Slots):
    """Swaps among the rows that gain most alone; the greedy batch keeps its places first."""
    k = slots.rows.shape[0]
    ranked = jnp.where(available, scores, -jnp.inf).at[slots.rows].set(-jnp.inf)
    others = largest(ranked, SHORTLIST)
    rows = jnp.concatenate([slots.rows, others])
    few = outlook.take(rows)
    columns = jax.tree.map(lambda column: column[:, rows], slots.columns)
    start = Slots(jnp.arange(k), slots.filled, columns)
    return rows[swap(few, available[rows], start).rows]
