"""Gains by landmarks: exact where landmarks are all there is, Nyström's formula elsewhere."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.mixture import Mixture
from labelwise.lookahead.landmarks import (
    NUGGET,
    Screen,
    in_single,
    make_screen,
    pick,
    score,
)
from labelwise.types import Pool
from tests.lookahead.binary import binary_problem
from tests.lookahead.problems import Gains, random_problem

POOL, TARGET = 8, 5
OUT = [6, 1, 3]
ROWS = np.arange(POOL)[:, None]
made = eqx.filter_jit(make_screen)
covariance = eqx.filter_jit(lambda belief, x, other: belief.covariance(x, other))


@eqx.filter_jit
def gains(screen: Screen, x):
    return screen.gains(x)[0]


@cache
def key():
    return jax.random.key(0)


@cache
def problem(seed: int):
    return random_problem(seed, POOL, TARGET)


def screen_of(belief, estimand, pool: Pool, landmarks) -> Screen:
    return made(key(), belief, estimand, pool, jnp.asarray(landmarks))


def room(belief, landmarks, scale: float = 1.0) -> float:
    """How far the nugget moves a gain, relative to it: by its share of the least eigenvalue.

    Twice, as gains are squares of covariances, and twice more for the square of those.
    """
    own = np.asarray(covariance(belief, landmarks, landmarks))
    prior = float(belief.kernel.variance)
    return scale * 4.0 * NUGGET * prior / np.linalg.eigvalsh(own).min()


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_with_the_whole_target_for_landmarks_gains_are_exact(seed):
    belief, estimand, x = problem(seed)
    found = gains(screen_of(belief, estimand, Pool(x), estimand.x), x)
    exact = Gains.of(belief, estimand, x)(ROWS)
    assert_allclose(found, exact, rtol=room(belief, estimand.x), atol=1e-9 * exact.max())


@pytest.mark.parametrize("seed", [0, 4])
def test_rows_that_are_out_count_as_known(seed):
    belief, estimand, x = problem(seed)
    pool = Pool(x, pending=OUT)
    found = np.asarray(gains(screen_of(belief, estimand, pool, estimand.x), x))
    by_hand = Gains.of(belief, estimand, x)
    free = [row for row in range(POOL) if row not in OUT]
    exact = by_hand.left(OUT) - np.array([by_hand.left([*OUT, row]) for row in free])
    # Labels that are out leave less to know, of which the nugget is the larger share.
    assert_allclose(found[free], exact, rtol=room(belief, estimand.x, 20.0), atol=1e-6)


def test_few_landmarks_give_nystroems_covariances():
    belief, estimand, x = problem(2)  # a mean: its gain is one covariance, squared
    landmarks = np.asarray(estimand.x)[:3]
    found = gains(screen_of(belief, estimand, Pool(x), landmarks), x)
    by_hand = Gains.of(belief, estimand, x)
    own, there = (np.asarray(covariance(belief, landmarks, z)) for z in (landmarks, estimand.x))
    here = np.asarray(covariance(belief, x, landmarks))
    cross = here @ np.linalg.solve(
        own + NUGGET * float(belief.kernel.variance) * np.eye(3), there
    )
    expected = (cross @ by_hand.slope) ** 2 / (np.diagonal(by_hand.pool) + by_hand.noise)
    assert_allclose(found, expected, rtol=1e-6)
    assert not np.allclose(found, by_hand(ROWS), rtol=0.01)


def test_a_mixture_is_scored_by_its_heaviest_component():
    belief, estimand, x = problem(0)
    other = eqx.tree_at(lambda one: one.noise, belief, 4.0 * belief.noise)
    mixture = Mixture.of([other, belief], [-50.0, 50.0])
    found = gains(screen_of(mixture, estimand, Pool(x), estimand.x), x)
    alone = gains(screen_of(belief, estimand, Pool(x), estimand.x), x)
    assert_allclose(found, alone, rtol=1e-9)


def test_single_precision_is_enough_to_rank_rows():
    belief, estimand, x = problem(4)
    screen = screen_of(belief, estimand, Pool(x), estimand.x)
    found, near = score(in_single(screen), np.asarray(x))
    assert found.dtype == np.float32
    # Rounding of 2⁻²⁴ in each kernel value, which coefficients of up to 1/√nugget make larger.
    room_ = 2.0**-24 / np.sqrt(NUGGET) * 50.0
    exact = np.asarray(gains(screen, x))
    assert_allclose(found, exact, rtol=room_, atol=room_ * exact.max())
    distance = (
        (np.asarray(x)[:, None] - np.asarray(estimand.x)[None])
        / np.asarray(belief.kernel.length_scale)
    ) ** 2
    assert near.tolist() == np.argmin(distance.sum(axis=2), axis=1).tolist()


def test_classes_are_scored_by_the_linearised_view():
    from labelwise.lookahead.linearised_view import posterior_view
    from labelwise.lookahead.scorers.base import ExactScorer
    from labelwise.policies.search import added

    belief, estimand, x = binary_problem(0)[:3]

    @eqx.filter_jit
    def exact(belief, estimand, x):
        scorer = ExactScorer(posterior_view(key(), belief, estimand, x))
        return added(scorer, scorer.start(1))

    found = gains(screen_of(belief, estimand, Pool(x), estimand.x), x)
    expected = np.asarray(exact(belief, estimand, x))
    assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * expected.max())


def test_landmarks_are_the_rows_that_others_leave_least_known():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    own = np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=2))
    own[7], own[:, 7] = own[3], own[:, 3]  # a row that repeats another
    own[7, 7] = own[3, 3]
    found = pick(own, 10)
    for count, row in enumerate(found):
        before = found[:count]
        fall = own[:, before] @ np.linalg.solve(own[np.ix_(before, before)], own[before])
        left = np.diagonal(own) - np.diagonal(fall)
        assert left[row] == pytest.approx(left.max(), abs=1e-9)
    every = pick(own, 30)
    assert len(set(every)) == len(every) < 30
    assert not {3, 7} <= set(every)
