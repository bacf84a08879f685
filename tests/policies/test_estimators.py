"""Estimators of the policy gradient: each against the true one, or what it says it follows."""

from functools import cache
from itertools import permutations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.lookahead.relaxation import RELAXATIONS
from labelwise.policies.constraints import Candidates, Spending
from labelwise.policies.enumeration import Enumeration
from labelwise.policies.estimator import GradientProblem
from labelwise.policies.pathwise import Pathwise, StraightThrough, soft_cost
from labelwise.policies.score_function import ScoreFunction
from labelwise.policies.subset import soft_batch
from labelwise.types import Pool
from tests.lookahead.problems import Gains, random_problem, subsets

K = 2
LOGITS = np.array([0.3, -0.2, 0.8, 0.0, -1.0, 0.5])
ROWS = subsets(6, K)
GROUPS, COUNT = 500, 4  # of roll-outs that share a baseline
STEP = 1e-6  # of finite differences
KEY = 9  # of what is common to a round


@cache
def problem(objective="exact", draws=10, size=6):
    belief, estimand, pool_x = random_problem(0, pool=size)
    pool = Pool(pool_x)
    return GradientProblem(belief, estimand, pool, Candidates.of(pool), K, objective, draws)


@cache
def costs():
    """H of every batch, by the plain formula."""
    belief, estimand, pool_x = random_problem(0)
    return Gains.of(belief, estimand, pool_x).left(ROWS)


def mean_cost(logits):
    """Σ_S P(S) H(S), the orders of each batch one by one."""
    weight = np.exp(logits)

    def probability(rows):
        left, product = weight.sum(), 1.0
        for row in rows:
            product, left = product * weight[row] / left, left - weight[row]
        return product

    return sum(
        cost * sum(probability(order) for order in permutations(rows))
        for cost, rows in zip(costs(), ROWS, strict=True)
    )


@cache
def truth():
    moves = 1e-4 * np.eye(6)
    differences = [mean_cost(LOGITS + move) - mean_cost(LOGITS - move) for move in moves]
    return np.array(differences) / 2e-4


@eqx.filter_jit
def rollouts(estimator, seed, logits, problem, groups, count):
    """Gradients of single roll-outs, in groups."""
    run = estimator.prepare(jax.random.key(KEY), problem)
    keys = jax.random.split(jax.random.key(seed), groups)
    return jax.lax.map(lambda key: run(key, logits, count), keys)


@cache
def estimates(estimator, objective="exact"):
    """Of groups of roll-outs."""
    found = rollouts(estimator, 1, LOGITS, problem(objective), GROUPS, COUNT)
    return np.asarray(found).mean(axis=1)


def assert_unbiased(found):
    error = found.std(axis=0) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - truth()) < 5 * error).all()


def test_enumeration_has_the_gradient_of_the_mean_cost():
    found = rollouts(Enumeration(), 0, LOGITS, problem(), 1, 2)[0]
    assert_allclose(found, [truth(), truth()], rtol=1e-6)


@pytest.mark.slow
def test_with_sampled_costs_enumeration_is_unbiased():
    found = rollouts(Enumeration(), 0, LOGITS, problem("sampled"), 40, 1)[:, 0]
    assert_unbiased(np.asarray(found))


def test_too_many_batches_are_not_enumerated(refused):
    with refused(where="pool"):
        Enumeration().prepare(jax.random.key(0), problem(size=300))


