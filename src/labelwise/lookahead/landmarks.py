"""What a row promises, by its covariances with a few landmarks: for pools of any size.

The gain of one row needs its covariance with every row of the target. Nyström's approximation
has it from the covariances with some landmark rows Z alone,

    cov(x, t) ≈ cov(x, Z) cov(Z)⁻¹ cov(Z, t),

exact where x or t is a landmark. Given labels of rows X, all that the gain is made of is then
linear in the kernel's values k(x, Z) and k(x, X), or a sum of squares of what is: it folds into
a few columns, computed once. A row costs its kernel values and one product with these columns,
whatever the size of the target. In single precision, and of a mixture by its heaviest
components: this only shortens the list, and what is on it is scored exactly.

See docs/large-pools.md, "Choosing among every row".
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from labelwise.beliefs.process import AbstractProcess, Embedding
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.moments import as_latent, has_exact_moments
from labelwise.lookahead.linearised_view import target_view
from labelwise.lookahead.pending import expect_pending, moves_by_pending
from labelwise.lookahead.posterior_view import Parts, TargetView, exact_target, half_slopes
from labelwise.numerics import add_diagonal, cholesky, solve_lower
from labelwise.types import Pool

LANDMARKS = 256
COMPONENTS = 1  # of a mixture, by which rows are scored
BENDS = 32  # directions that stand for a curvature
TOLD = 64  # directions that stand for what labels have told of a row
BLOCK = 1 << 14  # rows that go through the program at once, ...
PART = 1 << 10  # ... so many at a time that their covariances stay in the processor's cache
# Shares of the variance before any label: what is added to that of landmarks, which may repeat
# one another, and what noise counts for at least. Single precision knows no less.
NUGGET, LEAST_NOISE = 1e-6, 1e-6


class Landmarked(eqx.Module):
    """One process, and what kernel values of a row tell of its gain."""

    belief: AbstractProcess
    basis: Float[Array, "basis features"]  # landmarks, then rows seen
    tilts: Float[Array, "basis tilts"]  # of all parts, one after another
    directions: Float[Array, "basis directions"]  # of all curved parts, one after another
    bends: Float[Array, "curved bends"]  # what the square of each counts for, of either sign
    told: Float[Array, "basis told"]  # squares of which labels take from the variance
    shift: Float[Array, " basis"]  # of the mean, by labels
    parts: Parts
    scale: Float[Array, " landmarks"]  # 1 / standard deviation
    least: Float[Array, ""]  # noise that a label has at least

    def gains(self, x: Float[Array, "n dim"]) -> tuple[Float[Array, " n"], Int[Array, " n"]]:
        """What each row would gain alone; and the landmark that it has most in common with."""
        features = self.belief.kernel.features(x)
        values = self.belief.kernel(features, self.basis)
        columns = [self.tilts, self.directions, self.told, self.shift[:, None]]
        ends = np.cumsum([one.shape[1] for one in columns])[:-1].tolist()
        tilts, along, told, shift = jnp.split(
            values @ jnp.concatenate(columns, 1), ends, axis=1
        )
        variance = self.belief.kernel.diagonal(features) - jnp.sum(told**2, axis=1)
        total = self._noisy(x, shift[:, 0], jnp.maximum(variance, 0.0))[None, :]
        curved, bends = self.bends.shape
        squares = (along**2).reshape(x.shape[0], curved, bends)
        spread = jnp.einsum("ncb,cb->cn", squares, self.bends)
        steep = jnp.sum((tilts**2).reshape(x.shape[0], self.parts.slope.shape[0], -1), axis=2)
        gains = self.parts.spread_out(2.0 * (spread / total) ** 2) + 4.0 * steep.T / total
        near = jnp.abs(values[:, : self.scale.shape[0]]) * self.scale[None, :]
        return self.parts.improvement(gains), jnp.argmax(near, axis=1)

    def _noisy(self, x, shift, variance) -> Float[Array, " n"]:
        """The variance of a label, as a reading of the function."""
        mean = self.belief.prior_mean(x).astype(x.dtype) + shift
        noise = self.belief.likelihood.reading_noise(mean, variance)
        return variance + jnp.maximum(noise, self.least).astype(x.dtype)


class Screen(eqx.Module):
    """Components of a mixture, each with its landmarks, and what each weighs."""

    each: Landmarked  # with a further axis in front
    weight: Float[Array, " components"]

    def gains(self, x: Float[Array, "n dim"]) -> tuple[Float[Array, " n"], Int[Array, " n"]]:
        """Gains on average; nearness is that of the first component."""
        gains, near = jax.lax.map(lambda one: one.gains(x), self.each)
        return self.weight @ gains, near[0]


def make_screen(
    key: PRNGKeyArray,
    belief: Any,
    estimand: AbstractEstimand,
    pool: Pool,
    landmarks: Float[Array, "landmarks dim"],
) -> Screen:
    """The objective that exact lookahead has for the belief, by landmarks.

    Of the pool only the rows that are out matter.
    """
    if has_exact_moments(belief.planned, estimand):
        few = belief.planned.few(COMPONENTS)

        def of(one):
            moves = moves_by_pending(one, pool, estimand.x)
            known = expect_pending(one, pool)
            return _landmarked(known, exact_target(known, estimand), landmarks, moves)

        return Screen(few.each(of), few.weight)
    latent: Any = expect_pending(as_latent(belief), pool)
    about = target_view(key, latent, estimand)
    return Screen(latent.each(lambda one: _landmarked(one, about, landmarks)), jnp.ones(1))


def _landmarked(
    belief: AbstractProcess, about: TargetView, x: Array, moves: Array | None = None
) -> Landmarked:
    parts, target = about.parts, about.target
    assert isinstance(target, Embedding)
    moves = jnp.zeros((parts.slope.shape[1], 0)) if moves is None else moves
    rows = belief.embed(x)
    variance = belief.prior_variance_at(rows)
    factor = cholesky(add_diagonal(belief.covariance_at(rows, rows), NUGGET * variance))
    # Whitened, φ = L⁻¹ cov(Z, x), rows have cov(x, x') ≈ φᵀφ'.
    whitened = solve_lower(factor, belief.covariance_at(rows, target))
    fold = lambda columns: _fold(belief, rows, _solve_upper(factor, columns))
    tilts = jnp.einsum("lt,jtm->ljm", whitened, half_slopes(parts, moves))
    directions, bends = _bent(whitened, parts)
    told, shift = _learnt(belief, jnp.concatenate([target.whitened, rows.whitened]))
    seen = rows.features[:0] if belief.seen is None else belief.seen.features
    return Landmarked(
        belief=belief,
        basis=jnp.concatenate([rows.features, seen]),
        tilts=fold(tilts.reshape(x.shape[0], -1)),
        directions=fold(directions),
        bends=bends,
        told=_below(x.shape[0], told),
        shift=_below(x.shape[0], shift[:, None])[:, 0],
        parts=parts,
        scale=1.0 / jnp.sqrt(variance),
        least=LEAST_NOISE * belief.prior_variance_at(target).max(),
    )


def _bent(whitened: Array, parts: Parts) -> tuple[Array, Array]:
    """Main directions of all curvatures, side by side, and what the square of each counts."""
    if not parts.curved:
        return jnp.zeros((whitened.shape[0], 0)), jnp.zeros((0, 0))
    each = [_main((whitened * one[None, :]) @ whitened.T, BENDS) for one in parts.curvature]
    bends, directions = zip(*each, strict=True)
    return jnp.concatenate(directions, axis=1), jnp.stack(bends)


def _fold(belief: AbstractProcess, rows: Embedding, columns: Array) -> Float[Array, "basis n"]:
    """From columns for posterior covariances with landmarks to columns for kernel values.

    The covariance is k(x, Z) less the product of what both have in common with rows seen.
    """
    return jnp.concatenate([columns, -_of_seen(belief, rows.whitened.T @ columns)])


def _of_seen(belief: AbstractProcess, columns: Array) -> Float[Array, "seen n"]:
    """From columns for whitened covariances with rows seen to columns for kernel values."""
    if belief.seen is None:
        return columns
    return belief.seen.gain[:, None] * _solve_upper(belief.seen.factor, columns)


def _learnt(belief: AbstractProcess, whitened: Array) -> tuple[Array, Array]:
    """By kernel values with rows seen: main directions of what labels tell; the mean's move."""
    if belief.seen is None:
        return jnp.zeros((0, 0)), jnp.zeros(0)
    _, vectors = _main(whitened.T @ whitened, TOLD)
    both = _of_seen(belief, jnp.column_stack([vectors, belief.seen.residual]))
    return both[:, :-1], both[:, -1]


