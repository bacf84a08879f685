"""What every policy must do: a lawful batch, whatever its method."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from labelwise.beliefs.gp import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.errors import InvalidInput
from labelwise.estimands.loss import MeanSquaredError
from labelwise.estimands.outcome import MeanOutcome
from labelwise.types import EXCLUDED, Pool
from tests.conformance.cases import BELIEFS, POLICIES, numbers, rows

BELIEF = BELIEFS["gp-rbf"].condition(rows(0, 6), numbers(1, 6))
TARGET = MeanSquaredError(rows(3, 8))
POOL = Pool(rows(7, 12))
K = 3


@pytest.fixture(params=POLICIES, ids=str)
def policy(request):
    return POLICIES[request.param]


def propose(policy, pool=POOL, k=K, belief=BELIEF, estimand=TARGET, seed=0):
    return policy.propose(jax.random.key(seed), belief, estimand, pool, k)


def test_the_batch_holds_k_distinct_rows_of_the_pool(policy):
    chosen = np.asarray(propose(policy).indices)
    assert chosen.shape == (K,)
    assert len(set(chosen.tolist())) == K
    assert ((chosen >= 0) & (chosen < POOL.size)).all()


def test_rows_labelled_or_pending_are_never_chosen(policy):
    left = np.array([1, 4, 10])
    available = np.isin(np.arange(POOL.size), left)
    chosen = propose(policy, Pool(POOL.x, available)).indices
    assert set(np.asarray(chosen).tolist()) == set(left.tolist())


def test_rows_that_are_out_are_never_chosen(policy):
    """With one row to spare, so that the policy, not the count, must leave them out."""
    out = [2, -1, 7, 0, 11, -1, 3, 5, 6, 9]
    batch = propose(policy, Pool(POOL.x, pending=out))
    assert set(np.asarray(batch.indices).tolist()) < {1, 4, 8, 10}
    assert (batch.logits[jnp.array([row for row in out if row >= 0])] == EXCLUDED).all()


def test_round_after_round_no_row_comes_back(policy):
    pool, seen = POOL, set()
    for index in range(4):
        chosen = propose(policy, pool, seed=index).indices
        assert not seen & set(np.asarray(chosen).tolist())
        seen |= set(np.asarray(chosen).tolist())
        pool = pool.without(chosen)
    assert seen == set(range(12))


def test_the_same_key_gives_the_same_batch(policy):
    for mine, yours in zip(
        *map(jax.tree.leaves, (propose(policy), propose(policy))), strict=True
    ):
        assert (mine == yours).all()


def test_the_batch_can_be_audited(policy):
    available = np.arange(POOL.size) != 5
    batch = propose(policy, Pool(POOL.x, available))
    assert batch.scores.shape == batch.logits.shape == (POOL.size,)
    assert jnp.isfinite(batch.scores).all()
    assert batch.logits[5] == EXCLUDED
    assert (batch.logits[available] > EXCLUDED / 2).all()
    assert ((batch.probabilities > 0) & (batch.probabilities <= 1)).all()


def test_a_linear_estimand_is_planned_for(policy):
    assert propose(policy, estimand=MeanOutcome(TARGET.x)).indices.shape == (K,)


def test_a_mixture_is_planned_with(policy):
    mixture = BELIEFS["mixture-gp"].condition(rows(0, 6), numbers(1, 6))
    batch = propose(policy, belief=mixture)
    assert len(set(np.asarray(batch.indices).tolist())) == K
    assert jnp.isfinite(batch.scores).all()


def test_repeated_rows_and_no_noise_do_not_break_planning(policy):
    pool = Pool(jnp.concatenate([POOL.x[:4], POOL.x[:4], POOL.x[:4]]))
    exact = GaussianProcess(RBF(0.8, 1.3), 0.0).condition(rows(0, 6), numbers(1, 6))
    batch = propose(policy, pool, belief=exact)
    assert len(set(np.asarray(batch.indices).tolist())) == K
    assert jnp.isfinite(batch.scores).all()


def test_a_batch_larger_than_what_is_left_is_refused(policy):
    with pytest.raises(
        InvalidInput,
        match="Cannot choose a batch of 13 from 12 available pool rows; ask for at",
    ):
        propose(policy, k=13)


def test_a_used_up_pool_is_refused(policy):
    with pytest.raises(InvalidInput, match="the pool is used up"):
        propose(policy, Pool(POOL.x, np.zeros(12, bool)))


def test_an_empty_batch_is_refused(policy):
    with pytest.raises(InvalidInput, match="k must be at least 1; it is 0"):
        propose(policy, k=0)


def test_a_pool_with_other_features_than_the_target_is_refused(policy):
    with pytest.raises(InvalidInput, match="pool x has 3 features but target x has 2"):
        propose(policy, Pool(rows(7, 12, dim=3)))