@pytest.mark.parametrize("baseline", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("log_prob", ["set", pytest.param("sequence", marks=pytest.mark.slow)])
def test_the_score_function_is_unbiased(baseline, log_prob):
    assert_unbiased(estimates(ScoreFunction(baseline, log_prob)))


@pytest.mark.slow
def test_the_score_function_is_unbiased_with_sampled_costs():
    assert_unbiased(estimates(ScoreFunction(), "sampled"))


@pytest.mark.slow
def test_the_baseline_and_the_set_each_lower_the_variance():
    noise = {
        (baseline, law): estimates(ScoreFunction(baseline, law)).var(axis=0).sum()
        for baseline in (True, False)
        for law in ("set", "sequence")
    }
    assert noise[True, "set"] < noise[False, "set"]
    assert noise[False, "set"] < noise[False, "sequence"]


def test_a_price_is_part_of_the_cost():
    """One row is dear, at a price far above any variance: its logit is to fall."""
    base = problem()
    pool = Pool(np.asarray(base.pool.x), cost=np.array([1.0] + [1e-9] * 5))
    candidates = Candidates.of(pool, Spending(price=1e6))
    priced = GradientProblem(base.belief, base.estimand, pool, candidates, K, "exact")
    slope = np.asarray(rollouts(Enumeration(), 0, LOGITS, priced, 1, 1)[0, 0])
    assert slope[0] > 1e3
    assert (slope[1:] < -1e2).all()


@eqx.filter_jit
def one_soft(estimator, seed, logits, problem):
    """A roll-out's gradient, and central differences of its cost."""
    prepare_key, key = jax.random.key(KEY), jax.random.key(seed)
    found = estimator.prepare(prepare_key, problem)(key, logits, 1)[0]
    cost = soft_cost(prepare_key, problem, estimator.relaxation, estimator.sparse)
    batch_key, cost_key = jax.random.split(jax.random.split(key, 1)[0])
    weights = lambda logits: soft_batch(batch_key, logits, K, estimator.temperature)
    soft = lambda logits: cost(cost_key, jnp.minimum(weights(logits), 1.0))
    moves = STEP * jnp.concatenate([jnp.eye(len(logits)), -jnp.eye(len(logits))])
    above, below = jnp.split(jax.lax.map(lambda move: soft(logits + move), moves), 2)
    return found, (above - below) / (2.0 * STEP)


@pytest.mark.parametrize(
    ("relaxation", "objective"),
    [
        ("even", "exact"),
        pytest.param("even", "sampled", marks=pytest.mark.slow),
        *(pytest.param(name, "exact", marks=pytest.mark.slow) for name in RELAXATIONS[:-1]),
    ],
)
def test_a_pathwise_gradient_is_that_of_the_soft_cost(relaxation, objective):
    estimator = Pathwise(0.5, relaxation)
    mine, differences = map(np.asarray, one_soft(estimator, 4, LOGITS, problem(objective)))
    assert np.abs(mine).max() > 1e-3
    assert_allclose(mine, differences, rtol=1e-5, atol=1e-7)


def cosine(one, other):
    return one @ other / np.sqrt((one @ one) * (other @ other))


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.1, 0.5, 10.0])
def test_the_default_points_where_the_true_gradient_does(temperature):
    found = rollouts(Pathwise(temperature), 5, LOGITS, problem(), 100, COUNT)
    assert cosine(np.asarray(found).mean(axis=(0, 1)), truth()) > 0.7


@eqx.filter_jit
def hard_slopes(key, logits, problem, temperature):
    """The cost's slopes at the hard batch by one-sided differences, and the batch's slopes."""
    cost = soft_cost(jax.random.key(KEY), problem, "precision", sparse=False)
    batch_key, cost_key = jax.random.split(jax.random.split(key, 1)[0])
    soft = lambda logits: soft_batch(batch_key, logits, K, temperature)
    order = jnp.argsort(-(logits + jax.random.gumbel(batch_key, logits.shape)))
    hard = jnp.zeros_like(logits).at[order[:K]].set(1.0)
    inwards = 1e-6 * jnp.where(hard > 0, -1.0, 1.0)
    moved = jax.lax.map(lambda move: cost(cost_key, hard + move), jnp.diag(inwards))
    return (moved - cost(cost_key, hard)) / inwards, jax.jacrev(soft)(logits)


@pytest.mark.slow
def test_straight_through_carries_slopes_at_the_hard_batch():
    found = rollouts(StraightThrough(0.7), 3, LOGITS, problem(), 1, 1)[0, 0]
    key = jax.random.split(jax.random.key(3), 1)  # as `rollouts` splits its own
    slopes, soft = hard_slopes_of(key)
    assert_allclose(found, slopes @ soft, rtol=1e-4, atol=1e-8)


def hard_slopes_of(keys):
    return map(np.asarray, hard_slopes(keys[0], LOGITS, problem(), 0.7))


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda: ScoreFunction(log_prob="order"), "log_prob"),
        (lambda: ScoreFunction().check_rollouts(1), "rollouts"),
        (lambda: Pathwise(temperature=0.0), "temperature"),
        (lambda: Pathwise(relaxation="soft"), "relaxation"),
        (lambda: StraightThrough(temperature=-1.0), "temperature"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_options_that_mean_nothing_are_refused(refused, make, where):
    with refused(where=where):
        make()
