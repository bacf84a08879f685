"""Uncertainty after imagined labels: against covariances by hand, and learning by hand."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose

from labelwise.estimands.named import MeanOutcome
from labelwise.lookahead.scorers.refit import RefitScorer
from labelwise.policies.baselines import SequentialUncertainty
from labelwise.types import Assignment, Pool
from tests.conformance.cases import NEURAL, numbers, rows
from tests.lookahead.problems import conditioned, random_problem


def process():
    return random_problem(0)[0]


def pool_x():
    return np.asarray(random_problem(0)[2])


@cache
def key():
    return jax.random.key(5)


@cache
def network():
    return conditioned(NEURAL["ensemble-plus"], rows(0, 6), numbers(1, 6))


@cache
def aim():
    return MeanOutcome(rows(3, 4))


@eqx.filter_jit
def uncertainty(key, belief, pool, batch):
    """What each row still has after a batch, where -1 is an empty place; what was imagined."""
    scorer = RefitScorer.of(key, belief, pool)
    state = scorer.start(batch.shape[0])
    for slot in range(batch.shape[0]):
        fuller = scorer.put(state, jnp.asarray(slot), batch[slot])
        keep = lambda new, old, used=batch[slot] >= 0: jnp.where(used, new, old)
        state = jax.tree.map(keep, fuller, state)
    gain, left = scorer.gains(state)
    without = scorer.gains(state.without(jnp.asarray(0)))[1]
    return gain, left, without, (scorer.arm, scorer.imagined, scorer.pending)


def uncertainty_after(belief, pool, batch):
    """In four places, of which some stay empty."""
    batch = jnp.array([*batch, *[-1] * (4 - len(batch))])
    return jax.tree.map(np.asarray, uncertainty(key(), belief, pool, batch))


@eqx.filter_jit
def covariance_of(belief, x):
    return belief.covariance(x)


def by_hand(known):
    """Variances of the process at the pool's rows as they are, untreated and treated, after
    labels at `known`, which are some of these rows by number."""
    x = np.concatenate([pool_x(), treated(pool_x(), 0), treated(pool_x(), 1)])
    covariance = np.asarray(covariance_of(process(), jnp.asarray(x)))
    own = covariance[np.ix_(known, known)] + float(process().noise) * np.eye(len(known))
    cross = covariance[known]
    gone = np.sum(cross * np.linalg.solve(own, cross), axis=0)
    return np.split(np.diag(covariance) - gone, 3)


# A process, whose variances do not depend on labels.


def test_the_batch_leaves_what_covariances_say():
    pool = Pool(pool_x(), pending=[-1, -1])
    gain, left, without, _ = uncertainty_after(process(), pool, (3, 1))
    assert float(gain) == 0.0
    assert_allclose(left, by_hand([3, 1])[0], rtol=1e-9)
    assert_allclose(without, by_hand([1])[0], rtol=1e-9)


def test_rows_that_are_out_count_as_known():
    pool = Pool(pool_x(), pending=[4, -1])
    _, left, without, _ = uncertainty_after(process(), pool, (2,))
    assert_allclose(left, by_hand([4, 2])[0], rtol=1e-9)
    assert_allclose(without, by_hand([4])[0], rtol=1e-9)


def treated(x, arm):
    return np.c_[np.asarray(x)[:, 0], np.full(len(x), float(arm))]


def test_where_chance_treats_it_is_the_mean_over_treatments():
    """The rows of the batch are treated as one toss says, and others as chance may."""
    chance = np.array([0.1, 0.9, 0.5, 0.3, 0.0, 1.0])
    pool = Pool(pool_x(), assignment=Assignment(1, chance, 6), pending=[0])
    _, left, _, (arm, *_) = uncertainty_after(process(), pool, (1, 2, 4, 5))
    toss = arm // 6
    assert (toss[4], toss[5]) == (0, 1)
    batch = [6 + 6 * toss[row] + row for row in (1, 2, 4, 5)]
    _, *arms = by_hand([0, *batch])  # what is out has its treatment in its row
    assert_allclose(left, (1.0 - chance) * arms[0] + chance * arms[1], rtol=1e-8)


# A network, which learns from them.


@eqx.filter_jit
def variances_at(belief, x):
    return belief.outcome(x)[1]


def test_a_network_learns_from_the_labels_imagined():
    """Row 2 is surely treated: its label is the one imagined for it treated."""
    chance = np.array([0.0, 0.3, 1.0, 0.5, 0.0])
    x = np.asarray(rows(7, 5))
    pool = Pool(x, pending=[4, -1], assignment=Assignment(1, chance, 5))
    _, left, _, (_, imagined, pending) = uncertainty_after(network(), pool, (2,))
    known = np.concatenate([x[4:], treated(x[2:3], 1)])
    labels = np.stack([pending[0], imagined[5 + 2]])
    after = conditioned(network(), known, labels)
    both = np.concatenate([treated(x, 0), treated(x, 1)])
    arms = np.split(np.asarray(variances_at(after, jnp.asarray(both))), 2)
    assert_allclose(left, (1.0 - chance) * arms[0] + chance * arms[1], rtol=1e-8)


@eqx.filter_jit
def imagine(key, belief, pool):
    """The labels imagined, and what the functions of a panel say of the pool."""
    scorer = RefitScorer.of(key, belief, pool)
    return scorer.imagined, scorer.pending, belief.panel(pool.x)


def test_the_batch_is_that_of_a_loop_of_learning():
    x = rows(7, 5)
    pool = Pool(x, np.arange(5) != 1)
    batch = SequentialUncertainty().propose(key(), network(), aim(), pool, 2)
    imagined = np.asarray(imagine(key(), network(), pool)[0])
    belief, chosen = network(), []
    for _ in range(2):
        left = np.array(variances_at(belief, x))
        left[[1, *chosen]] = -np.inf
        chosen.append(int(left.argmax()))
        belief = conditioned(network(), np.asarray(x)[chosen], imagined[chosen])
    assert np.asarray(batch.indices).tolist() == chosen
    assert_allclose(batch.scores, variances_at(network(), x), rtol=1e-8)


def test_a_network_plans_for_treatments_that_chance_gives():
    pool = Pool(rows(7, 5), np.arange(5) != 1, assignment=Assignment(1, 0.5, 5), pending=[3])
    batch = SequentialUncertainty().propose(key(), network(), aim(), pool, 2)
    assert set(np.asarray(batch.indices).tolist()) <= {0, 2, 4}
    assert batch.treatment is not None
    assert set(np.asarray(batch.treatment).tolist()) <= {0.0, 1.0}
    assert np.isfinite(batch.scores).all()


def test_labels_are_imagined_jointly_from_one_function():
    """With next to no noise they are a member's own values, rows that are out included."""
    noise = lambda belief: belief.model.likelihood.noise
    belief = eqx.tree_at(noise, network(), jnp.asarray(1e-18))
    found = imagine(key(), belief, Pool(rows(7, 5), pending=[4, -1]))
    imagined, pending, panel = map(np.asarray, found)
    labels = np.concatenate([imagined, pending])
    members = panel[:, [*range(5), 4, 0]]  # 0 in the unused place
    assert np.abs(members - labels).max(axis=1).min() < 1e-6
