"""Smoothed-Autodiff: pathwise gradients through a soft batch and a soft posterior update.

The draw of a batch is relaxed to weights, the belief is conditioned on weighted labels, and
the variance of the estimand is differentiated through both.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 5.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from labelwise.errors import InvalidInput
from labelwise.lookahead.outlook import look, look_at_variance
from labelwise.lookahead.pending import expect_pending
from labelwise.lookahead.rollout import TargetDraws, sampled_variance
from labelwise.lookahead.soft import soft_variance, with_heaviest
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.subset import soft_batch
from labelwise.policies.training import Training


class SmoothedAutodiff(AbstractPolicy):
    """Pathwise gradients through the soft batch and the weighted posterior update. [1]

    At high temperatures the weight is spread over the pool and every step conditions on all
    rows, 2,048 at most: slow, and on larger pools the lightest rows are left out.
    Weights above 1, as of rows that compete closely, are clipped at 1: seen is seen.

    Pending labels count by the certainty that they will bring: planning is for the variance
    around the present mean, given them. That they will also move the mean is left out.
    """

    training: Training = Training()
    temperature: float = eqx.field(default=0.1, static=True)
    sparse: bool = eqx.field(default=True, static=True)  # condition on the heaviest rows only
    centred: bool = eqx.field(default=True, static=True)  # False: Algorithm 3 to the letter

    def __check_init__(self):
        if not self.temperature > 0.0:
            raise InvalidInput(f"temperature must be positive; it is {self.temperature}.")

    def check(self, belief, estimand):
        self.training.check(belief, estimand)

    def choose(self, key, belief, estimand, pool, k):
        cost = self.cost(expect_pending(belief, pool), estimand, pool, k)
        gradient = lambda key, logits: self.gradient(key, logits, k, cost)
        return self.training.run(key, gradient, pool, k)

    def gradient(self, key, logits, k, cost):
        """One estimate of the gradient of the smoothed objective in the logits."""

        def one(key):
            batch_key, cost_key = jax.random.split(key)
            soft = lambda logits: cost(
                cost_key, soft_batch(batch_key, logits, k, self.temperature)
            )
            return jax.grad(soft)(logits)

        # A loop, not vmap: the choice between sparse and full update must stay a branch.
        return jax.lax.map(one, jax.random.split(key, self.training.rollouts)).mean(axis=0)

    def cost(self, belief, estimand, pool, k):
        """Variance after a soft batch: exact, or one roll-out's."""
        after = self._exact if self.training.objective == "exact" else self._sampled
        variance = after(belief, estimand, pool)
        return lambda key, weight: with_heaviest(
            lambda some: variance(key, some), jnp.minimum(weight, 1.0), k, self.sparse
        )

    def _exact(self, belief, estimand, pool):
        outlook = look(belief, estimand, pool.x)
        covariance = belief.covariance(estimand.x)
        return lambda key, some: soft_variance(outlook, some, covariance, self.centred)

    def _sampled(self, belief, estimand, pool):
        outlook = look_at_variance(belief, estimand, pool.x)
        target, draws = TargetDraws.prepare(outlook, estimand), self.training.draws
        return lambda key, some: sampled_variance(
            key, outlook, some, estimand, target, draws, self.centred
        )
