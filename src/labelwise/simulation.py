"""Algorithm 1 against known labels: plan, reveal, update, and measure, round after round.

Labels bought so far are kept in a buffer of fixed size whose unused places have weight 0
(absent), so every round has the same shapes and ten rounds compile once.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, Algorithm 1.
"""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from labelwise.datasets.base import Problem
from labelwise.errors import InvalidInput, NumericalError
from labelwise.estimands.moments import as_quadratic, check_gaussian, exact_moments
from labelwise.inputs import as_count
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.registry import make_policy


@dataclass(frozen=True)
class Record:
    """One round, after its labels came in; round 0 is before any was bought."""

    round: int
    chosen: tuple[int, ...]  # pool rows, in the order chosen
    estimate: float  # mean of the estimand under the belief
    variance: float  # of the estimand under the belief
    error: float  # |estimate - truth|
    seconds: float  # spent planning, compilation included

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def simulate(
    problem: Problem,
    policy: str | AbstractPolicy,
    rounds: Any,
    batch: Any,
    seed: int,
    *,
    shrinking: bool = True,
) -> list[Record]:
    """Run a policy for some rounds and return one record a round, round 0 included.

    `batch` is the number of labels a round, or one number for each round. With `shrinking`
    False a bought row stays in the pool and may be bought again, as in the authors' code.
    """
    return list(iterate(problem, policy, rounds, batch, seed, shrinking=shrinking))


def iterate(
    problem: Problem,
    policy: str | AbstractPolicy,
    rounds: Any,
    batch: Any,
    seed: int,
    *,
    shrinking: bool = True,
) -> Iterator[Record]:
    """The same, one record at a time as rounds end: for progress bars and early stops."""
    policy = make_policy(policy)
    sizes = _batch_sizes(problem, rounds, batch, shrinking)
    check_gaussian(problem.prior)
    as_quadratic(problem.estimand)
    return _iterate(problem, policy, sizes, seed, shrinking)


def _iterate(problem, policy, sizes, seed, shrinking) -> Iterator[Record]:
    start = problem.belief
    bought = jnp.zeros(sum(sizes), int)
    belief, pool, count = _update(start, problem, bought, 0), problem.pool, 0
    yield _record(0, (), belief, problem, 0.0)
    for index, size in enumerate(sizes):
        key = jax.random.fold_in(jax.random.key(seed), index)
        began = time.perf_counter()
        chosen = np.asarray(policy.propose(key, belief, problem.estimand, pool, size).indices)
        seconds = time.perf_counter() - began
        bought = bought.at[count : count + size].set(chosen)
        count += size
        if shrinking:
            pool = pool.without(jnp.asarray(chosen))
        belief = _update(start, problem, bought, count)
        yield _record(index + 1, tuple(int(row) for row in chosen), belief, problem, seconds)


@eqx.filter_jit
def _condition_on_bought(start, pool_x, labels, bought, weight):
    return start.condition(pool_x[bought], labels[bought], weight)


def _update(start, problem: Problem, bought, count: int):
    """The initial belief, given the first `count` labels of the buffer."""
    if bought.shape[0] == 0:
        return start
    weight = jnp.asarray(np.arange(bought.shape[0]) < count, float)
    return _condition_on_bought(start, problem.pool.x, problem.labels, bought, weight)


def _record(index, chosen, belief, problem: Problem, seconds: float) -> Record:
    moments = exact_moments(belief, problem.estimand)
    estimate = float(moments.mean)
    if not np.isfinite(estimate) or not np.isfinite(float(moments.variance)):
        raise NumericalError(
            f"The belief broke down in round {index}: labels contradict it to rounding; "
            "give it more noise, or drop repeated rows."
        )
    return Record(
        round=index,
        chosen=chosen,
        estimate=estimate,
        variance=float(moments.variance),
        error=abs(estimate - float(problem.truth)),
        seconds=seconds,
    )


def _batch_sizes(problem, rounds, batch, shrinking) -> tuple[int, ...]:
    rounds = as_count("rounds", rounds, least=0)
    each = [batch] * rounds if np.ndim(batch) == 0 else list(batch)
    sizes = tuple(as_count("batch", size) for size in each)
    if len(sizes) != rounds:
        raise InvalidInput(
            f"batch gives {len(sizes)} sizes for {rounds} rounds; "
            "give one number, or one a round."
        )
    left = int(np.count_nonzero(problem.pool.available))
    if shrinking and sum(sizes) > left:
        raise InvalidInput(
            f"{rounds} rounds would buy {sum(sizes)} labels but the pool has {left} available "
            "rows; lower rounds or batch."
        )
    return sizes
