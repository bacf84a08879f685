"""The heuristics, against refitting by hand after every choice."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from labelwise.policies import baselines
from labelwise.policies.baselines import IntegratedVariance, SequentialUncertainty, Uncertainty
from labelwise.policies.constraints import Spending
from labelwise.policies.registry import POLICIES, make_policy
from labelwise.types import EXCLUDED, Pool
from tests.lookahead.problems import random_problem

SIZE, K = 9, 3
# Heuristics look at an estimand's rows and masses only: problems differ in their numbers.
SEEDS = pytest.mark.parametrize("seed", [1, 3, 4, 6])


@cache
def problem(seed):
    return random_problem(seed, pool=SIZE)


def propose(policy, seed):
    belief, estimand, pool_x = problem(seed)
    batch = policy.propose(jax.random.key(0), belief, estimand, Pool(pool_x), K)
    return np.asarray(batch.indices).tolist()


@eqx.filter_jit
def refit(belief, estimand, pool_x, weight):
    """Variances of pool rows, and how much each row would lower those of the target.

    Once the rows with weight 1 have labels; which ones does not matter.
    """
    known = belief.condition(pool_x, jnp.full(weight.shape, 7.0), weight)
    variance, cross = known.variance(pool_x), known.covariance(pool_x, estimand.x)
    return variance, cross**2 @ estimand.mass / (variance + known.noise)


def chosen_by_hand(seed, which):
    """Take the best row, see a label there, and again."""
    rows: list[int] = []
    for _ in range(K):
        weight = np.isin(np.arange(SIZE), rows).astype(float)
        scores = np.array(refit(*problem(seed), weight)[which])
        scores[rows] = -np.inf
        rows.append(int(np.argmax(scores)))
    return rows


@SEEDS
def test_uncertainty_takes_the_largest_variances(seed):
    variance, _ = refit(*problem(seed), np.zeros(SIZE))
    assert propose(Uncertainty(), seed) == np.argsort(-np.asarray(variance))[:K].tolist()


@SEEDS
def test_sequential_uncertainty_updates_after_each_row(seed):
    assert propose(SequentialUncertainty(), seed) == chosen_by_hand(seed, 0)


def test_of_a_long_pool_the_rows_least_certain_alone_are_looked_at(monkeypatch):
    belief, estimand, pool_x = problem(3)
    alone, _ = refit(belief, estimand, pool_x, np.zeros(SIZE))
    pending, taken = int(np.argmax(alone)), 4
    pool = Pool(pool_x, pending=[pending]).without([pending, taken])
    variance, _ = refit(belief, estimand, pool_x, np.eye(SIZE)[pending])
    left = np.where(pool.available, variance, -np.inf)
    rows = np.sort(np.argsort(-left)[:5])

    def choose(pool):  # compiled anew: the number of rows to look at is part of a program
        policy = SequentialUncertainty()
        of = lambda *given: policy.choose(jax.random.key(0), *given, K, Spending())
        return eqx.filter_jit(of)(belief, estimand, pool)

    expected = choose(pool.without(np.setdiff1d(np.flatnonzero(pool.available), rows)))
    monkeypatch.setattr(baselines, "LONGEST", 5)
    found = choose(pool)
    assert_array_equal(found.indices, expected.indices)
    assert_allclose(found.scores[rows], left[rows], rtol=1e-10)
    assert_array_equal(found.logits > EXCLUDED, pool.available)


@SEEDS
def test_integrated_variance_lowers_the_targets_mean_variance_most(seed):
    assert propose(IntegratedVariance(), seed) == chosen_by_hand(seed, 1)


@eqx.filter_jit
def first_rows(policy, keys, belief, estimand, pool):
    first = lambda key: policy.propose(key, belief, estimand, pool, 2).indices[0]
    return jax.vmap(first)(keys)


def test_random_gives_every_row_its_turn():
    belief, estimand, pool_x = problem(1)
    keys = jax.random.split(jax.random.key(0), 600)
    first = first_rows(make_policy("random"), keys, belief, estimand, Pool(pool_x))
    counts, chance = np.bincount(np.asarray(first), minlength=SIZE), 1 / SIZE
    expected, error = 600 * chance, np.sqrt(600 * chance * (1 - chance))
    assert (np.abs(counts - expected) < 5 * error).all()


def test_every_policy_has_a_name():
    assert list(POLICIES) == [
        "random",
        "uncertainty",
        "uncertainty-sequential",
        "integrated-variance",
        "reinforce",
        "smoothed-autodiff",
        "lookahead",
    ]
    policy = Uncertainty()
    assert make_policy(policy) is policy