def _below(rows: int, columns: Array) -> Array:
    """Columns that landmarks have no part in."""
    return jnp.concatenate([jnp.zeros((rows, columns.shape[1])), columns])


def _solve_upper(factor: Array, columns: Array) -> Array:
    """Solve Lᵀ z = b for a lower-triangular L."""
    return jax.scipy.linalg.solve_triangular(factor, columns, lower=True, trans="T")


def _main(matrix: Float[Array, "n n"], count: int) -> tuple[Array, Array]:
    """The largest eigenvalues by size, at most so many, and their vectors."""
    values, vectors = jnp.linalg.eigh(0.5 * (matrix + matrix.T))
    places = jnp.argsort(-jnp.abs(values))[:count]
    return values[places], vectors[:, places]


def in_single(screen: Screen) -> Screen:
    """The screen in single precision, as arrays that other processes can be given."""
    return jax.tree.map(
        lambda leaf: np.asarray(leaf, np.float32) if eqx.is_inexact_array(leaf) else leaf,
        screen,
    )


def score(screen: Screen, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gains of encoded rows, and nearest landmarks: as many at a time as a program takes."""
    found = [(np.zeros(0, np.float32), np.zeros(0, np.int64))]
    for start in range(0, len(x), BLOCK):
        some = x[start : start + BLOCK]
        whole = np.pad(some, ((0, BLOCK - len(some)), (0, 0)), mode="edge").astype(np.float32)
        gain, near = _in_parts(screen, whole)
        found.append((np.asarray(gain)[: len(some)], np.asarray(near)[: len(some)]))
    gains, nears = zip(*found, strict=True)
    return np.concatenate(gains), np.concatenate(nears)


@eqx.filter_jit
def _in_parts(screen: Screen, x: Any) -> tuple[Array, Array]:
    parts = jnp.reshape(x, (-1, PART, x.shape[1]))
    gain, near = jax.lax.map(screen.gains, parts)
    return gain.reshape(-1).astype(x.dtype), near.reshape(-1)


def pick(covariance: np.ndarray, count: int) -> np.ndarray:
    """Rows that tell most of all: each the one that those before it leave the least known.

    They are the pivots of a Cholesky factor.
    """
    left, taken = np.diagonal(covariance).copy(), []
    factor = np.zeros((min(count, len(left)), len(left)))
    for place, line in enumerate(factor):
        row = int(np.argmax(left))
        if not left[row] > NUGGET * covariance[row, row]:
            break  # the others repeat these
        line[:] = (covariance[row] - factor[:place, row] @ factor[:place]) / np.sqrt(left[row])
        taken.append(row)
        left = left - line**2
        left[taken] = -np.inf
    return np.array(taken, int)
