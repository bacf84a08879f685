"""Algorithm 1 against known labels: plan, reveal, update, and measure, round after round.

Labels bought so far are kept in a buffer of fixed size whose unused places have weight 0
(absent), so every round has the same shapes and ten rounds compile once.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, Algorithm 1.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from labelwise.beliefs.base import AbstractBelief
from labelwise.errors import InvalidInput, NumericalError
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.combine import Several
from labelwise.estimands.moments import moments_of
from labelwise.inputs import as_count, as_jax
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.constraints import Spending
from labelwise.policies.registry import make_policy
from labelwise.simulation.play import play as play_rounds
from labelwise.simulation.problem import Problem
from labelwise.types import Batch, Pool

DRAWS = 4000  # of the function, where an estimand has no closed form
Refit = Callable[[np.ndarray, np.ndarray], AbstractBelief]  # a prior, from rows and labels


@dataclass(frozen=True)
class Record:
    """One round, after its labels came in; round 0 is before any was bought."""

    round: int
    chosen: tuple[int, ...]  # pool rows, in the order chosen
    estimate: float  # mean of the estimand under the belief
    variance: float  # of the estimand under the belief
    error: float  # |estimate - truth|
    seconds: float  # spent planning, compilation included


def simulate(
    problem: Problem,
    policy: str | AbstractPolicy,
    rounds: Any,
    batch: Any,
    seed: int,
    *,
    shrinking: bool = True,
    spending: Spending | None = None,
    refit: Refit | None = None,
) -> list[Record]:
    """Run a policy for some rounds and return one record a round, round 0 included.

    `batch` is the number of labels a round, or one number for each round; with `spending`, at
    most so many. With `shrinking` False a bought row stays in the pool and may be bought again,
    as in the authors' code. With `refit` the prior is made anew each round from all rows and
    labels known by then, the initial ones first; without, it is the problem's throughout.
    """
    if isinstance(problem.estimand, Several):
        raise InvalidInput(
            "A simulation measures one estimand", "run it for each of several", where="estimand"
        )
    options = {"shrinking": shrinking, "spending": spending, "refit": refit}
    played = play(problem, policy, rounds, batch, seed, **options)
    return [_record(round_, problem) for round_ in played]


@dataclass(frozen=True)
class RoundResult:
    """One round as it was played, with all that the belief knows afterwards."""

    index: int
    chosen: tuple[int, ...]
    belief: AbstractBelief
    seconds: float


def play(
    problem: Problem,
    policy: str | AbstractPolicy,
    rounds: Any,
    batch: Any,
    seed: int,
    **options,
) -> Iterator[RoundResult]:
    """The same with the options of `simulate`, round by round as they end: what the belief
    knows after each, for figures that records do not hold."""
    rules = _Rules(make_policy(policy), seed, **options)
    sizes = _batch_sizes(problem, rounds, batch, rules.shrinking)
    start = _Trial.of(problem, rules, sum(sizes))
    reveal = lambda asked: problem.reveal(asked.batch)
    for trial, asked in play_rounds(start, reveal, sizes):
        chosen = () if asked is None else asked.chosen
        yield RoundResult(trial.index, chosen, trial.belief, asked.seconds if asked else 0.0)


class _Rules(NamedTuple):
    """What stays the same over the rounds."""

    policy: AbstractPolicy
    seed: int
    shrinking: bool = True
    spending: Spending | None = None
    refit: Refit | None = None


class _Asked(NamedTuple):
    """A batch, and how long it took to plan."""

    batch: Batch
    seconds: float

    @property
    def chosen(self) -> tuple[int, ...]:
        return tuple(int(row) for row in np.asarray(self.batch.indices))


@dataclass(frozen=True)
class _Trial:
    """A policy on a problem, after some rounds."""

    problem: Problem
    rules: _Rules
    start: AbstractBelief  # given the initial labels
    bought: "_Bought"
    pool: Pool
    belief: AbstractBelief  # given all labels
    index: int = 0  # rounds played

    @staticmethod
    def of(problem: Problem, rules: _Rules, places: int) -> "_Trial":
        """Before the first round, with places for the labels to come."""
        bought = _Bought.nothing(problem, places)
        start = problem.belief if rules.refit is None else _refit(problem, rules.refit, bought)
        return _Trial(problem, rules, start, bought, problem.pool, _update(start, bought))

    def ask(self, n: int) -> _Asked:
        """The policy's next batch."""
        key = jax.random.fold_in(jax.random.key(self.rules.seed), self.index)
        began, estimand = time.perf_counter(), self.problem.estimand
        policy, spending = self.rules.policy, self.rules.spending
        batch = policy.propose(key, self.belief, estimand, self.pool, n, spending)
        np.asarray(batch.indices)  # planning ends when the rows are there
        return _Asked(batch, time.perf_counter() - began)

    def tell(self, round_: _Asked, labels: tuple[Array, Array]) -> "_Trial":
        """What is known once the batch's rows, as treated, and their labels have come."""
        rules, bought = self.rules, self.bought.with_labels(*labels)
        start = self.start if rules.refit is None else _refit(self.problem, rules.refit, bought)
        rows = np.asarray(round_.batch.indices)
        return replace(
            self,
            start=start,
            bought=bought,
            pool=self.pool.without(rows) if rules.shrinking else self.pool,
            belief=_update(start, bought),
            index=self.index + 1,
        )


