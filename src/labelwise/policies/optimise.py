"""What the policy-gradient planners share: how logits are improved and a batch taken.

Adam on free logits that start at log(1/n), the same number of steps in every round. [1]

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, appendix B.
"""

import abc
from collections.abc import Callable
from typing import get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from labelwise.errors import InvalidInput
from labelwise.estimands.combine import parts_of
from labelwise.estimands.moments import as_quadratic, check_gaussian
from labelwise.lookahead.objective import Objective
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.constraints import Candidates
from labelwise.policies.estimator import AbstractEstimator, GradientProblem, mean_gradient
from labelwise.policies.sampling import draw_batch, mask_logits, take_top
from labelwise.types import Batch

Gradient = Callable[[PRNGKeyArray, Float[Array, " pool"]], Float[Array, " pool"]]


class Training(eqx.Module):
    """How logits are improved and the batch taken; the defaults are the paper's.

    The objective is in closed form where there is one ("auto"), always ("exact"), or by the
    paper's roll-outs ("sampled").
    """

    objective: Objective = eqx.field(default="auto", static=True)
    rollouts: int = eqx.field(default=10, static=True)  # N, a step
    steps: int = eqx.field(default=100, static=True)
    learning_rate: float = eqx.field(default=0.1, static=True)
    draws: int = eqx.field(default=100, static=True)  # of the function, to take a variance
    floor: float | None = eqx.field(default=None, static=True)  # None: top k; else drawn

    def __check_init__(self):
        if self.objective not in get_args(Objective):
            raise InvalidInput.must(
                "objective", "be auto, exact or sampled", f"it is {self.objective!r}"
            )
        for name, least in (("rollouts", 1), ("steps", 0), ("draws", 2)):
            if getattr(self, name) < least:
                raise InvalidInput.must(
                    name, f"be at least {least}", f"it is {getattr(self, name)}"
                )
        if not self.learning_rate > 0.0:
            raise InvalidInput.must(
                "learning_rate", "be positive", f"it is {self.learning_rate}"
            )
        if self.floor is not None and not 0.0 <= self.floor <= 1.0:
            raise InvalidInput.must("floor", "lie between 0 and 1", f"it is {self.floor}")

    def check(self, belief, estimand):
        """The exact objective needs closed forms; the others take what there is."""
        if self.objective == "exact":
            if not belief.is_gaussian:
                check_gaussian(belief)  # which says so
            for part in parts_of(estimand):
                as_quadratic(part)

    def run(
        self, key: PRNGKeyArray, gradient: Gradient, candidates: Candidates, k: int
    ) -> Batch:
        """Improve the logits, then take the top k or draw."""
        train_key, draw_key = jax.random.split(key)
        logits = self.improve(train_key, gradient, candidates.available)
        if self.floor is None:
            return take_top(logits, k, candidates)
        return draw_batch(draw_key, logits, k, candidates, self.floor)

    def improve(
        self, key: PRNGKeyArray, gradient: Gradient, available: Bool[Array, " pool"]
    ) -> Float[Array, " pool"]:
        """Logits after all steps of Adam; rows that are not available stay excluded."""
        import optax  # slow to load, and few policies need it

        adam = optax.adam(self.learning_rate)
        start = jnp.full(available.shape, -jnp.log(available.shape[0]))

        def step(state, key):
            logits, moments = state
            slope = gradient(key, mask_logits(logits, available))
            updates, moments = adam.update(jnp.where(available, slope, 0.0), moments)
            return (logits + jnp.asarray(updates), moments), None

        keys = jax.random.split(key, self.steps)
        (logits, _), _ = jax.lax.scan(step, (start, adam.init(start)), keys)
        return mask_logits(logits, available)


class AbstractGradientPlanner(AbstractPolicy):
    """Adam on the logits along some estimate of the policy gradient."""

    training: eqx.AbstractVar[Training]

    @property
    @abc.abstractmethod
    def estimator(self) -> AbstractEstimator:
        """Of the gradient to follow."""

    def check(self, belief, estimand):
        self.training.check(belief, estimand)

    def choose(self, key, belief, estimand, pool, k, spending):
        training, candidates = self.training, Candidates.of(pool, spending)
        problem = GradientProblem(
            belief, estimand, pool, candidates, k, training.objective, training.draws
        )
        rollouts = self.estimator.prepare(key, problem)
        gradient = lambda key, logits: mean_gradient(rollouts, key, logits, training.rollouts)
        return training.run(key, gradient, candidates, k)
