"""REINFORCE: score-function gradients of the variance that a drawn batch leaves.

Hard batches are drawn from the logits, each is scored by the variance of the estimand after
it, and logits move towards batches that score better than the others.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 5.
[2] Kool, van Hoof, Welling (2019), Buy 4 REINFORCE samples, get a baseline for free.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp

from labelwise.errors import InvalidInput
from labelwise.lookahead.objective import hard_objective
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.constraints import Candidates
from labelwise.policies.optimise import Training
from labelwise.policies.subset import hard_batch, sequence_log_prob, set_log_prob


class Reinforce(AbstractPolicy):
    """Score-function gradients: mean of (variance - baseline) ∇ log π(batch). [1, 2]

    The baseline of a roll-out is the mean of the others. `log_prob` is that of the set (as
    the paper defines π) or of the sequence drawn; both are unbiased, the set's varies less.

    Pending labels count by the certainty that they will bring: planning is for the variance
    around the present mean, given them. That they will also move the mean is left out.
    """

    training: Training = Training()
    baseline: bool = eqx.field(default=True, static=True)
    log_prob: Literal["set", "sequence"] = eqx.field(default="set", static=True)

    def __check_init__(self):
        if self.baseline and self.training.rollouts < 2:
            raise InvalidInput(
                "A leave-one-out baseline needs rollouts of at least 2",
                f"it is {self.training.rollouts}: raise it, or set baseline=False",
                where="rollouts",
            )
        if self.log_prob not in ("set", "sequence"):
            raise InvalidInput.must(
                "log_prob", "be set or sequence", f"it is {self.log_prob!r}"
            )

    def check(self, belief, estimand):
        self.training.check(belief, estimand)

    def choose(self, key, belief, estimand, pool, k, spending):
        candidates = Candidates.of(pool, spending)
        cost = self.cost(key, belief, estimand, pool, candidates)
        gradient = lambda key, logits: self.gradient(key, logits, k, cost)
        return self.training.run(key, gradient, candidates, k)

    def gradient(self, key, logits, k, cost):
        """One estimate of the gradient of E[cost(batch)] in the logits."""
        batch_key, cost_key = jax.random.split(key)
        split = lambda key: jax.random.split(key, self.training.rollouts)
        batches = jax.vmap(lambda key: hard_batch(key, logits, k))(split(batch_key))
        costs = jax.lax.map(lambda pair: cost(*pair), (split(cost_key), batches))
        advantage = costs
        if self.baseline:
            others = (costs.sum() - costs) / (self.training.rollouts - 1)
            advantage = costs - others
        log_prob = set_log_prob if self.log_prob == "set" else sequence_log_prob
        surrogate = lambda logits: jnp.mean(
            advantage * jax.vmap(log_prob, in_axes=(None, 0))(logits, batches)
        )
        return jax.grad(surrogate)(logits)

    def cost(self, key, belief, estimand, pool, candidates):
        """Variance after a hard batch, exact or one roll-out's, and the batch's price."""
        training = self.training
        variance = hard_objective(
            key, belief, estimand, pool, training.objective, training.draws
        )
        everything = lambda rows: jnp.ones(rows.shape[0], bool)
        return lambda key, rows: (
            variance(key, rows) + candidates.price_of(rows, everything(rows))
        )
