"""Planning under a mixture: gains are the mean of the components', by enumeration."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.gp import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.mixture import Mixture
from labelwise.estimands.loss import MeanSquaredError
from labelwise.estimands.moments import exact_moments
from labelwise.lookahead import mixed
from labelwise.lookahead.mixed import PLANNED, mix, planned
from labelwise.lookahead.path import COMPONENTS, variance_along
from labelwise.lookahead.pending import look_past_pending
from labelwise.lookahead.prospect import ExactProspect
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.offer import Spending
from labelwise.policies.reinforce import Reinforce
from labelwise.policies.training import Training
from labelwise.types import Assignment, Pool
from tests.lookahead.problems import expected_variance_by_hand, subsets
from tests.lookahead.trials import COLUMN, experiment, gain_by_hand

SIZE = 8
KEY = jax.random.key(0)
RNG = np.random.default_rng(5)
X = jnp.asarray(RNG.normal(size=(SIZE, 2)))
SEEN = RNG.normal(size=(5, 2)), 1.0 + RNG.normal(size=5)
ESTIMAND = MeanSquaredError(RNG.normal(size=(5, 2)), 0.4, RNG.uniform(0.5, 2.0, 5))
PARTS = [
    GaussianProcess(RBF(scale, variance), noise, ConstantMean(0.3)).condition(*SEEN)
    for scale, variance, noise in ((0.5, 1.0, 0.05), (1.2, 2.0, 0.3), (2.5, 1.5, 0.1))
]
MIXTURE = Mixture.of(PARTS, [0.0, 1.0, 2.0])
WEIGHT = np.asarray(MIXTURE.weight)
POOL = Pool(X)
COST = np.array([1.0, 3.0, 0.5, 2.0, 0.7, 1.2, 0.4, 2.5])


@cache
def left(component, rows):
    """By hand: the variance that a component expects after these rows."""
    one = PARTS[component]
    if not rows:
        return float(exact_moments(one, ESTIMAND).variance)
    return expected_variance_by_hand(one, ESTIMAND, X, rows)


def gain(rows, known=()):
    """The mean over components of what rows take from the variance that others leave."""
    of = lambda rows: np.array([left(index, tuple(sorted(rows))) for index in range(3)])
    return float(WEIGHT @ (of(known) - of([*known, *rows])))


def choose(belief, pool=POOL, k=2, effort="auto", spending=None, estimand=ESTIMAND):
    return Lookahead(effort=effort).propose(KEY, belief, estimand, pool, k, spending)


def rows_of(batch):
    return np.asarray(batch.indices).tolist()


def test_the_components_weigh_enough_to_matter():
    assert WEIGHT.min() > 0.05


@pytest.fixture(scope="module")
def prospect():
    see = lambda one: ExactProspect(look_past_pending(one, ESTIMAND, POOL))
    return jax.jit(lambda mixture: mix(mixture, see))(MIXTURE)


@jax.jit
def gains_with(prospect, rows):
    """Of three places with two rows, and of the same with the first of them gone again."""
    state = prospect.start(3)
    for slot in (1, 2):
        state = prospect.put(state, jnp.asarray(slot), rows[slot - 1])
    without = state.without(jnp.asarray(1))
    return prospect.gains(state), prospect.gains(without)[0], without.filled


def test_the_gain_of_a_batch_is_the_mean_of_the_components(prospect):
    for first, second in subsets(SIZE, 2)[::4].tolist():
        (so_far, added), without, filled = gains_with(prospect, jnp.array([first, second]))
        assert_allclose(so_far, gain([first, second]), rtol=1e-9)
        row = next(row for row in range(SIZE) if row not in (first, second))
        by_hand = gain([row], [first, second])
        assert_allclose(added[row], by_hand, rtol=1e-7, atol=1e-12)
        # A place is emptied for every component.
        assert np.asarray(filled).tolist() == [False, False, True]
        assert_allclose(without, gain([second]), rtol=1e-9)


def test_the_batch_is_nearly_the_best_of_all():
    best = max(gain(pair.tolist()) for pair in subsets(SIZE, 2))
    batch = choose(MIXTURE)
    assert gain(rows_of(batch)) >= 0.99 * best
    assert_allclose(batch.scores, [gain([row]) for row in range(SIZE)], rtol=1e-8)
    # No component alone would do: what is planned is for all of them.
    assert any(
        gain(rows_of(choose(one, effort="swaps"))) < 0.999 * gain(rows_of(batch))
        for one in PARTS
    )


def test_greedy_takes_the_best_row_and_then_the_best_beside_it():
    first = max(range(SIZE), key=lambda row: gain([row]))
    others = [row for row in range(SIZE) if row != first]
    second = max(others, key=lambda row: gain([first, row]))
    assert rows_of(choose(MIXTURE, effort="greedy")) == [first, second]


@pytest.mark.parametrize("effort", ["greedy", "swaps"])
def test_one_component_is_planned_for_as_if_alone(effort):
    alone = choose(PARTS[1], effort=effort)
    mixed_batch = choose(Mixture.of(PARTS[1:2]), effort=effort)
    assert rows_of(alone) == rows_of(mixed_batch)
    assert_allclose(mixed_batch.scores, alone.scores, rtol=1e-9)


def test_what_is_pending_counts_as_known():
    pool = Pool(X, pending=[3, -1])
    scores = np.asarray(choose(MIXTURE, pool).scores)
    others = np.delete(np.arange(SIZE), 3)
    assert_allclose(scores[others], [gain([row], [3]) for row in others], rtol=1e-7)


@pytest.mark.parametrize("limit", [1.8, 3.5])
def test_a_limit_is_kept_and_well_spent(limit):
    batch = choose(MIXTURE, Pool(X, cost=COST), 3, spending=Spending(limit=limit))
    rows = rows_of(batch)
    assert COST[rows].sum() <= limit
    paid = [
        some.tolist()
        for k in (1, 2, 3)
        for some in subsets(SIZE, k)
        if COST[some].sum() <= limit
    ]
    assert gain(rows) >= 0.9 * max(gain(some) for some in paid)


def test_every_row_is_worth_its_price():
    alone = np.array([gain([row]) for row in range(SIZE)]) / COST
    price = float(np.quantile(alone, 0.6))
    rows = rows_of(choose(MIXTURE, Pool(X, cost=COST), 3, spending=Spending(price=price)))
    for row in rows:
        others = [other for other in rows if other != row]
        assert gain(rows) - (gain(others) if others else 0.0) >= price * COST[row] * (1 - 1e-9)


def test_treatments_by_chance_are_averaged_over_in_every_component():
    belief, estimand, pool = experiment(0, 5, 0.4)
    other = GaussianProcess(RBF([1.6, 0.8, 1.5], 1.0), 0.4).condition(*_labels_of(belief))
    mixture = Mixture.of([belief, other])
    weight = np.asarray(mixture.weight)
    by_hand = lambda units: sum(
        w * gain_by_hand(one, estimand, pool, units)
        for w, one in zip(weight, (belief, other), strict=True)
    )
    batch = choose(mixture, pool, estimand=estimand)
    assert_allclose(batch.scores, [by_hand([unit]) for unit in range(5)], rtol=1e-8)
    best = max(by_hand(pair.tolist()) for pair in subsets(5, 2))
    assert by_hand(rows_of(batch)) >= 0.99 * best
    assert set(np.asarray(batch.treatment)) <= {0.0, 1.0}
    assert isinstance(pool.assignment, Assignment)
    assert pool.assignment.column == COLUMN


def _labels_of(belief):
    """The labels that a process was given, from what it kept of them."""
    seen = belief.seen
    return seen.features, seen.factor @ seen.residual + belief.prior_mean(seen.features)


def test_plans_look_at_as_many_components_as_memory_holds(monkeypatch):
    many = Mixture.of([PARTS[0]] * (PLANNED + 3), np.arange(PLANNED + 3.0))
    assert planned(many, 10, 10).size == PLANNED
    assert planned(MIXTURE, 10, 10).size == 3
    monkeypatch.setattr(mixed, "MOST_NUMBERS", 1000)
    assert planned(MIXTURE, 50, 10).size == 2
    assert planned(MIXTURE, 50, 21).size == 1  # never none
    assert planned(MIXTURE, 10**6, 10**6).size == 1
    kept = planned(MIXTURE, 50, 10)
    assert_allclose(kept.weight, np.sort(WEIGHT)[:0:-1] / np.sort(WEIGHT)[1:].sum())


def test_a_plan_under_little_memory_is_that_of_the_heaviest(monkeypatch):
    monkeypatch.setattr(mixed, "MOST_NUMBERS", 1)
    pool = Pool(X[:7])  # of another size: what was compiled before does not serve
    heaviest = PARTS[int(np.argmax(WEIGHT))]
    alone = choose(heaviest, pool, effort="swaps")
    found = choose(MIXTURE, pool, effort="swaps")
    assert rows_of(found) == rows_of(alone)
    assert_allclose(found.scores, alone.scores, rtol=1e-9)


def test_gradient_planners_plan_with_the_heaviest():
    policy = Reinforce(Training(objective="exact", rollouts=2, steps=3))
    heaviest = PARTS[int(np.argmax(WEIGHT))]
    of = lambda belief: policy.propose(KEY, belief, ESTIMAND, POOL, 2)
    assert_allclose(of(MIXTURE).logits, of(heaviest).logits, rtol=1e-9)


def test_variance_along_a_path_is_the_mean_over_components():
    orders = jnp.asarray([[3, 7, 1], [0, -1, 4]])
    each = [variance_along(KEY, one, ESTIMAND, X, orders) for one in PARTS]
    by_hand = sum(w * np.asarray(path) for w, path in zip(WEIGHT, each, strict=True))
    assert_allclose(variance_along(KEY, MIXTURE, ESTIMAND, X, orders), by_hand, rtol=1e-9)


def test_a_path_is_judged_by_the_heaviest_components():
    light = [-60.0, -70.0]
    many = Mixture.of([*PARTS, PARTS[0], *PARTS[:2]], [0.0, 1.0, 0.5, -0.2, *light])
    assert many.size > COMPONENTS
    few = Mixture.of([*PARTS, PARTS[0]], [0.0, 1.0, 0.5, -0.2])
    orders = jnp.asarray([[3, 7, 1]])
    assert_allclose(
        variance_along(KEY, many, ESTIMAND, X, orders),
        variance_along(KEY, few, ESTIMAND, X, orders),
        rtol=1e-9,
    )
