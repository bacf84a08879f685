"""The gradient planners: where they start, where they get to, what they refuse."""

from functools import cache

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.errors import InvalidInput
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.optimise import Training
from labelwise.policies.registry import make_policy
from labelwise.policies.reinforce import Reinforce
from labelwise.types import EXCLUDED, Pool
from tests.lookahead.problems import Gains, random_problem, subsets

K = 2
ROWS = subsets(6, K)


def training(**options):
    return Training(objective="exact", **({"rollouts": 4} | options))


@cache
def problem():
    belief, estimand, pool_x = random_problem(0)
    return belief, estimand, Pool(pool_x)


@pytest.mark.parametrize("kind", [Reinforce, SmoothedAutodiff])
def test_logits_start_at_one_over_n(kind):
    belief, estimand, pool = problem()
    pool = Pool(np.asarray(pool.x), np.arange(6) != 3)
    batch = kind(training(steps=0)).propose(jax.random.key(0), belief, estimand, pool, K)
    expected = np.full(6, -np.log(6.0))
    expected[3] = EXCLUDED
    assert_allclose(batch.logits, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [Reinforce, SmoothedAutodiff])
def test_training_finds_a_better_batch_than_chance(kind):
    policy = kind(training(rollouts=8, steps=60))
    batch = policy.propose(jax.random.key(1), *problem(), K)
    costs = Gains.of(*random_problem(0)).left(ROWS)
    place = ROWS.tolist().index(sorted(np.asarray(batch.indices)))
    # Among the best three of fifteen.
    assert (costs < costs[place] - 1e-12).sum() <= 2


@pytest.mark.slow
def test_a_drawn_batch_records_its_chances():
    policy = Reinforce(training(steps=0, floor=0.3))
    batch = policy.propose(jax.random.key(0), *problem(), 3)
    assert_allclose(batch.probabilities, 1 / np.array([6.0, 5.0, 4.0]), rtol=1e-12)


@pytest.mark.parametrize(("centred", "relaxation"), [(True, "centred"), (False, "letter")])
def test_what_campaigns_of_before_say_of_labels_in_part_is_understood(centred, relaxation):
    policy = make_policy({"name": "smoothed-autodiff", "centred": centred})
    assert policy == SmoothedAutodiff(relaxation=relaxation)


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
        (lambda: SmoothedAutodiff(relaxation="soft"), "relaxation must be letter, centred"),
        (lambda: make_policy("magic"), "There is no policy 'magic'; choose from random"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_settings_are_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
