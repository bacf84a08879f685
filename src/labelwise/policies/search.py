"""Searching for the batch with the largest gain: greedy, swaps, beam, pairs of swaps.

All work on slots with stored columns: scoring every candidate for one slot given the others
costs O(pool · k²); only a row that is taken costs new columns, O(pool · (target + labelled)).
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Scalar

from labelwise.lookahead.gain import Columns, Remaining, Slots, added_gain, remaining
from labelwise.lookahead.outlook import Outlook
from labelwise.numerics import largest

SAME = 1e-9  # a swap must raise the gain by more than this share, so that rounding never cycles
SWEEPS = 20  # at most this many passes over the slots
PAIR_CANDIDATES = 32  # rows considered for each pair of slots


def greedy(
    outlook: Outlook,
    available: Bool[Array, " pool"],
    k: int,
    score: Callable[[Remaining], Float[Array, " pool"]] = added_gain,
) -> Slots:
    """Fill k slots one at a time with the row of largest score."""

    def fill(slot, state):
        slots, available = state
        row = jnp.argmax(jnp.where(available, score(remaining(outlook, slots)), -jnp.inf))
        slots = slots.put(slot, row, outlook.columns(row[None]))
        return slots, available.at[row].set(False)

    return jax.lax.fori_loop(0, k, fill, (Slots.empty(outlook, k), available))[0]


def total_gain(outlook: Outlook, slots: Slots) -> Scalar:
    """The gain of the batch in the slots."""
    return remaining(outlook, slots).gain


def swap(outlook: Outlook, available: Bool[Array, " pool"], slots: Slots) -> Slots:
    """Replace one row at a time by the best other, slot after slot, until none helps."""
    k = slots.rows.shape[0]

    def go_on(state):
        _, _, idle, count = state
        return (idle < k) & (count < SWEEPS * k)

    def try_slot(state):
        slots, gain, idle, count = state
        slot = count % k
        left = remaining(outlook, slots.without(slot))
        free = available.at[slots.rows].set(False)
        gains = jnp.where(free, left.gain + added_gain(left), -jnp.inf)
        row = jnp.argmax(gains)
        better = gains[row] > gain * (1.0 + SAME)
        slots = jax.lax.cond(
            better,
            lambda: slots.put(slot, row, outlook.columns(row[None])),
            lambda: slots,
        )
        gain = jnp.where(better, gains[row], gain)
        return slots, gain, jnp.where(better, 0, idle + 1), count + 1

    start = (slots, total_gain(outlook, slots), jnp.array(0), jnp.array(0))
    return jax.lax.while_loop(go_on, try_slot, start)[0]


def beam(outlook: Outlook, available: Bool[Array, " pool"], k: int, width: int) -> Slots:
    """Keep the `width` best sets of each size; the best of size k."""
    marks = jnp.asarray(np.random.default_rng(0).integers(1, 2**62 // k, outlook.size))
    # A set of s rows can grow from s smaller ones, so this many hold `width` distinct sets.
    count = min(width * k, width * outlook.size)

    def grow(slot, state):
        sets, alive = state
        left = jax.vmap(remaining, in_axes=(None, 0))(outlook, sets)
        gains = left.gain[:, None] + jax.vmap(added_gain)(left)
        taken = jax.vmap(lambda one: ~_free(outlook, available, one))(sets)
        gains = jnp.where(taken | ~alive[:, None], -jnp.inf, gains).ravel()
        best = largest(gains, count)
        parents, rows = best // outlook.size, best % outlook.size
        names = jax.vmap(_name, in_axes=(0, None))(sets, marks)[parents] + marks[rows]
        fresh = _first_of_each(names) & jnp.isfinite(gains[best])
        kept = jnp.argsort(~fresh, stable=True)[:width]
        sets = jax.tree.map(lambda leaf: leaf[parents[kept]], sets)
        put = lambda one, row, *column: one.put(
            slot, row, Columns(*(part[None, :] for part in column))
        )
        return jax.vmap(put)(sets, rows[kept], *outlook.columns(rows[kept])), fresh[kept]

    empty = Slots.empty(outlook, k)
    sets = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (width, *leaf.shape)), empty)
    sets, alive = jax.lax.fori_loop(0, k, grow, (sets, jnp.arange(width) == 0))
    gains = jax.vmap(total_gain, in_axes=(None, 0))(outlook, sets)
    best = jnp.argmax(jnp.where(alive, gains, -jnp.inf))
    return jax.tree.map(lambda leaf: leaf[best], sets)


def pair_swap(outlook: Outlook, available: Bool[Array, " pool"], slots: Slots) -> Slots:
    """Replace two rows at a time by the best pair of candidates, until no pair helps."""
    k = slots.rows.shape[0]
    if k < 2 or outlook.size < 3:
        return slots
    pairs = jnp.asarray(np.transpose(np.triu_indices(k, 1)))
    count_pairs = pairs.shape[0]
    candidates = min(PAIR_CANDIDATES, outlook.size)

    def go_on(state):
        _, _, idle, count = state
        return (idle < count_pairs) & (count < SWEEPS * count_pairs)

    def try_pair(state):
        slots, gain, idle, count = state
        pair = pairs[count % count_pairs]
        rest = slots.without(pair)
        free = _free(outlook, available, rest)
        rows, best = _best_pair(outlook, free, rest, candidates)
        better = best > gain * (1.0 + SAME)
        slots = jax.lax.cond(
            better, lambda: _put_both(outlook, slots, pair, rows), lambda: slots
        )
        gain = jnp.where(better, best, gain)
        return slots, gain, jnp.where(better, 0, idle + 1), count + 1

    start = (slots, total_gain(outlook, slots), jnp.array(0), jnp.array(0))
    return jax.lax.while_loop(go_on, try_pair, start)[0]


def _best_pair(outlook, free, rest, candidates):
    """The best two rows to add to `rest`, among the candidates that add most alone."""
    left = remaining(outlook, rest)
    alone = jnp.where(free, added_gain(left), -jnp.inf)
    rows = largest(alone, candidates)
    gains = left.gain + _pair_gains(outlook, left, rows)
    usable = jnp.isfinite(alone[rows])
    different = ~jnp.eye(candidates, dtype=bool)
    gains = jnp.where(different & usable[:, None] & usable[None, :], gains, -jnp.inf)
    flat = jnp.argmax(gains)
    return rows[jnp.array([flat // candidates, flat % candidates])], gains.ravel()[flat]


def _pair_gains(outlook, left: Remaining, rows: Int[Array, " c"]) -> Float[Array, "c c"]:
    """What each two of the rows add together: the gain formula with 2 × 2 matrices."""
    some = outlook.pool.take(rows)
    cross = outlook.cross[rows]
    a, g = left.whitened[:, rows], left.coupling[:, rows]
    s = outlook.belief.covariance_at(some, some) - a.T @ a  # off the diagonal
    q = (cross * outlook.expansion.curvature[None, :]) @ cross.T
    q = q - a.T @ left.product[:, rows] - g.T @ a
    tilts = left.tilts[:, rows]
    linear = g.T @ g + tilts.T @ tilts
    first = lambda values: values[:, None]
    second = lambda values: values[None, :]
    own_s, own_q, own_l = left.variance[rows], left.spread[rows], jnp.diagonal(linear)
    determinant = jnp.maximum(first(own_s) * second(own_s) - s**2, outlook.noise**2)
    # S⁻¹ Q by cofactors, for every pair at once.
    m11 = second(own_s) * first(own_q) - s * q
    m22 = first(own_s) * second(own_q) - s * q
    m12 = second(own_s) * q - s * second(own_q)
    m21 = first(own_s) * q - s * first(own_q)
    squares = (m11**2 + m22**2 + 2.0 * m12 * m21) / determinant**2
    trace = second(own_s) * first(own_l) + first(own_s) * second(own_l) - 2.0 * s * linear
    return 2.0 * squares + 4.0 * trace / determinant


def _put_both(outlook, slots, pair, rows):
    columns = outlook.columns(rows)
    for i in range(2):
        one = Columns(columns.covariance[i][None], columns.product[i][None])
        slots = slots.put(pair[i], rows[i], one)
    return slots


def _free(outlook, available, slots):
    """Rows that are available and in no filled slot; writes past the end are dropped."""
    taken = jnp.where(slots.filled, slots.rows, outlook.size)
    return available.at[taken].set(False, mode="drop")


def _name(slots, marks):
    """A sum of 62-bit random marks: tells sets apart, whatever the order of their rows."""
    return jnp.sum(jnp.where(slots.filled, marks[slots.rows], 0))


def _first_of_each(names):
    earlier = jnp.tril(names[:, None] == names[None, :], k=-1)
    return ~earlier.any(axis=1)
