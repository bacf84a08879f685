"""Algorithm 1 against known labels: by hand, and compiled once."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.datasets.synthetic import ClusterDesign, Sample, make_clusters
from labelwise.errors import InvalidInput
from labelwise.estimands.combine import Several
from labelwise.estimands.effect import AverageTreatmentEffect
from labelwise.estimands.moments import moments_of
from labelwise.estimands.named import Accuracy, Recall
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.baselines import Random, Uncertainty
from labelwise.policies.constraints import Spending
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.sampling import take_rows
from labelwise.simulation.loop import DRAWS, _record, play, simulate
from labelwise.simulation.problem import Problem
from labelwise.types import Assignment, Pool
from tests.lookahead.problems import Gains

# Most runs buy four labels, so that what they compile is shared.
DESIGN = ClusterDesign(
    clusters=3,
    spacing=2.0,
    initial=Sample((8, 0, 0), 0.5),
    pool=Sample((4, 4, 4), 0.25),
    target=Sample((3, 3, 3), 0.5),
)


@cache
def clusters():
    return make_clusters(0, DESIGN)


@eqx.filter_jit
def learn(prior, problem, x, y, weight):
    """What is known by the initial labels and those of the rows with weight 1."""
    return prior.condition(problem.x, problem.y).condition(x, y, weight)


@eqx.filter_jit
def measure(belief, estimand):
    return moments_of(jax.random.key(0), belief, estimand, DRAWS)


def after(problem, bought, prior=None, x=None, y=None):
    """Belief and moments by hand, once the labels of some pool rows are known."""
    x, y = (problem.pool.x if x is None else x), (problem.labels if y is None else y)
    weight = np.isin(np.arange(len(y)), bought).astype(float)
    belief = learn(problem.prior if prior is None else prior, problem, x, y, weight)
    return belief, measure(belief, problem.estimand)


def best_rows(belief, estimand, x, left, k):
    """One row after the other, each the best to add, by plain formulas."""
    gains, rows = Gains.of(belief, estimand, x), []
    for _ in range(k):
        others = [row for row in left if row not in rows]
        rows.append(max(others, key=lambda row: gains([*rows, row])))
    return rows


def test_it_is_the_loop_of_algorithm_1():
    problem = clusters()
    records = simulate(problem, Lookahead(effort="greedy"), rounds=2, batch=2, seed=0)
    belief, bought = problem.belief, []
    for index, record in enumerate(records):
        if index:
            left = sorted(set(range(12)) - set(bought))
            rows = best_rows(belief, problem.estimand, problem.pool.x, left, 2)
            assert record.chosen == tuple(rows)
            bought += rows
        belief, moments = after(problem, bought)
        assert record.round == index
        assert_allclose(record.estimate, moments.mean, rtol=1e-9)
        assert_allclose(record.variance, moments.variance, rtol=1e-7)
        assert_allclose(
            record.error, abs(float(moments.mean) - float(problem.truth)), rtol=1e-6
        )
    assert len(set(bought)) == 4


def test_batch_sizes_may_differ_by_round():
    records = simulate(clusters(), "random", rounds=3, batch=[2, 1, 1], seed=3)
    assert [len(record.chosen) for record in records] == [0, 2, 1, 1]
    assert len({row for record in records for row in record.chosen}) == 4


def test_the_seed_decides_the_draws():
    run = lambda seed: [r.chosen for r in simulate(clusters(), "random", 2, 2, seed)]
    assert run(5) == run(5)
    assert run(5) != run(6)


class FirstRow(AbstractPolicy):
    """Wants row 0, again and again; refuses to notice that it is gone."""

    def check(self, belief, estimand):
        pass

    def choose(self, key, belief, estimand, pool, k, spending):
        row = jnp.argmax(pool.available)[None]
        return take_rows(row, jnp.zeros(pool.size), jnp.zeros(pool.size))


@cache
def first_rows(shrinking):
    return simulate(clusters(), FirstRow(), 4, 1, 0, shrinking=shrinking)


def test_a_bought_row_leaves_the_pool_unless_told_otherwise():
    chosen = lambda shrinking: [record.chosen for record in first_rows(shrinking)]
    assert chosen(True) == [(), (0,), (1,), (2,), (3,)]
    assert chosen(False) == [(), (0,), (0,), (0,), (0,)]


def test_a_row_bought_twice_counts_as_two_labels():
    problem = clusters()
    x, y = np.array(problem.pool.x), np.array(problem.labels)
    x[1], y[1] = x[0], y[0]
    _, twice = after(problem, [0, 1], x=x, y=y)
    assert_allclose(first_rows(shrinking=False)[2].variance, twice.variance, rtol=1e-8)


def test_a_prior_made_anew_each_round_is_made_from_the_labels_known_by_then():
    seen, problem = [], clusters()

    def refit(x, y):
        seen.append((x, y))
        return GaussianProcess(RBF(1.0, 0.1 * len(y)), 0.01)

    records = simulate(problem, "random", rounds=3, batch=[2, 1, 1], seed=0, refit=refit)
    assert [len(y) for _, y in seen] == [8, 10, 11, 12]
    rows = [*records[1].chosen, *records[2].chosen, *records[3].chosen]
    x, y = np.asarray(problem.pool.x)[rows], np.asarray(problem.labels)[rows]
    assert_allclose(seen[3][0], np.concatenate([problem.x, x]))
    assert_allclose(seen[3][1], np.concatenate([problem.y, y]))
    _, moments = after(problem, rows, refit(*seen[3]))
    assert_allclose(records[3].variance, moments.variance, rtol=1e-7)
    assert_allclose(records[3].estimate, moments.mean, rtol=1e-9)


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


def test_ten_rounds_compile_once(meter):
    policy = Counted(Lookahead(effort="greedy"), mark=1)
    before = meter.programs
    played = play(clusters(), policy, rounds=10, batch=1, seed=0)
    rounds = (_record(round_, clusters()) for round_ in played)
    next(rounds), next(rounds)
    assert meter.programs > before  # the listener hears
    before = meter.programs
    assert len(list(rounds)) == 9
    assert meter.programs == before
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
        simulate(clusters(), Uncertainty(), rounds, batch, 0)


def test_no_rounds_give_the_starting_point():
    assert [record.round for record in simulate(clusters(), "random", 0, 5, 0)] == [0]


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def make_problem(prior, pool, labels, estimand, truth, **more):
    x = jnp.asarray(normal(4, 4, pool.x.shape[1]))
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


def recall():
    return Recall(normal(5, 5, 2), np.linspace(0.1, 0.9, 5))


def binary_problem(estimand=None, **columns):
    prior = GaussianProcessClassifier(RBF(1.0, 2.0))
    pool = Pool(normal(6, 8, 2), **columns)
    labels = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    return make_problem(prior, pool, labels, estimand or recall(), 0.7)


def test_a_classifier_learns_of_recall():
    """Estimates are of draws: the same ones as made by hand from the labels bought."""
    problem = binary_problem()
    records = simulate(problem, "random", 2, 2, 0)
    assert len({row for record in records for row in record.chosen}) == 4
    bought: list[int] = []
    for record in records:
        bought += record.chosen
        _, by_hand = after(problem, bought)
        assert_allclose(record.estimate, by_hand.mean, rtol=1e-6)
        assert_allclose(record.variance, by_hand.variance, rtol=1e-5)
        assert_allclose(record.error, abs(float(by_hand.mean) - 0.7), rtol=1e-5)


COLUMN = 2
UNTREATED, TREATED = np.arange(6.0), 10.0 + np.arange(6.0)


def experiment(labels, chance=0.5, **more):
    x = np.column_stack([normal(7, 6, 2), np.zeros(6)])
    pool = Pool(x, assignment=Assignment(COLUMN, chance, 6))
    estimand = AverageTreatmentEffect(x, COLUMN)
    return make_problem(GaussianProcess(RBF(1.0), 0.1), pool, labels, estimand, 10.0, **more)


def treated_as(problem, treatment):
    """The pool's rows under these treatments, and their labels."""
    x = np.array(problem.pool.x)
    x[:, COLUMN] = treatment
    return {"x": x, "y": np.where(treatment == 1, TREATED, UNTREATED)}


