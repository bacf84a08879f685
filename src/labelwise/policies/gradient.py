"""The two policy-gradient planners: REINFORCE and Smoothed-Autodiff.

Both improve free logits over the pool so that a batch drawn from them leaves the estimand
with little variance, and then take the top k. REINFORCE draws hard batches and weighs their
scores; Smoothed-Autodiff relaxes the draw and differentiates through the posterior update.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 5.
[2] Kool, van Hoof, Welling (2019), Buy 4 REINFORCE samples, get a baseline for free.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp

from labelwise.errors import InvalidInput
from labelwise.estimands.moments import as_quadratic, check_gaussian, exact_moments
from labelwise.lookahead.gain import batch_gain
from labelwise.lookahead.outlook import look, look_at_variance
from labelwise.lookahead.soft import (
    Heaviest,
    TargetDraws,
    sampled_variance,
    soft_variance,
    with_heaviest,
)
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.optimise import improve_logits
from labelwise.policies.selection import draw_batch, take_top
from labelwise.policies.subset import (
    hard_batch,
    sequence_log_prob,
    set_log_prob,
    soft_batch,
)

Objective = Literal["exact", "sampled"]


class Training(eqx.Module):
    """How logits are improved and the batch taken; the defaults are the paper's."""

    objective: Objective = eqx.field(default="sampled", static=True)
    rollouts: int = eqx.field(default=10, static=True)  # N, a step
    steps: int = eqx.field(default=100, static=True)
    learning_rate: float = eqx.field(default=0.1, static=True)
    draws: int = eqx.field(default=100, static=True)  # of the function, to take a variance
    floor: float | None = eqx.field(default=None, static=True)  # None: top k; else drawn

    def __check_init__(self):
        if self.objective not in ("exact", "sampled"):
            raise InvalidInput(f"objective must be exact or sampled; it is {self.objective!r}.")
        for name, least in (("rollouts", 1), ("steps", 0), ("draws", 2)):
            if getattr(self, name) < least:
                raise InvalidInput(
                    f"{name} must be at least {least}; it is {getattr(self, name)}."
                )
        if self.learning_rate <= 0.0:
            raise InvalidInput(f"learning_rate must be positive; it is {self.learning_rate}.")
        if self.floor is not None and not 0.0 <= self.floor <= 1.0:
            raise InvalidInput(f"floor must lie between 0 and 1; it is {self.floor}.")

    def check(self, belief, estimand):
        """The exact objective needs closed forms; the sampled one needs joint draws."""
        check_gaussian(belief)
        if self.objective == "exact":
            as_quadratic(estimand)

    def run(self, key, gradient, pool, k):
        """Improve the logits, then take the top k or draw."""
        train_key, draw_key = jax.random.split(key)
        logits = improve_logits(
            train_key, gradient, pool.available, self.steps, self.learning_rate
        )
        if self.floor is None:
            return take_top(logits, k)
        return draw_batch(draw_key, logits, k, self.floor)


class Reinforce(AbstractPolicy):
    """Score-function gradients: mean of (variance - baseline) ∇ log π(batch). [1, 2]

    The baseline of a roll-out is the mean of the others. `log_prob` is that of the set (as
    the paper defines π) or of the sequence drawn; both are unbiased, the set's varies less.
    """

    training: Training = Training()
    baseline: bool = eqx.field(default=True, static=True)
    log_prob: Literal["set", "sequence"] = eqx.field(default="set", static=True)

    def __check_init__(self):
        if self.baseline and self.training.rollouts < 2:
            raise InvalidInput(
                "A leave-one-out baseline needs rollouts of at least 2; "
                f"it is {self.training.rollouts}: raise it, or set baseline=False."
            )
        if self.log_prob not in ("set", "sequence"):
            raise InvalidInput(f"log_prob must be set or sequence; it is {self.log_prob!r}.")

    def check(self, belief, estimand):
        self.training.check(belief, estimand)

    def choose(self, key, belief, estimand, pool, k):
        cost = self._cost(belief, estimand, pool)
        return self.training.run(
            key, lambda key, logits: self.gradient(key, logits, k, cost), pool, k
        )

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

    def _cost(self, belief, estimand, pool):
        """Variance after a hard batch: exact, or one roll-out's."""
        if self.training.objective == "exact":
            outlook = look(belief, estimand, pool.x)
            now = exact_moments(belief, estimand).variance
            return lambda key, rows: now - batch_gain(outlook, rows)
        outlook = look_at_variance(belief, estimand, pool.x)
        target = TargetDraws.prepare(outlook, estimand)
        whole = lambda rows: Heaviest(rows, jnp.ones(rows.shape[0]))
        return lambda key, rows: sampled_variance(
            key, outlook, whole(rows), estimand, target, self.training.draws
        )


class SmoothedAutodiff(AbstractPolicy):
    """Pathwise gradients through the soft batch and the weighted posterior update. [1]

    Weights above 1, which high temperatures bring, are clipped at 1: seen is seen.
    """

    training: Training = Training()
    temperature: float = eqx.field(default=0.1, static=True)
    sparse: bool = eqx.field(default=True, static=True)  # condition on the heaviest rows only

    def __check_init__(self):
        if self.temperature <= 0.0:
            raise InvalidInput(f"temperature must be positive; it is {self.temperature}.")

    def check(self, belief, estimand):
        self.training.check(belief, estimand)

    def choose(self, key, belief, estimand, pool, k):
        cost = self.cost(belief, estimand, pool, k)
        return self.training.run(
            key, lambda key, logits: self.gradient(key, logits, k, cost), pool, k
        )

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
        if self.training.objective == "exact":
            outlook = look(belief, estimand, pool.x)
            covariance = belief.covariance(estimand.x)
            after = lambda key: lambda some: soft_variance(outlook, some, covariance)
        else:
            outlook = look_at_variance(belief, estimand, pool.x)
            target = TargetDraws.prepare(outlook, estimand)
            after = lambda key: (
                lambda some: sampled_variance(
                    key, outlook, some, estimand, target, self.training.draws
                )
            )
        return lambda key, weight: with_heaviest(
            after(key), jnp.minimum(weight, 1.0), k, self.sparse
        )
