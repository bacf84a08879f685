"""The variance to expect as a list of rows is labelled one after another.

One Cholesky factor of the whole list holds those of all its beginnings, so the gains of every
beginning [see `labelwise.lookahead.gain`] are running sums of one k × k matrix.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from labelwise.beliefs.base import AbstractBelief
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.moments import as_latent, quadratic_variance
from labelwise.lookahead.linearised_view import target_view
from labelwise.lookahead.posterior_view import TargetView, build_view
from labelwise.numerics import add_diagonal, solve_lower
from labelwise.programs import program

COMPONENTS = 4  # of a mixture, that a path is judged by


@program
def variance_along(
    key: PRNGKeyArray,
    belief: AbstractBelief,
    estimand: AbstractEstimand,
    pool_x: Float[Array, "pool dim"],
    orders: Int[Array, "orders k"],
) -> Float[Array, "orders parts k+1"]:
    """Expected variance of each part after none, one, ... all rows of each order.

    A row of -1 is an empty place: it teaches nothing. Exact where there is a closed form; else
    the estimand is linearised, and `key` draws what its slopes are averaged over. Of a mixture,
    the mean over its heaviest components: the variance between them is not in it.
    """
    along = lambda component: _along(key, as_latent(component), estimand, pool_x, orders)
    return belief.few(COMPONENTS).average(along)


def _along(key, latent, estimand, pool_x, orders) -> Float[Array, "orders parts rows"]:
    about = target_view(key, latent, estimand)  # once for all orders
    along = lambda rows: _gains_along(latent, about, pool_x, rows)
    gains = jax.lax.map(along, orders)
    start = jnp.zeros((*gains.shape[:2], 1))
    left = -jnp.concatenate([start, gains], axis=2)
    return left + _now(latent, about)[None, :, None]


def _now(belief, about: TargetView) -> Float[Array, " parts"]:
    covariance, parts = belief.covariance_at(about.target, about.target), about.parts
    return jax.vmap(quadratic_variance, in_axes=(None, 0, 0))(
        covariance, parts.slope, parts.spread_out(parts.curvature)
    )


def _gains_along(belief, about: TargetView, pool_x, rows) -> Float[Array, "parts k"]:
    filled = rows >= 0
    view = build_view(belief, about, pool_x[jnp.maximum(rows, 0)])
    both = filled[:, None] & filled[None, :]
    covariance = jnp.where(both, belief.covariance_at(view.pool, view.pool), 0.0)
    noise = jnp.where(filled, view.noise, 1.0)
    factor = jnp.linalg.cholesky(add_diagonal(covariance, noise))
    cross = solve_lower(factor, jnp.where(filled[:, None], view.cross, 0.0))

    def of_curved(curvature):
        core = (cross * curvature[None, :]) @ cross.T
        # Sums over the leading square of each size: the diagonal of the two-way running sum.
        return jnp.diagonal(jnp.cumsum(jnp.cumsum(core**2, axis=0), axis=1))

    squares = view.parts.spread_out(jax.vmap(of_curved)(view.parts.curvature))
    tilts = view.parts.slope @ cross.T / 2.0
    return 2.0 * squares + 4.0 * jnp.cumsum(tilts**2, axis=1)
