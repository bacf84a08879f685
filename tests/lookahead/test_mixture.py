"""Planning under a mixture: gains are the mean of the components', by enumeration."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.mixture import Mixture
from labelwise.estimands.named import MeanSquaredError
from labelwise.lookahead.path import COMPONENTS, variance_along
from labelwise.lookahead.pending import view_past_pending
from labelwise.lookahead.scorers import mixture as mixed
from labelwise.lookahead.scorers.base import ExactScorer
from labelwise.lookahead.scorers.mixture import PLANNED, mix, planned
from labelwise.policies.constraints import Spending
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.optimise import Training
from labelwise.policies.reinforce import Reinforce
from labelwise.types import Assignment, Pool
from tests.lookahead.problems import conditioned, expected_variance_by_hand, subsets
from tests.lookahead.trials import COLUMN, experiment, gain_by_hand

SIZE = 8
RNG = np.random.default_rng(5)
X = RNG.normal(size=(SIZE, 2))
SEEN = RNG.normal(size=(5, 2)), 1.0 + RNG.normal(size=5)
TARGET = RNG.normal(size=(5, 2)), 0.4, RNG.uniform(0.5, 2.0, 5)
COST = np.array([1.0, 3.0, 0.5, 2.0, 0.7, 1.2, 0.4, 2.5])


@cache
def key():
    return jax.random.key(0)


@cache
def estimand():
    return MeanSquaredError(*TARGET)


@cache
def parts():
    return [
        conditioned(GaussianProcess(RBF(scale, variance), noise, ConstantMean(0.3)), *SEEN)
        for scale, variance, noise in ((0.5, 1.0, 0.05), (1.2, 2.0, 0.3), (2.5, 1.5, 0.1))
    ]


@cache
def mixture():
    return Mixture.of(parts(), [0.0, 1.0, 2.0])


mixed_of = eqx.filter_jit(Mixture.of)
weight_of = eqx.filter_jit(lambda mixture: mixture.weight)


@cache
def weight():
    return np.asarray(weight_of(mixture()))


def heaviest():
    return parts()[int(np.argmax(weight()))]


def pool(pending=(-1, -1), **costs):
    """With places for two rows that are out, so that plans share a program."""
    return Pool(X, pending=list(pending), **costs)


@cache
def left(component, rows):
    """By hand: the variance that a component expects after these rows."""
    return expected_variance_by_hand(parts()[component], estimand(), X, rows)


def gain(rows, known=()):
    """The mean over components of what rows take from the variance that others leave."""
    of = lambda rows: np.array([left(index, tuple(sorted(rows))) for index in range(3)])
    return float(weight() @ (of(known) - of([*known, *rows])))


def choose(belief, rows=None, k=2, effort="auto", spending=None, aim=None):
    aim, rows = estimand() if aim is None else aim, pool() if rows is None else rows
    return Lookahead(effort=effort).propose(key(), belief, aim, rows, k, spending)


def rows_of(batch):
    return np.asarray(batch.indices).tolist()


def test_the_components_weigh_enough_to_matter():
    assert weight().min() > 0.05


@pytest.fixture(scope="module")
def scorer():
    """With no row out, and no places for such rows."""
    return prospect_of(mixture(), estimand(), Pool(X))


@eqx.filter_jit
def prospect_of(mixture, estimand, pool):
    return mix(mixture, lambda one: ExactScorer(view_past_pending(one, estimand, pool)))


@jax.jit
def gains_with(scorer, rows):
    """Of three places with two rows, and of the same with the first of them gone again."""
    state = scorer.start(3)
    for slot in (1, 2):
        state = scorer.put(state, jnp.asarray(slot), rows[slot - 1])
    without = state.without(jnp.asarray(1))
    return scorer.gains(state), scorer.gains(without)[0], without.filled


def test_the_gain_of_a_batch_is_the_mean_of_the_components(scorer):
    for first, second in subsets(SIZE, 2)[::4].tolist():
        (so_far, added), without, filled = gains_with(scorer, jnp.array([first, second]))
        assert_allclose(so_far, gain([first, second]), rtol=1e-9)
        row = next(row for row in range(SIZE) if row not in (first, second))
        by_hand = gain([row], [first, second])
        assert_allclose(np.asarray(added)[row], by_hand, rtol=1e-7, atol=1e-12)
        # A place is emptied for every component.
        assert np.asarray(filled).tolist() == [False, False, True]
        assert_allclose(without, gain([second]), rtol=1e-9)


def test_the_batch_is_nearly_the_best_of_all():
    best = max(gain(pair.tolist()) for pair in subsets(SIZE, 2))
    batch = choose(mixture())
    assert gain(rows_of(batch)) >= 0.99 * best
    assert_allclose(batch.scores, [gain([row]) for row in range(SIZE)], rtol=1e-8)
    # No component alone would do: what is planned is for all of them.
    assert any(
        gain(rows_of(choose(one, effort="swaps"))) < 0.999 * gain(rows_of(batch))
        for one in parts()
    )


def test_greedy_takes_the_best_row_and_then_the_best_beside_it():
    first = max(range(SIZE), key=lambda row: gain([row]))
    others = [row for row in range(SIZE) if row != first]
    second = max(others, key=lambda row: gain([first, row]))
    assert rows_of(choose(mixture(), effort="greedy")) == [first, second]


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["greedy", "swaps"])
def test_one_component_is_planned_for_as_if_alone(effort):
    alone = choose(parts()[1], effort=effort)
    mixed_batch = choose(mixed_of(parts()[1:2]), effort=effort)
    assert rows_of(alone) == rows_of(mixed_batch)
    assert_allclose(mixed_batch.scores, alone.scores, rtol=1e-9)


def test_what_is_pending_counts_as_known():
    scores = np.asarray(choose(mixture(), pool([3, -1])).scores)
    others = np.delete(np.arange(SIZE), 3)
    assert_allclose(scores[others], [gain([row], [3]) for row in others], rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1.8, 3.5])
def test_a_limit_is_kept_and_well_spent(limit):
    batch = choose(mixture(), pool(cost=COST), 3, spending=Spending(limit=limit))
    rows = rows_of(batch)
    assert COST[rows].sum() <= limit
    paid = [
        some.tolist()
        for k in (1, 2, 3)
        for some in subsets(SIZE, k)
        if COST[some].sum() <= limit
    ]
    assert gain(rows) >= 0.9 * max(gain(some) for some in paid)


@pytest.mark.slow
def test_every_row_is_worth_its_price():
    alone = np.array([gain([row]) for row in range(SIZE)]) / COST
    price = float(np.quantile(alone, 0.6))
    rows = rows_of(choose(mixture(), pool(cost=COST), 3, spending=Spending(price=price)))
    for row in rows:
        others = [other for other in rows if other != row]
        assert gain(rows) - (gain(others) if others else 0.0) >= price * COST[row] * (1 - 1e-9)


@pytest.mark.slow
def test_treatments_by_chance_are_averaged_over_in_every_component():
    belief, effect, units = experiment(0, 5, 0.4)
    prior = GaussianProcess(RBF([1.6, 0.8, 1.5], 1.0), 0.4)
    other = conditioned(prior, *map(np.asarray, labels_of(belief)))
    both = mixed_of([belief, other])
    by_hand = lambda some: sum(
        w * gain_by_hand(one, effect, units, some)
        for w, one in zip(np.asarray(weight_of(both)), (belief, other), strict=True)
    )
    batch = choose(both, units, aim=effect)
    assert_allclose(batch.scores, [by_hand([unit]) for unit in range(5)], rtol=1e-8)
    best = max(by_hand(pair.tolist()) for pair in subsets(5, 2))
    assert by_hand(rows_of(batch)) >= 0.99 * best
    assert set(np.asarray(batch.treatment)) <= {0.0, 1.0}
    assert isinstance(units.assignment, Assignment)
    assert units.assignment.column == COLUMN


@eqx.filter_jit
def labels_of(belief):
    """The labels that a process was given, from what it kept of them."""
    seen = belief.seen
    return seen.features, seen.factor @ seen.residual + belief.prior_mean(seen.features)


def planned_size(mixture, rows, target):
    return jax.eval_shape(lambda mixture: planned(mixture, rows, target), mixture).size


def test_plans_look_at_as_many_components_as_memory_holds(monkeypatch):
    many = mixed_of([parts()[0]] * (PLANNED + 3), np.arange(PLANNED + 3.0))
    assert planned_size(many, 10, 10) == PLANNED
    assert planned_size(mixture(), 10, 10) == 3
    monkeypatch.setattr(mixed, "MOST_NUMBERS", 1000)
    assert planned_size(mixture(), 50, 10) == 2
    assert planned_size(mixture(), 50, 21) == 1  # never none
    assert planned_size(mixture(), 10**6, 10**6) == 1
    kept = jax.jit(lambda mixture: planned(mixture, 50, 10).weight)(mixture())
    some = np.sort(weight())[:0:-1]
    assert_allclose(kept, some / some.sum())


@pytest.mark.slow
def test_a_plan_under_little_memory_is_that_of_the_heaviest(monkeypatch):
    monkeypatch.setattr(mixed, "MOST_NUMBERS", 1)
    places = pool([-1, -1, -1])  # of another size: what was compiled before does not serve
    alone = choose(heaviest(), effort="swaps")
    found = choose(mixture(), places, effort="swaps")
    assert rows_of(found) == rows_of(alone)
    assert_allclose(found.scores, alone.scores, rtol=1e-9)


@pytest.mark.slow
def test_gradient_planners_plan_with_the_heaviest():
    policy = Reinforce(Training(objective="exact", rollouts=2, steps=3))
    of = lambda belief: policy.propose(key(), belief, estimand(), pool(), 2)
    assert_allclose(of(mixture()).logits, of(heaviest()).logits, rtol=1e-9)


def paths(belief):
    orders = jnp.asarray([[3, 7, 1], [0, -1, 4]])
    return np.asarray(variance_along(key(), belief, estimand(), jnp.asarray(X), orders))


def test_variance_along_a_path_is_the_mean_over_components():
    by_hand = sum(w * paths(one) for w, one in zip(weight(), parts(), strict=True))
    assert_allclose(paths(mixture()), by_hand, rtol=1e-9)


@pytest.mark.slow
def test_a_path_is_judged_by_the_heaviest_components():
    light = [-60.0, -70.0]
    heavy = [*parts(), parts()[0]]
    many = mixed_of([*heavy, *parts()[:2]], np.array([0.0, 1.0, 0.5, -0.2, *light]))
    assert many.size > COMPONENTS
    few = mixed_of(heavy, np.array([0.0, 1.0, 0.5, -0.2]))
    assert_allclose(paths(many), paths(few), rtol=1e-9)
