"""Gains for several classes, against loops over worlds, rows and classes in numpy."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.base import AbstractBelief
from labelwise.estimands.classes import ClassShare, EveryChance, MulticlassAccuracy
from labelwise.likelihoods import AbstractLikelihood, BernoulliLikelihood, CategoricalLikelihood
from labelwise.lookahead.scorers.particles import ParticleScorer, make_particles
from labelwise.types import Assignment, Pool

TARGET, POOL, DRAWS, WORLDS = 3, 5, 12, 7
RNG = np.random.default_rng(40)
# Rows are known by their number; those of the pool have two forms, as chance may treat them.
FUNCTIONS = 1.5 * RNG.normal(size=(DRAWS, TARGET + 2 * POOL, 3))
TARGET_X = np.stack([np.arange(TARGET), np.zeros(TARGET)], axis=1)
POOL_X = np.stack([TARGET + np.arange(POOL), np.zeros(POOL)], axis=1)


class Drawn(AbstractBelief):
    """Functions that are given, at rows that have numbers."""

    functions: jnp.ndarray
    law: AbstractLikelihood

    @property
    def likelihood(self):
        return self.law

    def condition(self, x, y, weight=None):
        raise NotImplementedError

    def sample(self, key, x, draws):
        return self.functions[:, (x[:, 0] + POOL * x[:, 1]).astype(int)]


@cache
def classes():
    return Drawn(jnp.asarray(FUNCTIONS), CategoricalLikelihood(3))


AIMS = ("accuracy", "every-chance")


@cache
def scalarisation_of(name):
    if name == "accuracy":
        return MulticlassAccuracy(TARGET_X, [0.0, 2.0, 1.0], 3, [1.0, 2.0, 0.5])
    return EveryChance(jnp.asarray(TARGET_X), jnp.array([0.2, 0.5, 0.3]))


@cache
def key():
    return jax.random.key(6)


@eqx.filter_jit
def look_with(key, belief, aim, pool, batch):
    particles = make_particles(key, belief, aim, pool, DRAWS, WORLDS)
    return particles, *gains_after(particles, batch)


def exact_view(belief, aim, pool, batch=()):
    """In three places; row -1 is none."""
    batch = jnp.array([*batch, *[-1] * (2 - len(batch))])
    return look_with(key(), belief, aim, pool, batch)


def gains_after(particles: ParticleScorer, batch):
    state = particles.start(batch.shape[0] + 1)
    for slot in range(batch.shape[0]):
        fuller = particles.put(state, jnp.asarray(slot), batch[slot])
        keep = lambda new, old, used=batch[slot] >= 0: jnp.where(used, new, old)
        state = jax.tree.map(keep, fuller, state)
    return particles.gains(state)


@eqx.filter_jit
def values_under(aim, law, functions):
    return jax.vmap(lambda one: jnp.atleast_1d(aim.value(one, law)))(functions)


def chance(draw, row, label):
    """Of one class under one draw, at one row."""
    odds = np.exp(FUNCTIONS[draw, row])
    return odds[int(label)] / odds.sum()


def spread(values, weight):
    """The weighted variance, summed over parts."""
    mean = weight @ values / weight.sum()
    return (weight @ (values - mean) ** 2).sum() / weight.sum()


def by_hand(particles, aim, batch=()):
    """Gains of the batch and of each row besides, with the labels that worlds imagine."""
    functions = jnp.asarray(FUNCTIONS[:, :TARGET])
    values = np.asarray(values_under(aim, classes().law, functions))
    author = np.asarray(particles.base) < -1e20
    arm, label = np.asarray(particles.arm), np.asarray(particles.imagined)
    so_far, more = np.zeros(WORLDS), np.zeros((WORLDS, POOL))
    for world in range(WORLDS):
        weight = np.where(author[world], 0.0, 1.0)
        for row in batch:
            there, seen = TARGET + arm[world, row], label[world, row]
            weight = weight * [chance(draw, there, seen) for draw in range(DRAWS)]
        weight = weight / weight.sum()
        lost = 1.0 - np.sum(weight**2)
        so_far[world] = spread(values, weight) / lost
        for row in range(POOL):
            there = TARGET + arm[world, row]
            for each in range(3):
                both = weight * [chance(draw, there, each) for draw in range(DRAWS)]
                more[world, row] += both.sum() * spread(values, both) / lost
    now = values.var(axis=0, ddof=1).sum()
    gain = now - so_far.mean()
    return gain, now - more.mean(axis=0) - gain


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("batch", [(), (3, 1)], ids=["empty", "two"])
def test_gains_sum_over_all_classes_in_all_worlds(aim, batch):
    particles, gain, added = exact_view(classes(), scalarisation_of(aim), Pool(POOL_X), batch)
    expected = by_hand(particles, scalarisation_of(aim), batch)
    assert float(gain) == pytest.approx(expected[0], rel=1e-9, abs=1e-12)
    assert_allclose(added, expected[1], rtol=1e-9, atol=1e-12)
    assert set(np.unique(particles.imagined)) == {0.0, 1.0, 2.0}


def test_where_chance_treats_each_world_has_its_own_rows():
    pool = Pool(POOL_X, assignment=Assignment(1, 0.5, POOL))
    particles, gain, added = exact_view(classes(), scalarisation_of("accuracy"), pool, (2,))
    assert 0 < (np.asarray(particles.arm) >= POOL).mean() < 1
    expected = by_hand(particles, scalarisation_of("accuracy"), (2,))
    assert float(gain) == pytest.approx(expected[0], rel=1e-9)
    assert_allclose(added, expected[1], rtol=1e-9, atol=1e-12)


def test_labels_that_are_out_weigh_the_draws():
    """A pending row's label is not recorded: it is the one that explains the base weights."""
    particles, *_ = exact_view(
        classes(), scalarisation_of("accuracy"), Pool(POOL_X, pending=[4, -1])
    )
    base = np.asarray(particles.base)
    logs = np.log(
        [[chance(draw, TARGET + 4, one) for draw in range(DRAWS)] for one in range(3)]
    )
    for world in base:
        others = world > -1e20
        assert others.sum() == DRAWS - 1
        assert np.abs(logs[:, others] - world[others]).max(axis=1).min() < 1e-9


def test_a_third_class_that_never_occurs_changes_nothing():
    """Two classes by the law of several, beside the law of 0 and 1."""
    odds = FUNCTIONS[..., 1] - FUNCTIONS[..., 0]
    never = np.stack([np.zeros_like(odds), odds, np.full_like(odds, -1e3)], axis=-1)
    two = Drawn(jnp.asarray(odds), BernoulliLikelihood())
    three = Drawn(jnp.asarray(never), CategoricalLikelihood(3))
    ours = exact_view(three, ClassShare(TARGET_X, 1, 3), Pool(POOL_X))[0]
    theirs = exact_view(two, ClassShare(TARGET_X, 1, 2), Pool(POOL_X))[0]
    assert_allclose(ours.values, theirs.values, atol=1e-12)
    ours = eqx.tree_at(lambda particles: particles.imagined, ours, theirs.imagined)
    after = eqx.filter_jit(gains_after)
    batch = jnp.array([0, 4])
    for one, other in zip(after(ours, batch), after(theirs, batch), strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)
