"""What a policy is: from a belief, an estimand and a pool to the next batch."""

import abc
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import PRNGKeyArray

from labelwise.beliefs.base import AbstractGaussianBelief
from labelwise.errors import NumericalError
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.moments import check_features_match
from labelwise.inputs import as_count, as_key, check_is, is_traced
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
        key: Any,
        belief: Any,
        estimand: Any,
        pool: Any,
        k: Any,
    ) -> Batch:
        """The next batch. Compiled once for each shape of its arguments."""
        check_is("pool", pool, Pool)
        check_is("estimand", estimand, AbstractEstimand)
        key, k = as_key(key), as_count("k", k)
        pool.check_can_give(k)
        check_features_match(pool.x, estimand)
        self.check(belief, estimand)
        batch = _choose(self, key, belief, estimand, pool, k)
        _check_lawful(batch, pool)
        return batch


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


def _check_lawful(batch: Batch, pool: Pool) -> None:
    """Where arithmetic broke down, no batch is better than a wrong one."""
    if is_traced(batch):
        return
    rows, available = np.asarray(batch.indices), np.asarray(pool.available)
    finite = np.isfinite(batch.scores)[available].all() and np.isfinite(batch.logits).all()
    if not (finite and available[rows].all() and len(np.unique(rows)) == len(rows)):
        raise NumericalError(
            "Planning broke down: scores are not finite; bring features and labels to ordinary "
            "scales and check the belief's variance and noise."
        )
