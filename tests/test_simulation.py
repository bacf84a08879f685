"""Algorithm 1 against known labels: by hand, and compiled once."""

import equinox as eqx
import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gp import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.datasets.base import Problem
from labelwise.datasets.clusters import ClusterDesign, Sample, make_clusters
from labelwise.errors import InvalidInput
from labelwise.estimands.classification import Accuracy, Recall
from labelwise.estimands.effect import AverageTreatmentEffect
from labelwise.estimands.moments import exact_moments, sampled_moments
from labelwise.estimands.several import Several
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.heuristics import Random, Uncertainty
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.offer import Spending
from labelwise.policies.selection import take_rows
from labelwise.simulation import DRAWS, iterate, simulate
from labelwise.types import Assignment, Pool

DESIGN = ClusterDesign(
    clusters=3,
    spacing=2.0,
    initial=Sample((8, 0, 0), 0.5),
    pool=Sample((4, 4, 4), 0.25),
    target=Sample((3, 3, 3), 0.5),
)
PROBLEM = make_clusters(0, DESIGN)


def test_it_is_the_loop_of_algorithm_1():
    policy = Lookahead(effort="greedy")
    records = simulate(PROBLEM, policy, rounds=2, batch=2, seed=0)
    belief, pool, bought = PROBLEM.belief, PROBLEM.pool, []
    for index, record in enumerate(records):
        if index:
            batch = policy.propose(jax.random.key(9), belief, PROBLEM.estimand, pool, 2)
            rows = np.asarray(batch.indices)
            assert record.chosen == tuple(rows.tolist())
            belief = belief.condition(pool.x[rows], PROBLEM.labels[rows])
            pool, bought = pool.without(jnp.asarray(rows)), [*bought, *rows]
        moments = exact_moments(belief, PROBLEM.estimand)
        assert record.round == index
        assert_allclose(record.estimate, moments.mean, rtol=1e-9)
        assert_allclose(record.variance, moments.variance, rtol=1e-7)
        assert_allclose(
            record.error, abs(float(moments.mean) - float(PROBLEM.truth)), rtol=1e-6
        )
    assert len(set(bought)) == 4


def test_batch_sizes_may_differ_by_round():
    records = simulate(PROBLEM, "random", rounds=3, batch=[1, 4, 2], seed=3)
    assert [len(record.chosen) for record in records] == [0, 1, 4, 2]
    assert len({row for record in records for row in record.chosen}) == 7


def test_the_seed_decides_the_draws():
    run = lambda seed: [r.chosen for r in simulate(PROBLEM, "random", 3, 2, seed)]
    assert run(5) == run(5)
    assert run(5) != run(6)


class FirstRow(AbstractPolicy):
    """Wants row 0, again and again; refuses to notice that it is gone."""

    def check(self, belief, estimand):
        pass

    def choose(self, key, belief, estimand, pool, k, spending):
        row = jnp.argmax(pool.available)[None]
        return take_rows(row, jnp.zeros(pool.size), jnp.zeros(pool.size))


def test_a_bought_row_leaves_the_pool_unless_told_otherwise():
    chosen = lambda shrinking: [
        r.chosen for r in simulate(PROBLEM, FirstRow(), 3, 1, 0, shrinking=shrinking)
    ]
    assert chosen(True) == [(), (0,), (1,), (2,)]
    assert chosen(False) == [(), (0,), (0,), (0,)]


def test_a_row_bought_twice_counts_as_two_labels():
    record = simulate(PROBLEM, FirstRow(), 2, 1, 0, shrinking=False)[-1]
    x, y = PROBLEM.pool.x[:1], PROBLEM.labels[:1]
    twice = PROBLEM.belief.condition(x, y).condition(x, y)
    assert_allclose(record.variance, exact_moments(twice, PROBLEM.estimand).variance, rtol=1e-8)


