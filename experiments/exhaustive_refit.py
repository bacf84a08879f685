"""The variance that batches leave, by learning from their labels: for any belief, slowly.

Closed forms foresee what Gaussian beliefs will know. Others have to be asked: condition on each
batch with labels that might come, and look at what is left. On small pools all batches can be
gone through, which tells how good a plan was.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from labelwise.beliefs.base import AbstractBelief
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.moments import Moments, values_of
from labelwise.numerics import sample_variance

DRAWS = 200  # of the function, for beliefs that have more than can be gone through


@eqx.filter_jit
def moments_after(
    key: PRNGKeyArray,
    belief: AbstractBelief,
    estimand: AbstractEstimand,
    pool_x: Float[Array, "pool dim"],
    batches: Int[Array, "batches k"],
    labels: Float[Array, "worlds pool"],
) -> Moments:
    """Mean and variance of the estimand after each batch, in each world of labels."""

    def after(rows, world):
        posterior = belief.condition(pool_x[rows], world[rows])
        functions = posterior.representatives(key, estimand.x, DRAWS)
        values = values_of(estimand, functions, posterior.likelihood)
        return Moments(values.mean(axis=0), sample_variance(values))

    of_batch = lambda rows: jax.lax.map(lambda world: after(rows, world), labels)
    return jax.lax.map(of_batch, batches)


def expected_variances(
    key: PRNGKeyArray,
    belief: AbstractBelief,
    estimand: AbstractEstimand,
    pool_x: Float[Array, "pool dim"],
    batches: Int[Array, "batches k"],
    worlds: int = 10,
) -> Float[Array, " batches"]:
    """Variance of the estimand expected after each batch, over labels that are imagined.

    Each function that stands for the belief imagines the labels of one world.
    """
    function_key, label_key, draw_key = jax.random.split(key, 3)
    functions = belief.representatives(function_key, pool_x, worlds)[:worlds]
    labels = belief.likelihood.sample(label_key, functions)
    found = moments_after(draw_key, belief, estimand, pool_x, batches, labels)
    return jnp.mean(found.variance, axis=1)