class _Bought(eqx.Module):
    """Labels bought so far, in a buffer whose unused places have weight 0 (absent)."""

    x: Float[Array, "places dim"]
    y: Float[Array, " places"]
    weight: Float[Array, " places"]

    @staticmethod
    def nothing(problem: Problem, places: int) -> "_Bought":
        # Unused places hold a real row and label, so that no belief stumbles over them.
        x = np.repeat(np.asarray(problem.x)[:1], places, axis=0)
        y = np.repeat(np.asarray(problem.y)[:1], places)
        return _Bought(*map(as_jax, (x, y, np.zeros(places))))

    @property
    def count(self) -> int:
        return int(np.asarray(self.weight).sum())

    def with_labels(self, x: Array, y: Array) -> "_Bought":
        # By numpy: places differ from round to round, and each would be compiled.
        place = slice(self.count, self.count + len(y))
        columns = [np.array(column) for column in (self.x, self.y, self.weight)]
        for column, values in zip(columns, (x, y, 1.0), strict=True):
            column[place] = values
        return _Bought(*map(as_jax, columns))


def _refit(problem: Problem, refit: Refit, bought: _Bought) -> AbstractBelief:
    """The belief given the initial labels, its prior from the rows bought as well."""
    x = np.concatenate([problem.x, bought.x[: bought.count]])
    y = np.concatenate([problem.y, bought.y[: bought.count]])
    return refit(x, y).condition(problem.x, problem.y)


def _update(start, bought: _Bought):
    """The initial belief, given the labels bought."""
    return start if bought.y.shape[0] == 0 else _condition(start, bought)


@eqx.filter_jit
def _condition(start, bought: _Bought):
    return start.condition(bought.x, bought.y, bought.weight)


def _record(played: RoundResult, problem: Problem) -> Record:
    estimate, variance = measure(played, problem.estimand)
    return Record(
        round=played.index,
        chosen=played.chosen,
        estimate=estimate,
        variance=variance,
        error=abs(estimate - float(problem.truth)),
        seconds=played.seconds,
    )


def measure(played: RoundResult, estimand: AbstractEstimand) -> tuple[float, float]:
    """Mean and variance of an estimand after a round."""
    moments = moments_of(jax.random.key(0), played.belief, estimand, DRAWS)
    mean, variance = float(moments.mean), float(moments.variance)
    if not np.isfinite([mean, variance]).all():
        raise NumericalError(
            f"The belief broke down in round {played.index}: labels contradict it to rounding",
            "give it more noise, or drop repeated rows",
            where="belief",
        )
    return mean, variance


def _batch_sizes(problem, rounds, batch, shrinking) -> tuple[int, ...]:
    rounds = as_count("rounds", rounds, least=0)
    each = [batch] * rounds if np.ndim(batch) == 0 else list(batch)
    sizes = tuple(as_count("batch", size) for size in each)
    if len(sizes) != rounds:
        raise InvalidInput(
            f"batch gives {len(sizes)} sizes for {rounds} rounds",
            "give one number, or one a round",
            where="batch",
        )
    left = problem.pool.count_left()
    if shrinking and sum(sizes) > left:
        raise InvalidInput(
            f"{rounds} rounds would buy {sum(sizes)} labels but the pool has {left} available "
            "rows",
            "lower rounds or batch",
            where="batch",
        )
    return sizes