def test_a_prior_made_anew_each_round_is_made_from_the_labels_known_by_then():
    seen = []

    def refit(x, y):
        seen.append((x, y))
        return GaussianProcess(RBF(1.0, 0.1 * len(y)), 0.01)

    records = simulate(PROBLEM, "random", rounds=2, batch=[2, 1], seed=0, refit=refit)
    assert [len(y) for _, y in seen] == [8, 10, 11]
    rows = jnp.array(records[1].chosen + records[2].chosen)
    x, y = PROBLEM.pool.x[rows], PROBLEM.labels[rows]
    assert_allclose(seen[2][0], np.concatenate([PROBLEM.x, x]))
    assert_allclose(seen[2][1], np.concatenate([PROBLEM.y, y]))
    belief = refit(*seen[2]).condition(PROBLEM.x, PROBLEM.y).condition(x, y)
    moments = exact_moments(belief, PROBLEM.estimand)
    assert_allclose(records[2].variance, moments.variance, rtol=1e-7)
    assert_allclose(records[2].estimate, moments.mean, rtol=1e-9)


@pytest.fixture
def compilations():
    """Names of what XLA compiled since the test began."""
    events = []

    def listen(name, seconds, **details):
        if name == "/jax/core/compile/backend_compile_duration":
            events.append(details)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield events
    jax.monitoring.unregister_event_duration_listener(listen)


TRACES = []


class Counted(AbstractPolicy):
    """A policy that notes every time it is traced."""

    policy: AbstractPolicy
    mark: int = eqx.field(static=True)  # a fresh mark is a fresh compilation

    def check(self, belief, estimand):
        self.policy.check(belief, estimand)

    def choose(self, key, belief, estimand, pool, k, spending):
        TRACES.append(self.mark)
        return self.policy.choose(key, belief, estimand, pool, k, spending)


def test_ten_rounds_compile_once(compilations):
    design = ClusterDesign(
        clusters=2,
        initial=Sample((5, 0), 0.5),
        pool=Sample((11, 11), 0.25),
        target=Sample((3, 4), 0.5),
    )
    policy = Counted(Lookahead(effort="greedy"), mark=1)
    rounds = iterate(make_clusters(1, design), policy, rounds=10, batch=2, seed=0)
    next(rounds), next(rounds)
    assert len(compilations) > 0  # the listener hears
    compilations.clear()
    rest = list(rounds)
    assert len(rest) == 9
    assert compilations == []
    assert TRACES.count(1) == 1


@pytest.mark.parametrize(
    ("rounds", "batch", "message"),
    [
        (-1, 2, "rounds must be at least 0; it is -1"),
        (3, [1, 2], "batch gives 2 sizes for 3 rounds"),
        (2, 0, "batch must be at least 1; it is 0"),
        (2, 1.5, "batch must be a whole number; it is 1.5"),
        (7, 2, "7 rounds would buy 14 labels but the pool has 12 available rows"),
    ],
)
def test_impossible_rounds_are_refused(rounds, batch, message):
    with pytest.raises(InvalidInput, match=message):
        simulate(PROBLEM, Uncertainty(), rounds, batch, 0)


def test_no_rounds_give_the_starting_point():
    assert [record.round for record in simulate(PROBLEM, "random", 0, 5, 0)] == [0]


RNG = np.random.default_rng(4)


def make_problem(prior, pool, labels, estimand, truth, **more):
    x = jnp.asarray(RNG.normal(size=(4, pool.x.shape[1])))
    y = jnp.array([0.0, 1.0, 1.0, 0.0])
    return Problem(
        prior,
        x,
        y,
        pool,
        jnp.asarray(labels),
        estimand,
        jnp.asarray(truth),
        "test",
        "-",
        **more,
    )


def binary_problem(estimand, **columns):
    prior = GaussianProcessClassifier(RBF(1.0, 2.0))
    pool = Pool(RNG.normal(size=(8, 2)), **columns)
    return make_problem(prior, pool, RNG.integers(0, 2, 8).astype(float), estimand, 0.7)


def test_a_classifier_learns_of_recall():
    """Estimates are of draws: the same ones as made by hand from the labels bought."""
    estimand = Recall(RNG.normal(size=(5, 2)), np.linspace(0.1, 0.9, 5))
    problem = binary_problem(estimand)
    records = simulate(problem, "random", 2, 2, 0)
    assert len({row for record in records for row in record.chosen}) == 4
    bought = []
    for record in records:
        bought += record.chosen
        rows = jnp.array(bought, int)
        known = problem.belief
        if bought:
            known = known.condition(problem.pool.x[rows], problem.labels[rows])
        by_hand = sampled_moments(jax.random.key(0), known, estimand, DRAWS)
        assert_allclose(record.estimate, by_hand.mean, rtol=1e-6)
        assert_allclose(record.variance, by_hand.variance, rtol=1e-5)
        assert_allclose(record.error, abs(float(by_hand.mean) - 0.7), rtol=1e-5)


