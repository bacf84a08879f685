"""Gains of very many batches of a small pool: all pairs of rows in tables, once a round.

A batch, hard or soft, is then scored by gathering what belongs to its rows. Planners that score
thousands of batches a round want this; the tables take pool × pool places, so pools are small.

See docs/mathematics.md, "The gain" and "Relaxations".
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from labelwise.lookahead.posterior_view import PosteriorView
from labelwise.numerics import add_diagonal, cholesky, solve_lower, symmetrise

MOST_ROWS = 2048  # of a pool whose pairs are tabulated


class GainTable(eqx.Module):
    """What the gain of any readings of pool rows needs."""

    view: PosteriorView
    covariance: Float[Array, "pool pool"]
    product: Float[Array, "curved pool pool"]  # Q = C W Cᵀ, for each curved part

    @staticmethod
    def of(view: PosteriorView) -> "GainTable":
        columns = view.columns(jnp.arange(view.size))
        return GainTable(view, symmetrise(columns.covariance), columns.product)

    def gain(
        self, rows: Int[Array, " k"], scale: Float[Array, " k"], noise: Float[Array, " k"]
    ) -> Float[Array, " parts"]:
        """Expected fall of each part's variance by reading scale · f + N(0, noise) at rows."""
        pairs = rows[:, None], rows[None, :]
        spread = scale[:, None] * self.covariance[pairs] * scale[None, :]
        factor = cholesky(add_diagonal(spread, noise))
        whiten = solve_lower(factor, jnp.diag(scale))
        core = lambda product: jnp.sum((whiten @ product[pairs] @ whiten.T) ** 2)
        parts = self.view.parts
        squares = parts.spread_out(2.0 * jax.vmap(core)(self.product))
        tilts = jnp.einsum("ptk,lk->ptl", self.view.tilts[..., rows], whiten)
        return squares + 4.0 * jnp.sum(tilts**2, axis=(1, 2))
