"""The variance to expect as a list of rows is labelled one after another.

One Cholesky factor of the whole list holds those of all its beginnings, so the gains of every
beginning [see `labelwise.lookahead.gain`] are running sums of one k × k matrix.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from labelwise.beliefs.base import AbstractGaussianBelief
from labelwise.estimands.base import AbstractQuadraticEstimand
from labelwise.estimands.moments import exact_moments
from labelwise.lookahead.outlook import look
from labelwise.numerics import add_diagonal, solve_lower


@eqx.filter_jit
def variance_along(
    belief: AbstractGaussianBelief,
    estimand: AbstractQuadraticEstimand,
    pool_x: Float[Array, "pool dim"],
    orders: Int[Array, "orders k"],
) -> Float[Array, "orders k+1"]:
    """Expected variance of the estimand after none, one, ... all rows of each order.

    A row of -1 is an empty place: it teaches nothing.
    """
    now = exact_moments(belief, estimand).variance
    gains = jax.lax.map(lambda rows: _gains_along(belief, estimand, pool_x, rows), orders)
    start = jnp.zeros((orders.shape[0], 1))
    return now - jnp.concatenate([start, gains], axis=1)


def _gains_along(belief, estimand, pool_x, rows) -> Float[Array, " k"]:
    filled = rows >= 0
    outlook = look(belief, estimand, pool_x[jnp.maximum(rows, 0)])
    both = filled[:, None] & filled[None, :]
    covariance = jnp.where(both, belief.covariance_at(outlook.pool, outlook.pool), 0.0)
    noise = jnp.where(filled, outlook.noise, 1.0)
    factor = jnp.linalg.cholesky(add_diagonal(covariance, noise))
    cross = solve_lower(factor, jnp.where(filled[:, None], outlook.cross, 0.0))
    core = (cross * outlook.expansion.curvature[None, :]) @ cross.T
    tilt = cross @ outlook.expansion.slope / 2.0
    # Sums over the leading square of each size: the diagonal of the two-way running sum.
    squares = jnp.diagonal(jnp.cumsum(jnp.cumsum(core**2, axis=0), axis=1))
    return 2.0 * squares + 4.0 * jnp.cumsum(tilt**2)
