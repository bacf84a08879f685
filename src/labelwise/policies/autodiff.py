"""Smoothed-Autodiff: pathwise gradients through a soft batch and a soft posterior update.

The draw of a batch is relaxed to weights, the belief is conditioned on weighted labels, and
the variance of the estimand is differentiated through both.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 5.
[2] Metz, Freeman, Schoenholz, Kachman (2021), Gradients are not all you need.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from labelwise.errors import InvalidInput
from labelwise.lookahead.objective import soft_objective
from labelwise.lookahead.soft import with_heaviest
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.constraints import Candidates
from labelwise.policies.optimise import Training
from labelwise.policies.subset import soft_batch


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
    # Average the directions of the roll-outs' gradients, and not the gradients: where the
    # belief learns by steps these are wild, and one in a hundred outweighs all others [2].
    # None: for beliefs that learn by steps.
    directions: bool | None = eqx.field(default=None, static=True)

    def __check_init__(self):
        if not self.temperature > 0.0:
            raise InvalidInput.must("temperature", "be positive", f"it is {self.temperature}")

    def check(self, belief, estimand):
        self.training.check(belief, estimand)

    def choose(self, key, belief, estimand, pool, k, spending):
        candidates = Candidates.of(pool, spending)
        cost = self.cost(key, belief, estimand, pool, candidates, k)
        directions = belief.is_trained if self.directions is None else self.directions
        gradient = lambda key, logits: self.gradient(key, logits, k, cost, directions)
        return self.training.run(key, gradient, candidates, k)

    def gradient(self, key, logits, k, cost, directions=False):
        """One estimate of the gradient of the smoothed objective in the logits."""

        def one(key):
            batch_key, cost_key = jax.random.split(key)
            soft = lambda logits: cost(
                cost_key, soft_batch(batch_key, logits, k, self.temperature)
            )
            slope = jax.grad(soft)(logits)
            return _unit(slope) if directions else slope

        # A loop, not vmap: the choice between sparse and full update must stay a branch.
        return jax.lax.map(one, jax.random.split(key, self.training.rollouts)).mean(axis=0)

    def cost(self, key, belief, estimand, pool, candidates, k):
        """Variance after a soft batch, exact or one roll-out's, and the batch's price."""
        training = self.training
        variance = soft_objective(
            key, belief, estimand, pool, training.objective, training.draws, self.centred
        )

        def of_weights(key, weight):
            weight = jnp.minimum(weight, 1.0)
            left = with_heaviest(lambda some: variance(key, some), weight, k, self.sparse)
            price = candidates.spending.price
            return left if price is None else left + price * weight @ candidates.cost

        return of_weights


def _unit(slope):
    """Its direction; nothing, if there is none, or if the roll-out left the numbers' range."""
    slope = jnp.where(jnp.isfinite(slope).all(), slope, 0.0)
    scale = jnp.maximum(jnp.abs(slope).max(), 1e-300)  # lest squares leave the numbers' range
    return slope / scale / jnp.sqrt(jnp.sum((slope / scale) ** 2) + 1e-30)
