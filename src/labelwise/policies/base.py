"""What a policy is: from a belief, an estimand and a pool to the next batch."""

import abc

import equinox as eqx
from jaxtyping import PRNGKeyArray

from labelwise.beliefs.base import AbstractGaussianBelief
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.moments import check_features_match
from labelwise.types import Batch, Pool


class AbstractPolicy(eqx.Module):
    """Chooses `k` available rows of the pool. The same key gives the same batch."""

    @abc.abstractmethod
    def check(self, belief: AbstractGaussianBelief, estimand: AbstractEstimand) -> None:
        """Refuse a belief or estimand this policy cannot plan for."""

    @abc.abstractmethod
    def choose(
        self,
        key: PRNGKeyArray,
        belief: AbstractGaussianBelief,
        estimand: AbstractEstimand,
        pool: Pool,
        k: int,
    ) -> Batch:
        """Choose; traced by `propose`, with everything checked."""

    def propose(
        self,
        key: PRNGKeyArray,
        belief: AbstractGaussianBelief,
        estimand: AbstractEstimand,
        pool: Pool,
        k: int,
    ) -> Batch:
        """The next batch. Compiled once for each shape of its arguments."""
        pool.check_can_give(k)
        check_features_match(pool.x, estimand)
        self.check(belief, estimand)
        return _choose(self, key, belief, estimand, pool, k)


@eqx.filter_jit
def _choose(
    policy: AbstractPolicy,
    key: PRNGKeyArray,
    belief: AbstractGaussianBelief,
    estimand: AbstractEstimand,
    pool: Pool,
    k: int,
) -> Batch:
    return policy.choose(key, belief, estimand, pool, k)
