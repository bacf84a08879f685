"""Searching for the batch with the largest gain: greedy, swaps, beam, pairs of swaps.

Greedy and swaps work on any scorer and know of costs. Beam and pairs work on closed forms:
scoring every candidate for one slot given the others costs O(pool · k²); only a row that is
taken costs new columns, O(pool · (target + labelled)).
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Scalar

from labelwise.lookahead.gain import CovarianceColumns, Remaining, Slots, added_gain, remaining
from labelwise.lookahead.posterior_view import PosteriorView
from labelwise.lookahead.scorers.base import AbstractBatchScorer
from labelwise.numerics import largest
from labelwise.policies.constraints import Candidates

SAME = 1e-9  # a swap must raise the gain by more than this share, so that rounding never cycles
SWEEPS = 20  # at most this many passes over the slots
PAIR_CANDIDATES = 32  # rows considered for each pair of slots

Score = Callable[[AbstractBatchScorer, Any], Float[Array, " pool"]]


def added(scorer: AbstractBatchScorer, state: Any) -> Float[Array, " pool"]:
    """What each row would add to the gain."""
    return scorer.gains(state)[1]


def greedy(
    scorer: AbstractBatchScorer, candidates: Candidates, k: int, score: Score = added
) -> Any:
    """Fill k places one at a time with the row of largest score, less its price.

    Where rows cost something, a place stays empty if no row is worth its price. Under a limit,
    gain for money is compared with gain alone, and the better batch kept.
    """
    worth = lambda *both: candidates.worth(score(*both))
    alone = _fill(scorer, candidates, k, worth)
    if candidates.cost is None or candidates.spending.limit is None:
        return alone
    cost = candidates.cost
    for_money = _fill(scorer, candidates, k, lambda *both: worth(*both) / cost)
    better = net_gain(scorer, candidates, for_money) > net_gain(scorer, candidates, alone)
    return jax.tree.map(lambda one, two: jnp.where(better, one, two), for_money, alone)


def _fill(scorer: AbstractBatchScorer, candidates: Candidates, k: int, score: Score) -> Any:
    def fill(slot, state):
        allowed = candidates.open(state.rows, state.filled)
        if candidates.spending.price is not None and candidates.cost is not None:
            allowed = allowed & (candidates.worth(added(scorer, state)) > 0.0)
        row = jnp.argmax(jnp.where(allowed, score(scorer, state), -jnp.inf))
        put = lambda: scorer.put(state, slot, row)
        return put() if candidates.plain else jax.lax.cond(allowed.any(), put, lambda: state)

    return jax.lax.fori_loop(0, k, fill, scorer.start(k))


def net_gain(scorer: AbstractBatchScorer, candidates: Candidates, state: Any) -> Scalar:
    """The gain of a batch less its price."""
    return scorer.gains(state)[0] - candidates.price_of(state.rows, state.filled)


def swap(scorer: AbstractBatchScorer, candidates: Candidates, state: Any) -> Any:
    """Replace one row at a time by the best other, place after place, until none helps.

    Where rows have a price, one that others have made less than worth it is dropped.
    """
    k = state.rows.shape[0]
    priced = candidates.cost is not None and candidates.spending.price is not None

    def go_on(carry):
        _, _, idle, count = carry
        return (idle < k) & (count < SWEEPS * k)

    def try_slot(carry):
        state, gain, idle, count = carry
        slot = count % k
        rest = state.without(slot)
        free = candidates.open(rest.rows, rest.filled) & ~candidates.taken(
            state.rows, state.filled
        )
        base, more = scorer.gains(rest)
        alone = base - candidates.price_of(rest.rows, rest.filled)
        gains = jnp.where(free, alone + candidates.worth(more), -jnp.inf)
        row = jnp.argmax(gains)
        best = jnp.maximum(gains[row], alone) if priced else gains[row]
        better = best > gain + SAME * jnp.abs(gain)
        put = lambda: scorer.put(rest, slot, row)
        if priced:
            put = lambda: jax.lax.cond(
                gains[row] > alone, lambda: scorer.put(rest, slot, row), lambda: rest
            )
        state = jax.lax.cond(better, put, lambda: state)
        gain = jnp.where(better, best, gain)
        return state, gain, jnp.where(better, 0, idle + 1), count + 1

    begin = (state, net_gain(scorer, candidates, state), jnp.array(0), jnp.array(0))
    return jax.lax.while_loop(go_on, try_slot, begin)[0]


def beam(view: PosteriorView, available: Bool[Array, " pool"], k: int, width: int) -> Slots:
    """Keep the `width` best sets of each size; the best of size k."""
    marks = jnp.asarray(np.random.default_rng(0).integers(1, 2**62 // k, view.size))
    # A set of s rows can grow from s smaller ones, so this many hold `width` distinct sets.
    count = min(width * k, width * view.size)

    def grow(slot, state):
        sets, alive = state
        gains = jax.vmap(lambda one: _gain_with(view, one)[1])(sets)
        taken = jax.vmap(lambda one: ~_free(view, available, one))(sets)
        gains = jnp.where(taken | ~alive[:, None], -jnp.inf, gains).ravel()
        best = largest(gains, count)
        parents, rows = best // view.size, best % view.size
        names = jax.vmap(_name, in_axes=(0, None))(sets, marks)[parents] + marks[rows]
        fresh = _first_of_each(names) & jnp.isfinite(gains[best])
        kept = jnp.argsort(~fresh, stable=True)[:width]
        sets = jax.tree.map(lambda leaf: leaf[parents[kept]], sets)
        put = lambda one, row, covariance, product: one.put(
            slot, row, CovarianceColumns(covariance[None, :], product[:, None, :])
        )
        columns = view.columns(rows[kept])
        sets = jax.vmap(put, in_axes=(0, 0, 0, 1))(sets, rows[kept], *columns)
        return sets, fresh[kept]

    empty = Slots.empty(view, k)
    sets = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (width, *leaf.shape)), empty)
    sets, alive = jax.lax.fori_loop(0, k, grow, (sets, jnp.arange(width) == 0))
    gains = jax.vmap(lambda one: _gain_with(view, one)[0])(sets)
    best = jnp.argmax(jnp.where(alive, gains, -jnp.inf))
    return jax.tree.map(lambda leaf: leaf[best], sets)


def pair_swap(view: PosteriorView, available: Bool[Array, " pool"], slots: Slots) -> Slots:
    """Replace two rows at a time by the best pair of shortlist, until no pair helps."""
    k = slots.rows.shape[0]
    if k < 2 or view.size < 3:
        return slots
    pairs = jnp.asarray(np.transpose(np.triu_indices(k, 1)))
    count_pairs = pairs.shape[0]
    shortlist = min(PAIR_CANDIDATES, view.size)

    def go_on(state):
        _, _, idle, count = state
        return (idle < count_pairs) & (count < SWEEPS * count_pairs)

    def try_pair(state):
        slots, gain, idle, count = state
        pair = pairs[count % count_pairs]
        rest = slots.without(pair)
        free = _free(view, available, rest)
        rows, best = _best_pair(view, free, rest, shortlist)
        better = best > gain + SAME * jnp.abs(gain)
        slots = jax.lax.cond(better, lambda: _put_both(view, slots, pair, rows), lambda: slots)
        gain = jnp.where(better, best, gain)
        return slots, gain, jnp.where(better, 0, idle + 1), count + 1

    start = (slots, _gain_with(view, slots)[0], jnp.array(0), jnp.array(0))
    return jax.lax.while_loop(go_on, try_pair, start)[0]


def _gain_with(view: PosteriorView, slots: Slots):
    """The gain of the rows in the slots, and with each pool row besides."""
    left, parts = remaining(view, slots), view.parts
    more = left.gain[:, None] + added_gain(view, left)
    return parts.improvement(left.gain), parts.improvement(more)


def _best_pair(view, free, rest, shortlist):
    """The best two rows to add to `rest`, among the shortlist that add most alone."""
    left, parts = remaining(view, rest), view.parts
    alone = parts.improvement(left.gain[:, None] + added_gain(view, left))
    alone = jnp.where(free, alone, -jnp.inf)
    rows = largest(alone, shortlist)
    gains = parts.improvement(left.gain[:, None, None] + _pair_gains(view, left, rows))
    usable = jnp.isfinite(alone[rows])
    different = ~jnp.eye(shortlist, dtype=bool)
    gains = jnp.where(different & usable[:, None] & usable[None, :], gains, -jnp.inf)
    flat = jnp.argmax(gains)
    return rows[jnp.array([flat // shortlist, flat % shortlist])], gains.ravel()[flat]


def _pair_gains(
    view: PosteriorView, left: Remaining, rows: Int[Array, " c"]
) -> Float[Array, "parts c c"]:
    """What each two of the rows add together: the gain formula with 2 × 2 matrices."""
    some = view.pool.take(rows)
    cross = view.cross[rows]
    a = left.whitened[:, rows]
    s = view.belief.covariance_at(some, some) - a.T @ a  # off the diagonal
    own_s, noise = left.variance[rows], view.noise[rows]
    first = lambda values: values[:, None]
    second = lambda values: values[None, :]
    least = first(noise) * second(noise)
    determinant = jnp.maximum(first(own_s) * second(own_s) - s**2, least)

    def traced(linear):
        """4 tr(S⁻¹ L), for every pair."""
        own = jnp.diagonal(linear)
        trace = second(own_s) * first(own) + first(own_s) * second(own) - 2.0 * s * linear
        return 4.0 * trace / determinant

    def of_curved(curvature, product, coupling, own_q):
        q = (cross * curvature[None, :]) @ cross.T - a.T @ product - coupling.T @ a
        # S⁻¹ Q by cofactors, for every pair at once.
        m11 = second(own_s) * first(own_q) - s * q
        m22 = first(own_s) * second(own_q) - s * q
        m12 = second(own_s) * q - s * second(own_q)
        m21 = first(own_s) * q - s * first(own_q)
        squares = (m11**2 + m22**2 + 2.0 * m12 * m21) / determinant**2
        return 2.0 * squares + traced(coupling.T @ coupling)

    curved = jax.vmap(of_curved)(
        view.parts.curvature,
        left.product[..., rows],
        left.coupling[..., rows],
        left.spread[:, rows],
    )
    straight = jax.vmap(lambda tilts: traced(tilts.T @ tilts))(left.tilts[..., rows])
    return view.parts.spread_out(curved) + straight


def _put_both(view, slots, pair, rows):
    columns = view.columns(rows)
    for i in range(2):
        one = CovarianceColumns(columns.covariance[i : i + 1], columns.product[:, i : i + 1])
        slots = slots.put(pair[i], rows[i], one)
    return slots


def _free(view, available, slots):
    """Rows that are available and in no filled slot; writes past the end are dropped."""
    taken = jnp.where(slots.filled, slots.rows, view.size)
    return available.at[taken].set(False, mode="drop")


def _name(slots, marks):
    """A sum of 62-bit random marks: tells sets apart, whatever the order of their rows."""
    return jnp.sum(jnp.where(slots.filled, marks[slots.rows], 0))


def _first_of_each(names):
    earlier = jnp.tril(names[:, None] == names[None, :], k=-1)
    return ~earlier.any(axis=1)
