"""What a policy is: from a belief, an estimand and a pool to the next batch."""

import abc
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from labelwise.beliefs.base import AbstractBelief
from labelwise.errors import InvalidInput, NumericalError
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.moments import check_features_match
from labelwise.inputs import as_count, as_jax, as_key, check_is, is_traced
from labelwise.policies import draw as drawing
from labelwise.policies.constraints import Spending
from labelwise.policies.draw import Draw
from labelwise.programs import program
from labelwise.runtime import single_threaded
from labelwise.types import Batch, Pool


class AbstractPolicy(eqx.Module):
    """Chooses `k` available rows of the pool. The same key gives the same batch."""

    @abc.abstractmethod
    def check(self, belief: AbstractBelief, estimand: AbstractEstimand) -> None:
        """Refuse a belief or estimand this policy cannot plan for."""

    @abc.abstractmethod
    def choose(
        self,
        key: PRNGKeyArray,
        belief: AbstractBelief,
        estimand: AbstractEstimand,
        pool: Pool,
        k: int,
        spending: Spending,
    ) -> Batch:
        """Choose; traced by `propose`, with everything checked. Row -1 is an empty place."""

    def _where_certain(self) -> "AbstractPolicy":
        """To a belief that is sure of everything all rows are alike: chance takes some."""
        from labelwise.policies.baselines import Random  # which is a policy itself

        return Random()

    @single_threaded
    def propose(
        self,
        key: Any,
        belief: Any,
        estimand: Any,
        pool: Any,
        k: Any,
        spending: Spending | None = None,
        draw: Draw | None = None,
    ) -> Batch:
        """The next batch. Compiled once for each shape of its arguments.

        Where rows have costs, `spending` may limit those of the batch, or price them: the
        batch then holds at most k rows, as many as are paid for and worth it. Where chance
        decides on treatments, the batch says what it decided. With `draw`, chance chooses the
        rows and the batch says how likely each was. A belief that is sure of everything, such
        as a single network, has nothing to plan by: rows are then drawn at random.
        """
        check_is("pool", pool, Pool)
        check_is("estimand", estimand, AbstractEstimand)
        check_is("belief", belief, AbstractBelief)
        key, k = as_key(key), as_count("k", k)
        spending = Spending() if spending is None else spending
        pool.check_can_give(k)
        _check_spending(pool, spending)
        check_features_match(pool.x, estimand)
        self.check(belief, estimand)
        if draw is not None:
            draw.check(pool)
        policy = self._where_certain() if belief.certain else self
        own = None
        if draw is None or draw.by != "scores":
            own = _choose(policy, key, belief, estimand, pool, k, spending)
        batch = own if draw is None else drawing.draw(key, draw, own, pool, k, spending)
        assert batch is not None
        return _checked(key, batch, pool)


@program
def _choose(
    policy: AbstractPolicy,
    key: PRNGKeyArray,
    belief: AbstractBelief,
    estimand: AbstractEstimand,
    pool: Pool,
    k: int,
    spending: Spending,
) -> Batch:
    return policy.choose(key, belief, estimand, pool, k, spending)


def _check_spending(pool: Pool, spending: Spending) -> None:
    limit = spending.limit
    if not spending.counts:
        return
    if pool.cost is None:
        raise InvalidInput(
            "Spending needs the cost of each row", "give the pool's cost", where="pool cost"
        )
    if limit is None or is_traced(pool, limit):
        return
    cheapest = np.min(np.asarray(pool.cost)[np.asarray(pool.available)], initial=np.inf)
    if limit < cheapest:
        raise InvalidInput(
            f"A limit of {float(limit):g} pays for no row: the cheapest costs {cheapest:g}",
            "raise the limit",
            where="limit",
        )


def _checked(key: PRNGKeyArray, batch: Batch, pool: Pool) -> Batch:
    """The batch without empty places, with treatments; an error where arithmetic broke down."""
    if is_traced(batch):
        return batch
    places = np.asarray(batch.indices)
    filled = places >= 0
    rows, available = places[filled], np.asarray(pool.available)
    finite = np.isfinite(batch.scores)[available].all() and np.isfinite(batch.logits).all()
    if not (finite and available[rows].all() and len(np.unique(rows)) == len(rows)):
        raise NumericalError(
            "Planning broke down: scores are not finite",
            "bring features and labels to ordinary scales and check the belief's variance "
            "and noise",
            where="belief",
        )
    if not len(rows):
        raise InvalidInput(
            "No row is worth its price",
            "lower the price, or stop: labels cost more than they teach",
            where="price",
        )
    keep = lambda column: as_jax(np.asarray(column)[filled])
    return Batch(
        indices=keep(batch.indices),
        probabilities=keep(batch.probabilities),
        scores=batch.scores,
        logits=batch.logits,
        treatment=_assign(key, pool, rows),
        drawn=keep(batch.drawn),
    )


def _assign(key: PRNGKeyArray, pool: Pool, rows: np.ndarray) -> Float[Array, " k"] | None:
    """Treat each chosen unit with its chance."""
    if pool.assignment is None:
        return None
    draw_key = jax.random.fold_in(key, 1)
    return jax.random.bernoulli(draw_key, pool.assignment.chance[rows]).astype(float)
