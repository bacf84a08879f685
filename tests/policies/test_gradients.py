"""The gradient planners: estimates against the true gradient, by enumeration."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from numpy.testing import assert_allclose

from labelwise.errors import InvalidInput
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.offer import Offer
from labelwise.policies.registry import make_policy
from labelwise.policies.reinforce import Reinforce
from labelwise.policies.subset import set_log_prob, soft_batch
from labelwise.policies.training import Training
from labelwise.types import EXCLUDED, Pool
from tests.lookahead.problems import random_problem, subsets

BELIEF, ESTIMAND, POOL_X = random_problem(0)
POOL, K = Pool(POOL_X), 2
OFFER, KEY = Offer.of(POOL), jax.random.key(9)
LOGITS = jnp.array([0.3, -0.2, 0.8, 0.0, -1.0, 0.5])
ESTIMATES = 3000


def training(**options):
    return Training(objective="exact", **({"rollouts": 4} | options))


@pytest.fixture(scope="module")
def truth():
    """∇ Σ_S P(S) H(S) over all fifteen batches."""
    cost = Reinforce(training()).cost(KEY, BELIEF, ESTIMAND, POOL, OFFER)
    rows = jnp.asarray(subsets(6, K))
    costs = jax.vmap(lambda row: cost(jax.random.key(0), row))(rows)
    mean = lambda logits: costs @ jnp.exp(jax.vmap(set_log_prob, (None, 0))(logits, rows))
    return jax.jit(jax.grad(mean))(LOGITS)


def estimates(policy, seed):
    cost = policy.cost(KEY, BELIEF, ESTIMAND, POOL, OFFER)
    keys = jax.random.split(jax.random.key(seed), ESTIMATES)
    return jax.jit(jax.vmap(lambda key: policy.gradient(key, LOGITS, K, cost)))(keys)


@pytest.mark.parametrize("baseline", [True, False])
@pytest.mark.parametrize("log_prob", ["set", "sequence"])
def test_reinforce_is_unbiased(truth, baseline, log_prob):
    found = estimates(Reinforce(training(), baseline=baseline, log_prob=log_prob), 1)
    error = found.std(axis=0) / np.sqrt(ESTIMATES)
    assert (jnp.abs(found.mean(axis=0) - truth) < 5 * error).all()


def test_reinforce_is_unbiased_with_sampled_costs(truth):
    found = estimates(Reinforce(Training(objective="sampled", rollouts=4, draws=10)), 2)
    error = found.std(axis=0) / np.sqrt(ESTIMATES)
    assert (jnp.abs(found.mean(axis=0) - truth) < 5 * error).all()


def test_the_baseline_and_the_set_each_lower_the_variance():
    noise = {
        (baseline, law): float(
            estimates(Reinforce(training(), baseline=baseline, log_prob=law), 3)
            .var(axis=0)
            .sum()
        )
        for baseline in (True, False)
        for law in ("set", "sequence")
    }
    assert noise[True, "set"] < noise[False, "set"]
    assert noise[False, "set"] < noise[False, "sequence"]


@pytest.mark.parametrize("objective", ["exact", "sampled"])
def test_the_smoothed_gradient_is_that_of_the_soft_objective(objective):
    policy = SmoothedAutodiff(
        Training(objective=objective, rollouts=1, draws=6), temperature=0.5
    )
    cost, key = policy.cost(KEY, BELIEF, ESTIMAND, POOL, OFFER, K), jax.random.key(4)
    inner = jax.random.split(key, 1)[0]
    batch_key, cost_key = jax.random.split(inner)
    soft = jax.jit(lambda logits: cost(cost_key, soft_batch(batch_key, logits, K, 0.5)))
    check_grads(soft, (LOGITS,), 1, ["rev"], eps=1e-6, rtol=1e-5, atol=1e-7)
    assert_allclose(
        policy.gradient(key, LOGITS, K, cost), jax.grad(soft)(LOGITS), rtol=1e-9, atol=1e-13
    )


def test_a_cold_smoothed_gradient_points_where_the_true_one_does(truth):
    policy = SmoothedAutodiff(training(rollouts=400), temperature=0.2)
    cost = policy.cost(KEY, BELIEF, ESTIMAND, POOL, OFFER, K)
    slope = jax.jit(lambda key: policy.gradient(key, LOGITS, K, cost))(jax.random.key(5))
    cosine = slope @ truth / jnp.sqrt((slope @ slope) * (truth @ truth))
    assert cosine > 0.8  # biased by the smoothing, but not astray


@pytest.mark.parametrize("kind", [Reinforce, SmoothedAutodiff])
def test_logits_start_at_one_over_n(kind):
    pool = Pool(POOL_X, jnp.arange(6) != 3)
    batch = kind(training(steps=0)).propose(jax.random.key(0), BELIEF, ESTIMAND, pool, K)
    expected = np.full(6, -np.log(6.0))
    expected[3] = EXCLUDED
    assert_allclose(batch.logits, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [Reinforce, SmoothedAutodiff])
def test_training_finds_a_better_batch_than_chance(kind):
    policy = kind(training(rollouts=8, steps=60))
    batch = policy.propose(jax.random.key(1), BELIEF, ESTIMAND, POOL, K)
    cost = eqx.filter_jit(Reinforce(training()).cost(KEY, BELIEF, ESTIMAND, POOL, OFFER))
    costs = [float(cost(jax.random.key(0), jnp.asarray(row))) for row in subsets(6, K)]
    mine = float(cost(jax.random.key(0), batch.indices))
    assert sum(value < mine - 1e-12 for value in costs) <= 2  # among the best three of fifteen


def test_a_drawn_batch_records_its_chances():
    policy = Reinforce(training(steps=0, floor=0.3))
    batch = policy.propose(jax.random.key(0), BELIEF, ESTIMAND, POOL, 3)
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
