"""The gradient planners: estimates against the true gradient, by enumeration."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.errors import InvalidInput
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.constraints import Candidates
from labelwise.policies.optimise import Training
from labelwise.policies.registry import make_policy
from labelwise.policies.reinforce import Reinforce
from labelwise.policies.subset import set_log_prob, soft_batch
from labelwise.types import EXCLUDED, Pool
from tests.lookahead.problems import random_problem, subsets

K = 2
LOGITS = np.array([0.3, -0.2, 0.8, 0.0, -1.0, 0.5])
ROWS = subsets(6, K)
ESTIMATES = 500
STEP = 1e-6  # of finite differences


def training(**options):
    return Training(objective="exact", **({"rollouts": 4} | options))


@cache
def problem():
    belief, estimand, pool_x = random_problem(0)
    return belief, estimand, Pool(pool_x)


@eqx.filter_jit
def enumerate_batches(logits, rows, belief, estimand, pool):
    """Cost of every batch, and the gradient of their mean Σ_S P(S) H(S)."""
    key = jax.random.key(9)
    cost = Reinforce(training()).cost(key, belief, estimand, pool, Candidates.of(pool))
    costs = jax.vmap(lambda row: cost(key, row))(rows)
    mean = lambda logits: costs @ jnp.exp(jax.vmap(set_log_prob, (None, 0))(logits, rows))
    return costs, jax.grad(mean)(logits)


@pytest.fixture(scope="module")
def enumerated():
    costs, slope = enumerate_batches(LOGITS, ROWS, *problem())
    return np.asarray(costs), np.asarray(slope)


@pytest.fixture(scope="module")
def truth(enumerated):
    return enumerated[1]


@eqx.filter_jit
def estimate(policy, seed, logits, belief, estimand, pool):
    """Many estimates of the gradient."""
    cost = policy.cost(jax.random.key(9), belief, estimand, pool, Candidates.of(pool))
    keys = jax.random.split(jax.random.key(seed), ESTIMATES)
    return jax.vmap(lambda key: policy.gradient(key, logits, K, cost))(keys)


@cache
def estimates(policy):
    return np.asarray(estimate(policy, 1, LOGITS, *problem()))


@pytest.mark.parametrize("baseline", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("log_prob", ["set", pytest.param("sequence", marks=pytest.mark.slow)])
def test_reinforce_is_unbiased(truth, baseline, log_prob):
    found = estimates(Reinforce(training(), baseline=baseline, log_prob=log_prob))
    error = found.std(axis=0) / np.sqrt(ESTIMATES)
    assert (np.abs(found.mean(axis=0) - truth) < 5 * error).all()


@pytest.mark.slow
def test_reinforce_is_unbiased_with_sampled_costs(truth):
    found = estimates(Reinforce(Training(objective="sampled", rollouts=4, draws=10)))
    error = found.std(axis=0) / np.sqrt(ESTIMATES)
    assert (np.abs(found.mean(axis=0) - truth) < 5 * error).all()


@pytest.mark.slow
def test_the_baseline_and_the_set_each_lower_the_variance():
    noise = {
        (baseline, law): estimates(Reinforce(training(), baseline=baseline, log_prob=law))
        .var(axis=0)
        .sum()
        for baseline in (True, False)
        for law in ("set", "sequence")
    }
    assert noise[True, "set"] < noise[False, "set"]
    assert noise[False, "set"] < noise[False, "sequence"]


@eqx.filter_jit
def smoothed(policy, seed, logits, belief, estimand, pool):
    """The policy's gradient; that of one soft roll-out; and central differences of its cost."""
    key = jax.random.key(seed)
    cost = policy.cost(jax.random.key(9), belief, estimand, pool, Candidates.of(pool), K)
    batch_key, cost_key = jax.random.split(jax.random.split(key, 1)[0])
    soft = lambda logits: cost(cost_key, soft_batch(batch_key, logits, K, policy.temperature))
    moves = STEP * jnp.concatenate([jnp.eye(len(logits)), -jnp.eye(len(logits))])
    above, below = jnp.split(jax.lax.map(lambda move: soft(logits + move), moves), 2)
    differences = (above - below) / (2.0 * STEP)
    return policy.gradient(key, logits, K, cost), jax.grad(soft)(logits), differences


@pytest.mark.parametrize(
    "objective", ["exact", pytest.param("sampled", marks=pytest.mark.slow)]
)
def test_the_smoothed_gradient_is_that_of_the_soft_objective(objective):
    policy = SmoothedAutodiff(
        Training(objective=objective, rollouts=1, draws=6), temperature=0.5
    )
    mine, slope, differences = map(np.asarray, smoothed(policy, 4, LOGITS, *problem()))
    assert_allclose(slope, differences, rtol=1e-5, atol=1e-7)
    assert_allclose(mine, slope, rtol=1e-9, atol=1e-13)


@eqx.filter_jit
def gradient(policy, seed, logits, belief, estimand, pool):
    cost = policy.cost(jax.random.key(9), belief, estimand, pool, Candidates.of(pool), K)
    return policy.gradient(jax.random.key(seed), logits, K, cost)


@pytest.mark.slow
def test_a_cold_smoothed_gradient_points_where_the_true_one_does(truth):
    policy = SmoothedAutodiff(training(rollouts=400), temperature=0.2)
    slope = np.asarray(gradient(policy, 5, LOGITS, *problem()))
    cosine = slope @ truth / np.sqrt((slope @ slope) * (truth @ truth))
    assert cosine > 0.8  # biased by the smoothing, but not astray


@pytest.mark.parametrize("kind", [Reinforce, SmoothedAutodiff])
def test_logits_start_at_one_over_n(kind):
    belief, estimand, pool = problem()
    pool = Pool(np.asarray(pool.x), np.arange(6) != 3)
    batch = kind(training(steps=0)).propose(jax.random.key(0), belief, estimand, pool, K)
    expected = np.full(6, -np.log(6.0))
    expected[3] = EXCLUDED
    assert_allclose(batch.logits, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [Reinforce, SmoothedAutodiff])
def test_training_finds_a_better_batch_than_chance(kind, enumerated):
    policy = kind(training(rollouts=8, steps=60))
    batch = policy.propose(jax.random.key(1), *problem(), K)
    costs, place = enumerated[0], ROWS.tolist().index(sorted(np.asarray(batch.indices)))
    # Among the best three of fifteen.
    assert (costs < costs[place] - 1e-12).sum() <= 2


@pytest.mark.slow
def test_a_drawn_batch_records_its_chances():
    policy = Reinforce(training(steps=0, floor=0.3))
    batch = policy.propose(jax.random.key(0), *problem(), 3)
    assert_allclose(batch.probabilities, 1 / np.array([6.0, 5.0, 4.0]), rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Training(objective="guess"), "objective must be auto, exact or sampled"),
        (lambda: Training(rollouts=0), "rollouts must be at least 1; it is 0"),
        (lambda: Training(draws=1), "draws must be at least 2; it is 1"),
        (lambda: Training(steps=-1), "steps must be at least 0; it is -1"),
        (lambda: Training(learning_rate=0.0), "learning_rate must be positive; it is 0.0"),
        (lambda: Training(floor=1.5), "floor must lie between 0 and 1; it is 1.5"),
        (lambda: Reinforce(Training(rollouts=1)), "needs rollouts of at least 2; it is 1"),
        (lambda: Reinforce(log_prob="order"), "log_prob must be set or sequence"),
        (lambda: SmoothedAutodiff(temperature=0.0), "temperature must be positive; it is 0.0"),
        (lambda: make_policy("magic"), "There is no policy 'magic'; choose from random"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_settings_are_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
