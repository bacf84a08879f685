"""What the gradient planners make small: the variance left by a batch, hard or soft.

In closed form where there is one, or if draws are asked for, by the paper's roll-outs; under a
belief that is not Gaussian, by conditioning it on imagined labels and drawing again.
"""

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Scalar

from labelwise.beliefs.base import AbstractBelief, AbstractGaussianBelief
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.combine import Scalarisation, Several, parts_of, scalarisation_of
from labelwise.estimands.moments import exact_moments, has_closed_form, sampled_values
from labelwise.lookahead.gain import batch_gain
from labelwise.lookahead.pending import expect_pending
from labelwise.lookahead.posterior_view import exact_view, variance_view
from labelwise.lookahead.relaxation import EVEN, MATCHED, Relaxation
from labelwise.lookahead.rollout import TargetDraws, conditioned_variance, sampled_variance
from labelwise.lookahead.soft import Heaviest, soft_gain, soft_variance
from labelwise.lookahead.tabulated import MOST_ROWS, GainTable
from labelwise.types import Pool

Objective = Literal["auto", "exact", "sampled"]
Cost = Callable[[PRNGKeyArray, Heaviest], Scalar]

AIM_DRAWS = 500  # to scale several estimands by their present variances


def is_exact(belief: AbstractBelief, estimand: AbstractEstimand, objective: Objective) -> bool:
    """Whether the objective is in closed form, and not by roll-outs."""
    return objective != "sampled" and has_closed_form(belief.heaviest, estimand)


def soft_objective(
    key: PRNGKeyArray,
    belief: AbstractBelief,
    estimand: AbstractEstimand,
    pool: Pool,
    objective: Objective,
    draws: int,
    relaxation: Relaxation,
) -> Cost:
    """The variance expected after a soft batch of pool rows, or one roll-out's."""
    belief = belief.heaviest  # of a mixture: thousands of steps through all would take long
    if objective == "sampled" or not has_closed_form(belief, estimand):
        return _sampled(key, belief, estimand, pool, draws, relaxation)
    known = expect_pending(belief, pool)
    view = exact_view(known, estimand, pool.arms)
    aim = view.parts.aim
    if relaxation in MATCHED and view.size <= MOST_ROWS:
        table, now = GainTable.of(view), _variances_now(known, estimand)
        return _on_arms(
            pool, lambda key, some: aim.total(now - soft_gain(table, some, relaxation))
        )
    covariance = known.covariance(estimand.x)
    return _on_arms(
        pool, lambda key, some: aim.total(soft_variance(view, some, covariance, relaxation))
    )


def hard_objective(
    key: PRNGKeyArray,
    belief: AbstractBelief,
    estimand: AbstractEstimand,
    pool: Pool,
    objective: Objective,
    draws: int,
) -> Callable[[PRNGKeyArray, Int[Array, " k"]], Scalar]:
    """The same after a batch of whole rows."""
    belief = belief.heaviest  # of a mixture: thousands of steps through all would take long
    if not is_exact(belief, estimand, objective):
        cost = _sampled(key, belief, estimand, pool, draws, EVEN)
    else:
        cost = _exact_hard(belief, estimand, pool)
    return lambda key, rows: cost(key, Heaviest(rows, jnp.ones(rows.shape[0])))


def _exact_hard(belief, estimand, pool: Pool) -> Cost:
    known = expect_pending(belief, pool)
    view = exact_view(known, estimand, pool.arms)
    now, aim = _variances_now(known, estimand), view.parts.aim
    gain = lambda rows: batch_gain(view, rows)
    if view.size <= MOST_ROWS:
        table = GainTable.of(view)
        gain = lambda rows: table.gain(rows, jnp.ones(rows.shape[0]), view.noise[rows])
    return _on_arms(pool, lambda key, some: aim.total(now - gain(some.rows)))


def _variances_now(belief: AbstractGaussianBelief, estimand: AbstractEstimand):
    return jnp.stack([exact_moments(belief, part).variance for part in parts_of(estimand)])


def _sampled(key, belief, estimand, pool: Pool, draws: int, relaxation: Relaxation) -> Cost:
    aim = _sampled_aim(key, belief, estimand)
    if not isinstance(belief, AbstractGaussianBelief):
        return _on_arms(
            pool,
            lambda key, some: aim.total(
                conditioned_variance(key, belief, estimand, pool, some, draws)
            ),
        )
    view = variance_view(expect_pending(belief, pool), estimand, pool.arms)
    target = TargetDraws.prepare(view, estimand)
    return _on_arms(
        pool,
        lambda key, some: aim.total(
            sampled_variance(key, view, some, estimand, target, draws, relaxation)
        ),
    )


def _sampled_aim(key, belief, estimand) -> Scalarisation:
    if not isinstance(estimand, Several):
        return scalarisation_of(estimand, jnp.ones(1))
    values = sampled_values(key, belief, estimand, AIM_DRAWS)
    return scalarisation_of(estimand, values.var(axis=0, ddof=1))


def _on_arms(pool: Pool, cost: Cost) -> Cost:
    """Where chance decides on treatments, every roll-out lets it decide."""
    assignment = pool.assignment
    if assignment is None:
        return cost

    def treated(key: PRNGKeyArray, some: Heaviest) -> Scalar:
        arm_key, cost_key = jax.random.split(key)
        uniform: Float[Array, " pool"] = jax.random.uniform(arm_key, (pool.size,))
        arm = (uniform < assignment.chance)[some.rows]
        return cost(cost_key, Heaviest(some.rows + pool.size * arm, some.weight))

    return treated
