"""Uncertainty after imagined labels: against covariances by hand, and learning by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose

from labelwise.estimands.outcome import MeanOutcome
from labelwise.lookahead.imagined import ImaginedProspect
from labelwise.policies.heuristics import SequentialUncertainty
from labelwise.types import Assignment, Pool
from tests.conformance.cases import NEURAL, numbers, rows
from tests.lookahead.problems import random_problem

PROCESS, _, POOL_X = random_problem(0)
KEY = jax.random.key(5)
NETWORK = NEURAL["ensemble-plus"].condition(rows(0, 6), numbers(1, 6))
AIM = MeanOutcome(rows(3, 4))


@eqx.filter_jit
def uncertainty(belief, pool, batch, places):
    """What each row still has after a batch, in so many places, of which some stay empty."""
    prospect = ImaginedProspect.of(KEY, belief, pool)
    state = prospect.start(places)
    for slot, row in enumerate(batch):
        state = prospect.put(state, jnp.asarray(slot), jnp.asarray(row))
    gain, left = prospect.gains(state)
    without = prospect.gains(state.without(jnp.asarray(0)))[1]
    return gain, left, without, prospect


def by_hand(belief, known, x):
    """Variances of a process at `x`, after any labels at `known`."""
    known, x = np.asarray(known), np.asarray(x)
    own = np.asarray(belief.covariance(known)) + float(belief.noise) * np.eye(len(known))
    cross = np.asarray(belief.covariance(known, x))
    gone = np.sum(cross * np.linalg.solve(own, cross), axis=0)
    return np.asarray(belief.variance(x)) - gone


# A process, whose variances do not depend on labels.


def test_the_batch_leaves_what_covariances_say():
    gain, left, without, _ = uncertainty(PROCESS, Pool(POOL_X), (3, 1), 4)
    assert float(gain) == 0.0
    assert_allclose(left, by_hand(PROCESS, POOL_X[np.array([3, 1])], POOL_X), rtol=1e-9)
    assert_allclose(without, by_hand(PROCESS, POOL_X[np.array([1])], POOL_X), rtol=1e-9)


def test_rows_that_are_out_count_as_known():
    pool = Pool(POOL_X, pending=[4, -1])
    _, left, without, _ = uncertainty(PROCESS, pool, (2,), 2)
    assert_allclose(left, by_hand(PROCESS, POOL_X[np.array([4, 2])], POOL_X), rtol=1e-9)
    assert_allclose(without, by_hand(PROCESS, POOL_X[np.array([4])], POOL_X), rtol=1e-9)


def treated(x, arm):
    return np.c_[np.asarray(x)[:, 0], np.full(len(x), float(arm))]


def test_where_chance_treats_it_is_the_mean_over_treatments():
    """The rows of the batch are treated as one toss says, and others as chance may."""
    chance = np.array([0.1, 0.9, 0.5, 0.3, 0.0, 1.0])
    pool = Pool(POOL_X, assignment=Assignment(1, chance, 6), pending=[0])
    _, left, _, prospect = uncertainty(PROCESS, pool, (1, 2, 4, 5), 4)
    toss = np.asarray(prospect.arm) // 6
    assert (toss[4], toss[5]) == (0, 1)
    batch = [treated(POOL_X[row : row + 1], toss[row]) for row in (1, 2, 4, 5)]
    known = np.concatenate([POOL_X[:1], *batch])  # what is out has its treatment in its row
    arms = [by_hand(PROCESS, known, treated(POOL_X, arm)) for arm in (0, 1)]
    assert_allclose(left, (1.0 - chance) * arms[0] + chance * arms[1], rtol=1e-8)


# A network, which learns from them.


def test_a_network_learns_from_the_labels_imagined():
    """Row 2 is surely treated: its label is the one imagined for it treated."""
    chance = np.array([0.0, 0.3, 1.0, 0.5, 0.0])
    pool = Pool(rows(7, 5), pending=[4, -1], assignment=Assignment(1, chance, 5))
    _, left, _, prospect = uncertainty(NETWORK, pool, (2,), 2)
    known = np.concatenate([pool.x[4:], treated(pool.x[2:3], 1)])
    labels = jnp.stack([prospect.pending[0], prospect.imagined[5 + 2]])
    after = NETWORK.condition(known, labels)
    arms = [np.asarray(after.outcome(treated(pool.x, arm))[1]) for arm in (0, 1)]
    assert_allclose(left, (1.0 - chance) * arms[0] + chance * arms[1], rtol=1e-8)


def test_the_batch_is_that_of_a_loop_of_learning():
    pool = Pool(rows(7, 5), np.arange(5) != 1)
    batch = SequentialUncertainty().propose(KEY, NETWORK, AIM, pool, 2)
    imagined = ImaginedProspect.of(KEY, NETWORK, pool).imagined
    belief, chosen = NETWORK, []
    for _ in range(2):
        left = np.array(belief.outcome(pool.x)[1])
        left[[1, *chosen]] = -np.inf
        chosen.append(int(left.argmax()))
        some = np.array(chosen)
        belief = NETWORK.condition(pool.x[some], imagined[some])
    assert np.asarray(batch.indices).tolist() == chosen
    assert_allclose(batch.scores, NETWORK.outcome(pool.x)[1], rtol=1e-8)


def test_a_network_plans_for_treatments_that_chance_gives():
    pool = Pool(rows(7, 5), np.arange(5) != 1, assignment=Assignment(1, 0.5, 5), pending=[3])
    batch = SequentialUncertainty().propose(KEY, NETWORK, AIM, pool, 2)
    assert set(np.asarray(batch.indices).tolist()) <= {0, 2, 4}
    assert batch.treatment is not None
    assert set(np.asarray(batch.treatment).tolist()) <= {0.0, 1.0}
    assert np.isfinite(batch.scores).all()


def test_labels_are_imagined_jointly_from_one_function():
    """With next to no noise they are a member's own values, rows that are out included."""
    belief = eqx.tree_at(lambda belief: belief.model.labels.noise, NETWORK, jnp.asarray(1e-18))
    pool = Pool(rows(7, 5), pending=[4, -1])
    prospect = ImaginedProspect.of(KEY, belief, pool)
    labels = np.concatenate([prospect.imagined, prospect.pending])
    members = np.asarray(belief.panel(pool.x))[:, [*range(5), 4, 0]]  # 0 in the unused place
    assert np.abs(members - labels).max(axis=1).min() < 1e-6
