"""Drawing with a floor: the law of the draws, and the chances recorded."""

from itertools import permutations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.policies.constraints import Candidates, Spending
from labelwise.policies.sampling import draw_batch, log_scores, take_top
from labelwise.types import EXCLUDED

LOGITS = np.array([1.0, -0.5, EXCLUDED, 2.0, 0.0])
DRAWS = 20_000


def candidates():
    return Candidates(jnp.asarray(np.ones(5, bool)), None, None, Spending())


@eqx.filter_jit
def draw_many(key, logits, k, floor, draws):
    keys = jax.random.split(key, draws)
    return jax.vmap(lambda key: draw_batch(key, logits, k, candidates(), floor))(keys)


def chance(rows, floor):
    """The law by hand: softmax over what is left, mixed with the uniform law."""
    left, chances = [0, 1, 3, 4], []
    for row in rows:
        weights = np.exp(LOGITS[left])
        own = weights[left.index(row)] / weights.sum()
        chances.append((1 - floor) * own + floor / len(left))
        left.remove(row)
    return chances


@pytest.mark.parametrize("floor", [0.0, 0.3, 1.0])
def test_draws_come_with_the_chance_they_record(floor, getkey):
    batches = draw_many(getkey(), LOGITS, 2, np.asarray(floor), DRAWS)
    drawn = np.asarray(batches.indices)
    assert 2 not in drawn
    for rows in permutations([0, 1, 3, 4], 2):
        here = (drawn == rows).all(axis=1)
        by_hand = chance(rows, floor)
        assert_allclose(np.asarray(batches.probabilities)[here][0], by_hand, rtol=1e-12)
        law = np.prod(by_hand)
        assert abs(here.mean() - law) < 5 * np.sqrt(law * (1 - law) / DRAWS)


def test_the_floor_bounds_every_chance(getkey):
    logits = np.array([50.0, 0.0, 0.0, EXCLUDED, 0.0])
    batches = draw_many(getkey(), logits, 3, np.asarray(0.2), 50)
    assert (np.asarray(batches.probabilities) >= 0.2 / np.array([4, 3, 2])).all()


def test_the_top_rows_are_not_a_draw():
    batch = take_top(jnp.asarray(LOGITS), 3, candidates())
    assert np.asarray(batch.indices).tolist() == [3, 0, 4]
    assert (np.asarray(batch.probabilities) == 1.0).all()


def test_scores_become_logits_of_a_draw_in_proportion():
    logits = np.asarray(log_scores(jnp.array([2.0, 0.0, 6.0]), jnp.array([True, True, False])))
    assert_allclose(logits[0], np.log(2.0))
    assert EXCLUDED / 2 < logits[1] < -600
    assert logits[2] == EXCLUDED