def test_an_experiment_shows_the_label_of_the_arm_that_chance_gave():
    problem = experiment(np.stack([UNTREATED, TREATED]))
    seed, policy = 3, Random()
    records = simulate(problem, policy, 2, 2, seed)
    pool, treatment, bought = problem.pool, np.zeros(6), []
    for index, record in enumerate(records[1:]):
        key = jax.random.fold_in(jax.random.key(seed), index)
        # Chance asks no belief, so the first one does.
        batch = policy.propose(key, problem.belief, problem.estimand, pool, 2)
        rows = np.asarray(batch.indices)
        assert record.chosen == tuple(rows.tolist())
        treatment[rows], bought = np.asarray(batch.treatment), [*bought, *rows]
        _, known = after(problem, bought, **treated_as(problem, treatment))
        assert_allclose(record.estimate, known.mean, rtol=1e-8)
        pool = pool.without(rows)
    assert set(treatment[bought]) == {0.0, 1.0}  # else one arm was never looked at


def test_where_chance_has_decided_its_decision_is_revealed_with_the_label():
    factual = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0])
    seen = np.where(factual == 1, TREATED, UNTREATED)
    problem = experiment(seen, treatment=jnp.asarray(factual))
    records = simulate(problem, "random", 2, 2, 0)
    bought = [*records[1].chosen, *records[2].chosen]
    _, known = after(problem, bought, **treated_as(problem, factual))
    assert_allclose(records[-1].estimate, known.mean, rtol=1e-8)


def test_both_arms_are_needed_where_chance_is_still_to_decide():
    with pytest.raises(InvalidInput, match=r"2 by 6; their shape is \(6,\)"):
        experiment(UNTREATED)


def test_spending_limits_every_round():
    cost = np.array([1.0, 2.0, 1.0, 5.0, 5.0, 2.0, 2.0, 1.0])
    problem = binary_problem(cost=cost)
    records = simulate(problem, "random", 2, 2, 3, spending=Spending(limit=2.0))
    spent = [cost[list(record.chosen)].sum() for record in records[1:]]
    assert max(spent) <= 2.0
    assert min(len(record.chosen) for record in records[1:]) < 2  # a row of 2 stood out
    assert len({row for record in records for row in record.chosen}) == sum(
        len(record.chosen) for record in records
    )


def test_a_unit_is_bought_once_in_a_whole_run():
    unit = np.array([0, 1, 2, 3, 0, 1, 2, 3])
    problem = binary_problem(unit=unit)
    records = simulate(problem, "random", 2, 2, 1)
    bought = [unit[row] for record in records for row in record.chosen]
    assert sorted(bought) == [0, 1, 2, 3]
    with pytest.raises(InvalidInput, match="would buy 6 labels but the pool has 4 available"):
        simulate(problem, "random", 3, 2, 1)


def test_several_estimands_have_no_one_error():
    problem = binary_problem(Several([Accuracy(normal(5, 5, 2), 0.6), recall()]))
    with pytest.raises(InvalidInput, match="A simulation measures one estimand"):
        simulate(problem, "random", 1, 2, 0)
