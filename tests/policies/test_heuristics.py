"""The heuristics, against refitting by hand after every choice."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from labelwise.policies.heuristics import IntegratedVariance, SequentialUncertainty, Uncertainty
from labelwise.policies.registry import POLICIES, make_policy
from labelwise.types import Pool
from tests.lookahead.problems import random_problem

SEEDS = pytest.mark.parametrize("seed", range(4))
K = 3


def propose(policy, seed):
    belief, estimand, pool_x = random_problem(seed, pool=9)
    batch = policy.propose(jax.random.key(0), belief, estimand, Pool(pool_x), K)
    return belief, estimand, pool_x, np.asarray(batch.indices).tolist()


def chosen_by_hand(belief, pool_x, score):
    """Take the best row, see a label there (which one does not matter), and again."""
    rows: list[int] = []
    for _ in range(K):
        scores = np.array(score(belief))
        scores[rows] = -np.inf
        rows.append(int(np.argmax(scores)))
        belief = belief.condition(pool_x[rows[-1]][None, :], jnp.array([7.0]))
    return rows


@SEEDS
def test_uncertainty_takes_the_largest_variances(seed):
    belief, _, pool_x, rows = propose(Uncertainty(), seed)
    assert rows == np.argsort(-np.asarray(belief.variance(pool_x)))[:K].tolist()


@SEEDS
def test_sequential_uncertainty_updates_after_each_row(seed):
    belief, _, pool_x, rows = propose(SequentialUncertainty(), seed)
    assert rows == chosen_by_hand(belief, pool_x, lambda belief: belief.variance(pool_x))


@SEEDS
def test_integrated_variance_lowers_the_targets_mean_variance_most(seed):
    belief, estimand, pool_x, rows = propose(IntegratedVariance(), seed)

    def falls(belief):
        cross = belief.covariance(pool_x, estimand.x)
        return cross**2 @ estimand.mass / (belief.variance(pool_x) + belief.noise)

    assert rows == chosen_by_hand(belief, pool_x, falls)


def test_random_gives_every_row_its_turn():
    belief, estimand, pool_x = random_problem(0)
    policy, pool = make_policy("random"), Pool(pool_x)
    first = [
        int(policy.propose(jax.random.key(seed), belief, estimand, pool, 2).indices[0])
        for seed in range(600)
    ]
    counts = np.bincount(first, minlength=6)
    assert (np.abs(counts - 100) < 5 * np.sqrt(600 * 1 / 6 * 5 / 6)).all()


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
