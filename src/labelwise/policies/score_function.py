"""Score-function gradients: costs of drawn batches times the slope of their log-probability.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 5.
[2] Kool, van Hoof, Welling (2019), Buy 4 REINFORCE samples, get a baseline for free.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp

from labelwise.errors import InvalidInput
from labelwise.lookahead.objective import hard_objective, is_exact
from labelwise.policies.estimator import (
    AbstractEstimator,
    GradientProblem,
    Rollouts,
)
from labelwise.policies.subset import hard_batch, sequence_log_prob, set_log_prob

LogProb = Literal["set", "sequence"]
# Roll-outs at once. With several thousand small factorisations in one batch XLA has been seen
# to wait for itself forever on two cores.
AT_ONCE = 500


class ScoreFunction(AbstractEstimator):
    """Each roll-out's (cost - baseline) ∇ log π(batch). [1, 2]

    The baseline of a roll-out is the mean cost of the others. The log-probability is that of
    the set (as the paper defines π) or of the sequence drawn; both are unbiased, the set's
    varies less.
    """

    baseline: bool = eqx.field(default=True, static=True)
    log_prob: LogProb = eqx.field(default="set", static=True)

    def __check_init__(self):
        if self.log_prob not in ("set", "sequence"):
            raise InvalidInput.must(
                "log_prob", "be set or sequence", f"it is {self.log_prob!r}"
            )

    def check_rollouts(self, count: int) -> None:
        """A baseline is the mean of the others: there must be some."""
        if self.baseline and count < 2:
            raise InvalidInput(
                "A leave-one-out baseline needs rollouts of at least 2",
                f"it is {count}: raise it, or set baseline=False",
                where="rollouts",
            )

    def prepare(self, key, problem) -> Rollouts:
        cost = hard_cost(key, problem)
        log_prob = set_log_prob if self.log_prob == "set" else sequence_log_prob
        exact = is_exact(problem.belief, problem.estimand, problem.objective)
        at_once = AT_ONCE if exact else None  # roll-outs of others have branches

        def rollouts(key, logits, count):
            self.check_rollouts(count)
            batch_keys, cost_keys = jnp.split(jax.random.split(key, 2 * count), 2)
            draw = lambda key: hard_batch(key, logits, problem.k)
            batches = jax.vmap(draw)(batch_keys)
            pairs = cost_keys, batches
            costs = jax.lax.map(lambda pair: cost(*pair), pairs, batch_size=at_once)
            if self.baseline:
                others = (costs.sum() - costs) / (count - 1)
                costs = costs - others
            slope = lambda rows: jax.grad(log_prob)(logits, rows)
            return costs[:, None] * jax.lax.map(slope, batches, batch_size=AT_ONCE)

        return rollouts


def hard_cost(key, problem: GradientProblem):
    """Variance after a hard batch, exact or one roll-out's, and the batch's price."""
    belief, estimand, pool = problem.belief, problem.estimand, problem.pool
    variance = hard_objective(key, belief, estimand, pool, problem.objective, problem.draws)
    everything = jnp.ones(problem.k, bool)
    price = problem.candidates.price_of
    return lambda key, rows: variance(key, rows) + price(rows, everything)
