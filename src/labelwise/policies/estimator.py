"""What an estimator of the policy gradient is: from logits to one gradient a roll-out.

The gradient sought is that of E[H(batch)] in the logits, where the batch is drawn from them and
H is the variance that it leaves. Estimators differ in bias and in noise; `rollouts` has
both, since its rows are single roll-outs and their mean is the estimate.
"""

import abc
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from labelwise.beliefs.base import AbstractBelief
from labelwise.estimands.base import AbstractEstimand
from labelwise.lookahead.objective import Objective
from labelwise.policies.constraints import Candidates
from labelwise.types import Pool

# From a key, logits and a number of roll-outs to a gradient of each.
Rollouts = Callable[[PRNGKeyArray, Float[Array, " pool"], int], Float[Array, "rollouts pool"]]


class GradientProblem(eqx.Module):
    """What a gradient is of: the belief and estimand of a round, its pool, and the batch."""

    belief: AbstractBelief
    estimand: AbstractEstimand
    pool: Pool
    candidates: Candidates
    k: int = eqx.field(static=True)
    objective: Objective = eqx.field(default="auto", static=True)
    draws: int = eqx.field(default=100, static=True)  # of the function, to take a variance


class AbstractEstimator(eqx.Module):
    """A way to estimate the policy gradient."""

    @abc.abstractmethod
    def prepare(self, key: PRNGKeyArray, problem: GradientProblem) -> Rollouts:
        """Do what is common to all steps of a round; the rest is the function returned."""


def mean_gradient(
    rollouts: Rollouts, key: PRNGKeyArray, logits: Float[Array, " pool"], count: int
) -> Float[Array, " pool"]:
    """One estimate of the gradient, from `count` roll-outs."""
    return rollouts(key, logits, count).mean(axis=0)


def unit(slope: Float[Array, " pool"]) -> Float[Array, " pool"]:
    """Its direction; nothing, if there is none, or if the roll-out left the numbers' range."""
    slope = jnp.where(jnp.isfinite(slope).all(), slope, 0.0)
    scale = jnp.maximum(jnp.abs(slope).max(), 1e-300)  # lest squares leave the numbers' range
    return slope / scale / jnp.sqrt(jnp.sum((slope / scale) ** 2) + 1e-30)
