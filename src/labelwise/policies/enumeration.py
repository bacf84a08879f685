"""The policy gradient itself, by going through every batch of a small pool."""

from itertools import combinations
from math import comb

import jax
import jax.numpy as jnp
import numpy as np

from labelwise.errors import InvalidInput
from labelwise.policies.estimator import AbstractEstimator, Rollouts
from labelwise.policies.score_function import hard_cost
from labelwise.policies.subset import set_log_prob

MOST_BATCHES = 20_000


class Enumeration(AbstractEstimator):
    """∇ Σ_S π(S) H(S) over all batches S: without noise where H is exact.

    Its roll-outs are all the same; where H is sampled, each has another draw of every cost.
    """

    def prepare(self, key, problem) -> Rollouts:
        size, k = problem.pool.size, problem.k
        if comb(size, k) > MOST_BATCHES:
            raise InvalidInput(
                f"{size} rows have {comb(size, k):,} batches of {k}",
                f"enumerate {MOST_BATCHES:,} at most: take a smaller pool or batch",
                where="pool",
            )
        batches = jnp.asarray(np.array(list(combinations(range(size), k))))
        cost = hard_cost(key, problem)

        def one(key, logits):
            keys = jax.random.split(key, len(batches))
            costs = jax.lax.map(lambda pair: cost(*pair), (keys, batches))
            mean = lambda logits: (
                costs @ jnp.exp(jax.vmap(set_log_prob, (None, 0))(logits, batches))
            )
            return jax.grad(mean)(logits)

        return lambda key, logits, count: jax.vmap(one, (0, None))(
            jax.random.split(key, count), logits
        )
