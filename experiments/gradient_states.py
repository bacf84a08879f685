"""States in which gradients are compared: a belief, a pool and logits of the paper's problem.

Ten states: five data sets of the synthetic experiment, before any label is bought and after
three rounds by `lookahead`. In each, logits as they start (all alike) and on their way, after
some steps of a good planner. Shapes are the same in all, so that programs compile once.
"""

from functools import cache, partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from labelwise.datasets.synthetic import make_clusters
from labelwise.policies.constraints import Candidates
from labelwise.policies.estimator import GradientProblem
from labelwise.policies.optimise import Training
from labelwise.policies.reinforce import Reinforce
from labelwise.policies.sampling import mask_logits
from labelwise.simulation.loop import play
from labelwise.types import Pool

ROUNDS, BATCH = 3, 5
STEPS = 20  # of Adam, to logits on their way
STARTS = ("uniform", "on-the-way")
SEEDS = 5
STATES = [(seed, bought) for bought in (0, ROUNDS) for seed in range(SEEDS)]


class State(NamedTuple):
    """Where a gradient is taken."""

    seed: int
    bought: int  # rounds
    start: str


def states(count: int) -> list[State]:
    """The first so many, the uniform start of all before the others."""
    every = [State(seed, bought, start) for start in STARTS for seed, bought in STATES]
    return every[:count]


@cache
def _rounds(seed: int):
    """Beliefs before and after the rounds, with the pool that each leaves."""
    problem, found, pool = make_clusters(seed), {}, None
    for played in play(problem, "lookahead", ROUNDS, BATCH, seed):
        pool = problem.pool if pool is None else pool.without(np.asarray(played.chosen))
        found[played.index] = played.belief, problem.estimand, pool
    return found


def make_problem(state: State, objective: Any) -> GradientProblem:
    belief, estimand, pool = _rounds(state.seed)[state.bought]
    return GradientProblem(belief, estimand, pool, Candidates.of(pool), BATCH, objective)


def make_logits(state: State) -> jax.Array:
    """All alike, or after some steps."""
    problem = make_problem(state, "exact")
    if state.start == "uniform":
        size = problem.pool.size
        return mask_logits(jnp.full(size, -jnp.log(size)), problem.pool.available)
    planner = Reinforce(Training(objective="exact", steps=STEPS))
    key = jax.random.key(state.seed)
    batch = planner.propose(key, problem.belief, problem.estimand, problem.pool, BATCH)
    return batch.logits


def small_problem(size: int, seed: int) -> tuple[GradientProblem, jax.Array]:
    """A pool of a few rows, whose gradient can be had by enumeration."""
    belief, estimand, pool = _rounds(seed)[0]
    rows = np.random.default_rng(seed).choice(pool.size, size, replace=False)
    few = Pool(np.asarray(pool.x)[rows])
    problem = GradientProblem(belief, estimand, few, Candidates.of(few), 3, "exact")
    return problem, jnp.full(size, -jnp.log(size))


@partial(eqx.filter_jit)
def rollouts(estimator, key, problem: GradientProblem, logits, groups: int, count: int):
    """Means over `count` roll-outs, `groups` of them."""
    run = estimator.prepare(jax.random.key(0), problem)
    keys = jax.random.split(key, groups)
    return jax.lax.map(lambda key: run(key, logits, count).mean(axis=0), keys)
