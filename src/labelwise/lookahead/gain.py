"""How much a batch is expected to reduce the variance of an estimand, in closed form.

With C = cov(pool, target), Σ = cov(pool) + noise, Q = C W Cᵀ and t = C · slope / 2, labelling
the batch S is expected to reduce the variance of g by [docs/mathematics.md, "The gain"]

    gain(S) = 2 tr((Σ_SS⁻¹ Q_SS)²) + 4 tr(t_Sᵀ Σ_SS⁻¹ t_S).

t is one column, and one more for each pending label, since these may still turn the slope
["Labels that are out"]. The terms in the target's own covariance have cancelled: a batch is
scored by k × k matrices. Given rows R already in the batch, what one more row j adds is

    2 (q/s)² + 4 (|G|² + |t|²) / s

where s, q, t and G are the row's variance, spread, tilts and coupling to R that remain once R
is known. `remaining` computes them for every pool row at once, from a few stored columns.
Q, t and G belong to a part of the estimand; s is common to all parts.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from labelwise.lookahead.posterior_view import CovarianceColumns, PosteriorView
from labelwise.numerics import add_diagonal, solve_lower


class Slots(eqx.Module):
    """Places for a batch: the rows in them, which are filled, and those rows' columns."""

    rows: Int[Array, " k"]
    filled: Bool[Array, " k"]
    columns: CovarianceColumns

    @staticmethod
    def empty(view: PosteriorView, k: int) -> "Slots":
        nothing = jnp.zeros((k, view.size))
        products = jnp.zeros((len(view.parts.curved), k, view.size))
        return Slots(
            jnp.zeros(k, int), jnp.zeros(k, bool), CovarianceColumns(nothing, products)
        )

    def put(
        self, slot: Int[Array, ""], row: Int[Array, ""], column: CovarianceColumns
    ) -> "Slots":
        """Fill one place with a row whose columns are given."""
        return Slots(
            self.rows.at[slot].set(row),
            self.filled.at[slot].set(True),
            CovarianceColumns(
                self.columns.covariance.at[slot].set(column.covariance[0]),
                self.columns.product.at[:, slot].set(column.product[:, 0]),
            ),
        )

    def without(self, slot: Int[Array, "*some"]) -> "Slots":
        """The same places with one (or some) of them empty."""
        return Slots(self.rows, self.filled.at[slot].set(False), self.columns)


class Remaining(NamedTuple):
    """Each pool row's part that the rows in the slots leave unexplained."""

    variance: Float[Array, " pool"]  # s: of a label
    spread: Float[Array, "curved pool"]  # q
    tilts: Float[Array, "parts tilts pool"]  # t
    coupling: Float[Array, "curved k pool"]  # G
    whitened: Float[Array, "k pool"]  # L⁻¹ Σ_R·
    product: Float[Array, "curved k pool"]  # L⁻¹ Q_R·
    gain: Float[Array, " parts"]  # of the rows in the slots


def remaining(view: PosteriorView, slots: Slots) -> Remaining:
    """Condition every pool row on the labels of the rows in the filled slots."""
    k = slots.rows.shape[0]
    both = slots.filled[:, None] & slots.filled[None, :]
    within = jnp.where(both, slots.columns.covariance[:, slots.rows], 0.0)
    noise = view.noise[slots.rows]
    factor = jnp.linalg.cholesky(add_diagonal(within, jnp.where(slots.filled, noise, 1.0)))
    # The inverse of a k × k factor, then plain products: far quicker than many solves.
    inverse = jnp.where(slots.filled[None, :], solve_lower(factor, jnp.eye(k)), 0.0)
    inverse = jnp.where(slots.filled[:, None], inverse, 0.0)
    a = inverse @ slots.columns.covariance

    def of_curved(product, spread):
        z = inverse @ product
        core = inverse @ product[:, slots.rows] @ inverse.T
        core_a = core @ a
        left = spread - jnp.sum(a * (2.0 * z - core_a), axis=0)
        return left, z - core_a, z, jnp.sum(core**2)

    spread, coupling, product, squares = jax.vmap(of_curved)(slots.columns.product, view.spread)
    tilts = jnp.einsum("jtk,lk->jtl", view.tilts[..., slots.rows], inverse)
    variance = view.variance + view.noise - jnp.sum(a**2, axis=0)
    return Remaining(
        variance=jnp.maximum(variance, view.noise),
        spread=spread,  # no clamp: it may be negative where a curvature is
        tilts=view.tilts - jnp.einsum("jtl,lp->jtp", tilts, a),
        coupling=coupling,
        whitened=a,
        product=product,
        gain=view.parts.spread_out(2.0 * squares) + 4.0 * jnp.sum(tilts**2, axis=(1, 2)),
    )


def added_gain(view: PosteriorView, left: Remaining) -> Float[Array, "parts pool"]:
    """What each row would add to each part's gain of the rows in the slots."""
    s = left.variance[None, :]
    curved = 2.0 * (left.spread / s) ** 2 + 4.0 * jnp.sum(left.coupling**2, axis=1) / s
    return view.parts.spread_out(curved) + 4.0 * jnp.sum(left.tilts**2, axis=1) / s


def batch_gain(view: PosteriorView, rows: Int[Array, " k"]) -> Float[Array, " parts"]:
    """Expected reduction of each part's variance by labelling these rows."""
    pool = view.pool.take(rows)
    factor = jnp.linalg.cholesky(
        add_diagonal(view.belief.covariance_at(pool, pool), view.noise[rows])
    )
    cross = solve_lower(factor, view.cross[rows])
    core = lambda curvature: jnp.sum(((cross * curvature[None, :]) @ cross.T) ** 2)
    squares = jax.vmap(core)(view.parts.curvature)
    tilts = view.tilts[..., rows]
    flat = solve_lower(factor, tilts.reshape(-1, rows.shape[0]).T)
    lengths = jnp.sum(flat**2, axis=0).reshape(tilts.shape[:2]).sum(axis=1)
    return view.parts.spread_out(2.0 * squares) + 4.0 * lengths
