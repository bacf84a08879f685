"""What every policy must do: a lawful batch, whatever its method."""

from functools import cache

import jax
import numpy as np
import pytest

from labelwise.beliefs.gp import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.estimands.loss import MeanSquaredError
from labelwise.estimands.outcome import MeanOutcome
from labelwise.types import EXCLUDED, Pool
from tests.conformance.cases import BELIEFS, POLICIES, POOL, TARGET, K, numbers, pool, rows

# What the plans of one of each kind do not reach, in `test_planning`: options of the searches,
# and closed forms under mixtures and of estimands without curvature.
EXACT = [name for name in POLICIES if "exact" in name or "lookahead" in name]


@cache
def belief():
    return BELIEFS["gp-rbf"].condition(rows(0, 6), numbers(1, 6))


@cache
def estimand():
    return MeanSquaredError(rows(3, TARGET))


@pytest.fixture(params=list(POLICIES), ids=str)
def policy(request):
    return POLICIES[request.param]


@pytest.fixture(params=EXACT, ids=str)
def exact_policy(request):
    return POLICIES[request.param]


def propose(policy, within=None, known=None, aim=None, seed=0):
    within = pool() if within is None else within
    aim = estimand() if aim is None else aim
    batch = policy.propose(jax.random.key(seed), known or belief(), aim, within, K)
    return jax.tree.map(np.asarray, batch)


def check_distinct(batch):
    assert batch.indices.shape == (K,)
    assert len(set(batch.indices.tolist())) == K
    assert ((batch.indices >= 0) & (batch.indices < POOL)).all()
    assert np.isfinite(batch.scores).all()


def test_the_batch_holds_k_distinct_rows_of_the_pool(policy):
    check_distinct(propose(policy))


def test_rows_labelled_or_pending_are_never_chosen(policy):
    left = np.array([1, 4, 10])
    chosen = propose(policy, pool(np.isin(np.arange(POOL), left))).indices
    assert set(chosen.tolist()) == set(left.tolist())


def test_rows_that_are_out_are_never_chosen(policy):
    """With one row to spare, so that the policy, not the count, must leave them out."""
    out = [2, -1, 7, 0, 11, -1, 3, 5, 6, 9]
    batch = propose(policy, pool(out=out))
    assert set(batch.indices.tolist()) < {1, 4, 8, 10}
    assert (batch.logits[[row for row in out if row >= 0]] == EXCLUDED).all()


def test_round_after_round_no_row_comes_back(policy):
    left, seen = pool(), set()
    for index in range(4):
        chosen = propose(policy, left, seed=index).indices
        assert not seen & set(chosen.tolist())
        seen |= set(chosen.tolist())
        left = left.without(chosen)
    assert seen == set(range(POOL))


def test_the_same_key_gives_the_same_batch(policy):
    for mine, yours in zip(
        *map(jax.tree.leaves, (propose(policy), propose(policy))), strict=True
    ):
        assert (mine == yours).all()


def test_the_batch_can_be_audited(policy):
    available = np.arange(POOL) != 5
    batch = propose(policy, pool(available))
    assert batch.scores.shape == batch.logits.shape == (POOL,)
    assert np.isfinite(batch.scores).all()
    assert batch.logits[5] == EXCLUDED
    assert (batch.logits[available] > EXCLUDED / 2).all()
    assert ((batch.probabilities > 0) & (batch.probabilities <= 1)).all()


def test_a_linear_estimand_is_planned_for(exact_policy):
    check_distinct(propose(exact_policy, aim=MeanOutcome(rows(3, TARGET))))


def test_a_mixture_is_planned_with(exact_policy):
    mixture = BELIEFS["mixture-gp"].condition(rows(0, 6), numbers(1, 6))
    check_distinct(propose(exact_policy, known=mixture))


def test_repeated_rows_and_no_noise_do_not_break_planning(policy):
    four = np.asarray(rows(7, POOL))[:4]
    again = Pool(np.concatenate([four, four, four]), pending=pool().pending)
    exact = GaussianProcess(RBF(0.8, 1.3), 0.0).condition(rows(0, 6), numbers(1, 6))
    check_distinct(propose(policy, again, known=exact))
