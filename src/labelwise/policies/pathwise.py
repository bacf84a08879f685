"""Pathwise gradients: through a soft batch, or a hard one that passes for soft.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 5.
[2] Metz, Freeman, Schoenholz, Kachman (2021), Gradients are not all you need.
[3] Bengio, Léonard, Courville (2013), Estimating or propagating gradients through stochastic
    neurons for conditional computation.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from labelwise.errors import InvalidInput
from labelwise.lookahead.objective import soft_objective
from labelwise.lookahead.relaxation import EVEN, RELAXATIONS, Relaxation
from labelwise.lookahead.soft import with_heaviest
from labelwise.policies.estimator import AbstractEstimator, GradientProblem, Rollouts, unit
from labelwise.policies.subset import hard_batch, soft_batch


class Pathwise(AbstractEstimator):
    """Gradients through the soft batch and the weighted posterior update. [1]

    Unbiased for the smoothed objective, but for rows left out of a sparse update, and for
    networks, whose roll-outs' directions are averaged; not for that of whole batches. At high
    temperatures the weight is spread over the pool and every roll-out conditions on all
    rows, 2,048 at most: slow, and on larger pools the lightest rows are left out.
    Weights above 1, as of rows that compete closely, are clipped at 1: seen is seen.
    """

    temperature: float = eqx.field(default=0.1, static=True)
    relaxation: Relaxation = eqx.field(default=EVEN, static=True)
    sparse: bool = eqx.field(default=True, static=True)  # condition on the heaviest rows only
    # Take the directions of the roll-outs' gradients, and not the gradients: where the
    # belief learns by steps these are wild, and one in a hundred outweighs all others [2].
    # None: for beliefs that learn by steps.
    directions: bool | None = eqx.field(default=None, static=True)

    def __check_init__(self):
        self.check()

    def check(self) -> None:
        """Refuse options that mean nothing."""
        check_temperature(self.temperature)
        check_relaxation(self.relaxation)

    def prepare(self, key, problem) -> Rollouts:
        cost = soft_cost(key, problem, self.relaxation, self.sparse)
        trained = problem.belief.is_trained
        directions = trained if self.directions is None else self.directions
        soft = lambda key, logits: soft_batch(key, logits, problem.k, self.temperature)
        batch = lambda key, logits: jnp.minimum(soft(key, logits), 1.0)
        return along(batch, cost, directions)


class StraightThrough(AbstractEstimator):
    """The cost's slope at the hard batch, carried to the logits as if that were soft. [3]

    Only "precision" has slopes at weight 0 that are neither zero nor without bound.
    """

    temperature: float = eqx.field(default=0.5, static=True)

    def __check_init__(self):
        check_temperature(self.temperature)

    def prepare(self, key, problem) -> Rollouts:
        cost = soft_cost(key, problem, "precision", sparse=False)

        def batch(key, logits):
            soft = soft_batch(key, logits, problem.k, self.temperature)
            rows = hard_batch(key, logits, problem.k)
            hard = jnp.zeros_like(soft).at[rows].set(1.0)
            return hard + (soft - jax.lax.stop_gradient(soft))

        return along(batch, cost, False)


def soft_cost(key, problem: GradientProblem, relaxation: Relaxation, sparse: bool):
    """Variance after a soft batch, exact or one roll-out's, and the batch's price."""
    belief, estimand, pool = problem.belief, problem.estimand, problem.pool
    candidates, draws = problem.candidates, problem.draws
    variance = soft_objective(key, belief, estimand, pool, problem.objective, draws, relaxation)

    def of_weights(key, weight):
        left = with_heaviest(lambda some: variance(key, some), weight, problem.k, sparse)
        price, each = candidates.spending.price, candidates.cost
        return left if price is None or each is None else left + price * weight @ each

    return of_weights


def check_temperature(temperature: float) -> None:
    if not temperature > 0.0:
        raise InvalidInput.must("temperature", "be positive", f"it is {temperature}")


def check_relaxation(relaxation: str) -> None:
    if relaxation not in RELAXATIONS:
        *most, last = RELAXATIONS
        rule = f"be {', '.join(most)} or {last}"
        raise InvalidInput.must("relaxation", rule, f"it is {relaxation!r}")


def along(batch, cost, directions: bool) -> Rollouts:
    """Gradients of the cost along the noise of a batch, one a roll-out."""

    def rollouts(key, logits, count):
        def one(key):
            batch_key, cost_key = jax.random.split(key)
            slope = jax.grad(lambda logits: cost(cost_key, batch(batch_key, logits)))(logits)
            return unit(slope) if directions else slope

        # A loop, not vmap: the choice between sparse and full update must stay a branch.
        return jax.lax.map(one, jax.random.split(key, count))

    return rollouts