COLUMN = 2
UNTREATED, TREATED = np.arange(6.0), 10.0 + np.arange(6.0)


def experiment(labels, chance=0.5, **more):
    x = np.column_stack([RNG.normal(size=(6, 2)), np.zeros(6)])
    pool = Pool(x, assignment=Assignment(COLUMN, chance, 6))
    estimand = AverageTreatmentEffect(x, COLUMN)
    return make_problem(GaussianProcess(RBF(1.0), 0.1), pool, labels, estimand, 10.0, **more)


def test_an_experiment_shows_the_label_of_the_arm_that_chance_gave():
    problem = experiment(np.stack([UNTREATED, TREATED]))
    seed, policy = 3, Random()
    records = simulate(problem, policy, 2, 2, seed)
    pool, known = problem.pool, problem.belief
    treated = []
    for index, record in enumerate(records[1:]):
        key = jax.random.fold_in(jax.random.key(seed), index)
        batch = policy.propose(key, known, problem.estimand, pool, 2)
        rows, z = np.asarray(batch.indices), np.asarray(batch.treatment)
        assert record.chosen == tuple(rows.tolist())
        x = np.asarray(pool.x)[rows]
        x[:, COLUMN] = z
        known = known.condition(x, np.where(z == 1, TREATED[rows], UNTREATED[rows]))
        assert_allclose(record.estimate, exact_moments(known, problem.estimand).mean, rtol=1e-8)
        pool, treated = pool.without(rows), [*treated, *z]
    assert {0.0, 1.0} == set(treated)  # else one arm was never looked at


def test_where_chance_has_decided_its_decision_is_revealed_with_the_label():
    factual = jnp.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0])
    seen = jnp.where(factual == 1, TREATED, UNTREATED)
    problem = experiment(seen, treatment=factual)
    record = simulate(problem, "random", 1, 3, 0)[-1]
    rows = jnp.array(record.chosen)
    x = problem.pool.x[rows].at[:, COLUMN].set(factual[rows])
    known = problem.belief.condition(x, seen[rows])
    assert_allclose(record.estimate, exact_moments(known, problem.estimand).mean, rtol=1e-8)


def test_both_arms_are_needed_where_chance_is_still_to_decide():
    with pytest.raises(InvalidInput, match=r"2 by 6; their shape is \(6,\)"):
        experiment(UNTREATED)


def test_spending_limits_every_round():
    cost = np.array([1.0, 1.0, 1.0, 5.0, 5.0, 2.0, 2.0, 1.0])
    problem = binary_problem(Accuracy(RNG.normal(size=(5, 2)), 0.6), cost=cost)
    records = simulate(problem, "random", 2, 3, 1, spending=Spending(limit=3.0))
    spent = [cost[list(record.chosen)].sum() for record in records[1:]]
    assert max(spent) <= 3.0
    assert min(len(record.chosen) for record in records[1:]) < 3  # a row of 2 or 5 stood out
    assert len({row for record in records for row in record.chosen}) == sum(
        len(record.chosen) for record in records
    )


def test_a_unit_is_bought_once_in_a_whole_run():
    unit = np.array([0, 1, 2, 3, 0, 1, 2, 3])
    problem = binary_problem(Accuracy(RNG.normal(size=(5, 2)), 0.6), unit=unit)
    records = simulate(problem, "random", 2, 2, 1)
    bought = [unit[row] for record in records for row in record.chosen]
    assert sorted(bought) == [0, 1, 2, 3]
    with pytest.raises(InvalidInput, match="would buy 6 labels but the pool has 4 available"):
        simulate(problem, "random", 3, 2, 1)


def test_several_estimands_have_no_one_error():
    x = RNG.normal(size=(5, 2))
    problem = binary_problem(Several([Accuracy(x, 0.6), Recall(x, 0.6)]))
    with pytest.raises(InvalidInput, match="A simulation measures one estimand"):
        simulate(problem, "random", 1, 2, 0)
