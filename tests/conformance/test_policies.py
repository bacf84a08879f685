"""What every policy must do: a lawful batch, whatever its method, for every kind of estimand
under every kind of belief.

All plans have one shape, so that a policy, a belief and an estimand compile once for this file.
"""

from functools import cache

import jax
import numpy as np
import pytest

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.estimands.classes import MulticlassAccuracy
from labelwise.types import EXCLUDED, Pool
from tests.conformance.cases import (
    BELIEFS,
    CLASSES,
    ESTIMANDS,
    NEURAL,
    ONE_OF_EACH,
    OPTIONS,
    POLICIES,
    POOL,
    SEVERAL,
    TARGET,
    K,
    labels_for,
    multiclass,
    numbers,
    pool,
    rows,
)
from tests.lookahead.problems import conditioned
from tests.marks import but_slow

# The first three have closed forms under a Gaussian belief, the third without curvature; of the
# others plans know the values of draws only.
AIMS = ("mean-squared-error", "several-sum", "treatment-effect", "recall", "several-worst")
# Networks learn from imagined labels in some policies, and are Gaussian to others.
KINDS = ("classifier-logit", "mixture-gp", "ensemble-plus", "epinet", "gp-rbf")
# A Latin design: all pairs of a policy and an aim, a policy and a belief, an aim and a belief.
PLANS = [
    (policy, AIMS[(row + column) % len(AIMS)], kind)
    for row, policy in enumerate(ONE_OF_EACH)
    for column, kind in enumerate(KINDS)
]
# Under mixtures lookahead has ways of its own, and under networks that are finitely many.
PLANS += [("lookahead-greedy", "recall", "mixture-classifier")]
PLANS += [("lookahead-greedy", "recall", "ensemble-plus-binary")]
PLANS += [("lookahead", "mean-squared-error", "mixture-gp")]
PLANS += [("reinforce-exact", "mean-squared-error", "mixture-gp")]
PLANS += [("smoothed-autodiff-exact", "mean-squared-error", "mixture-gp")]
# One planner meets every aim and every belief also where time is short.
FIRST = "lookahead-greedy"


@cache
def known(name="gp-rbf"):
    prior = (BELIEFS | NEURAL)[name]
    return conditioned(prior, rows(0, 6), labels_for(prior, 1, 6))


@cache
def scalarisation_of(name):
    return (ESTIMANDS | SEVERAL)[name](rows(3, TARGET))


@pytest.fixture(params=but_slow(POLICIES, OPTIONS))
def policy(request):
    return POLICIES[request.param]


def propose(policy, within=None, belief=None, aim=None, seed=0):
    within = pool() if within is None else within
    belief = known() if belief is None else belief
    aim = scalarisation_of("mean-squared-error") if aim is None else aim
    batch = policy.propose(jax.random.key(seed), belief, aim, within, K)
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


def test_repeated_rows_and_no_noise_do_not_break_planning(policy):
    four = np.asarray(rows(7, POOL))[:4]
    again = Pool(np.concatenate([four, four, four]), pending=pool().pending)
    exact = conditioned(GaussianProcess(RBF(0.8, 1.3), 0.0), rows(0, 6), numbers(1, 6))
    check_distinct(propose(policy, again, belief=exact))


@pytest.mark.parametrize(
    ("policy", "aim", "kind"),
    [pytest.param(*plan, marks=() if plan[0] == FIRST else pytest.mark.slow) for plan in PLANS],
)
def test_every_policy_plans_for_every_estimand_under_every_belief(policy, aim, kind):
    check_lawful(POLICIES[policy], known(kind), scalarisation_of(aim))


@pytest.mark.parametrize("policy", but_slow(ONE_OF_EACH, ONE_OF_EACH.keys() - {FIRST}))
def test_every_policy_plans_for_several_classes(policy):
    labels = (np.arange(6.0) % CLASSES, np.arange(float(TARGET)) % CLASSES)
    classified = conditioned(multiclass(), rows(0, 6), labels[0])
    aim = MulticlassAccuracy(rows(3, TARGET), labels[1], CLASSES)
    check_lawful(ONE_OF_EACH[policy], classified, aim)


def check_lawful(policy, belief, aim):
    """One row is labelled and one is out: neither may be chosen."""
    taken, out = 5, 2
    batch = propose(policy, pool(np.arange(POOL) != taken, out=[out]), belief, aim)
    check_distinct(batch)
    assert not {taken, out} & set(batch.indices.tolist())
    assert (batch.logits[[taken, out]] == EXCLUDED).all()
    assert ((batch.probabilities > 0) & (batch.probabilities <= 1)).all()
