"""Gains from draws against brute force: 0/1 labels by enumeration, Gaussian in closed form."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.estimands.custom import FunctionEstimand
from labelwise.lookahead.scorers.particles import BROADENING, make_particles
from labelwise.policies import lookahead
from labelwise.policies.lookahead import Lookahead
from labelwise.types import Pool
from tests.lookahead.binary import Truth, binary_problem
from tests.lookahead.problems import Gains, random_problem, subsets

KEYS = 8
PLACES = 2  # of rows in a batch, and of rows that are out: empty ones make up for fewer


@cache
def truth():
    return Truth(*binary_problem(0))


@eqx.filter_jit
def after(keys, belief, estimand, pool, rows, draws=1000, worlds=400):
    """Variances with these rows in the batch, and what each other adds, one row a key.

    Row -1 is none.
    """

    def one(key):
        particles = make_particles(key, belief, estimand, pool, draws, worlds)
        state = particles.start(rows.shape[0] + 1)
        for place in range(rows.shape[0]):
            fuller = particles.put(state, jnp.asarray(place), rows[place])
            keep = lambda new, old, used=rows[place] >= 0: jnp.where(used, new, old)
            state = jax.tree.map(keep, fuller, state)
        left = particles.variances(state)[0]
        return left, left - particles.gains(state)[1]

    return jax.lax.map(one, keys)


def keys(seed=0):
    return jax.random.split(jax.random.key(seed), KEYS)


def assert_mean_is(found, expected, bias=0.0):
    """Within five standard errors over keys, and a bias that draws allow for."""
    found = np.asarray(found)
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - expected) < 5 * error + bias * expected


# The weighted variance of n draws is off by a share of about one over their effective number:
# some hundreds of the thousand here.
BIAS = 0.01


def found(keys, rows, out=()):
    """Of recall, after some rows while others are out."""
    belief, recall, x = binary_problem(0)
    padded = lambda some: [*some, *[-1] * (PLACES - len(some))]
    pool = Pool(x, pending=padded(out))
    left, with_more = after(keys, belief, recall, pool, jnp.array(padded(rows)))
    return np.asarray(left), np.asarray(with_more)


@pytest.mark.slow
def test_binary_labels_leave_the_variance_that_enumeration_says():
    left, with_more = found(keys(), [2, 0])
    assert_mean_is(left, truth().variance([2, 0]), BIAS)
    for row in (1, 3):
        assert_mean_is(with_more[:, row], truth().variance([2, 0, row]), BIAS)


def test_pending_labels_are_known_in_every_world():
    left, with_more = found(keys(1), [], out=[3])
    assert_mean_is(left, truth().variance([3]), BIAS)
    for row in (0, 1, 2):
        assert_mean_is(with_more[:, row], truth().variance([3, row]), BIAS)


def broadened(belief, estimand, pool_x, rows):
    """The exact H(S) of a squared error, labels read with the documented additional noise."""
    rows, known = np.asarray(rows), Gains.of(belief, estimand, pool_x)
    cross, own, w = known.cross[rows], known.pool[np.ix_(rows, rows)], np.diag(known.curvature)
    noise = known.noise + BROADENING * np.diag(own)
    gone = cross.T @ np.linalg.solve(own + np.diag(noise), cross)
    now, slope = known.left([]), known.slope
    return now - slope @ gone @ slope - 2 * np.trace(w @ gone @ w @ gone)


@pytest.fixture(scope="module")
def gaussian():
    return random_problem(0, pool=4, target=3)


@pytest.mark.slow
def test_gaussian_labels_leave_what_the_closed_form_says_for_broadened_noise(gaussian):
    belief, estimand, pool_x = gaussian
    found = after(keys(), belief, estimand, Pool(pool_x), jnp.array([1]))
    left, with_more = map(np.asarray, found)
    assert_mean_is(left, broadened(*gaussian, [1]), 2 * BIAS)
    for row in (0, 2, 3):
        assert_mean_is(with_more[:, row], broadened(*gaussian, [1, row]), 2 * BIAS)


@pytest.mark.slow
def test_more_draws_reduce_the_error(gaussian):
    """Thirty times the draws and worlds should cut it by five; a half is surely cut."""
    belief, estimand, pool_x = gaussian
    exact, rows = broadened(*gaussian, [1]), jnp.array([1])
    miss = lambda draws, worlds: np.asarray(
        after(keys(2), belief, estimand, Pool(pool_x), rows, draws, worlds)[0]
    )
    rough, fine = miss(100, 13), miss(1000, 400)
    root = lambda found: np.sqrt(np.mean((found - exact) ** 2))
    assert root(fine) < 0.5 * root(rough)


@pytest.mark.slow
def test_the_level_of_the_estimand_does_not_matter(gaussian):
    """Variances of numbers near a hundred million must not drown in rounding."""
    belief, estimand, pool_x = gaussian
    gains = []
    for level in (0.0, 1e8):
        value = lambda outcome, mass, level=level: level + mass @ outcome
        lifted = FunctionEstimand(estimand.x, value)
        _, more = after(keys(3), belief, lifted, Pool(pool_x), jnp.array([1]), 100, 20)
        gains.append(more)
    assert_allclose(gains[0], gains[1], rtol=1e-6)


@eqx.filter_jit
def base_and_effective(key, belief, estimand, pool):
    """Where draws are ruled out from the start, and how many count before any label."""
    particles = make_particles(key, belief, estimand, pool, 50, 20)
    return particles.base, particles.effective(particles.start(1))


def test_the_author_of_a_world_does_not_vouch_for_itself(getkey):
    belief, recall, x = binary_problem(0)
    base, full = base_and_effective(getkey(), belief, recall, Pool(x))
    assert ((np.asarray(base) < -1e20).sum(axis=1) == 1).all()
    assert float(full) == pytest.approx(49.0)


@pytest.fixture(scope="module")
def shares():
    """Of the best pair's true gain, what lookahead from draws attains on several problems."""
    found = []
    for seed in range(6):
        belief, estimand, pool_x = binary_problem(seed, pool=6, target=4)
        batch = Lookahead().propose(jax.random.key(seed), belief, estimand, Pool(pool_x), 2)
        truth = Truth(belief, estimand, pool_x)
        best = max(truth.gain(rows) for rows in subsets(6, 2).tolist())
        found.append(truth.gain(np.asarray(batch.indices).tolist()) / best)
    print("shares of the best gain:", np.round(found, 3))
    return found


@pytest.mark.slow
def test_lookahead_from_draws_finds_nearly_the_best_batch(shares):
    assert min(shares) >= 0.9


def test_a_large_pool_is_screened_with_labels_pending(monkeypatch):
    """The rows drawn at are then not those of the pool, and pending ones stand beside them."""
    monkeypatch.setattr(lookahead, "SCREENED", 7)
    belief, estimand, pool_x = binary_problem(1, pool=11)
    pool = Pool(pool_x, np.arange(11) != 2, pending=[4, -1], cost=np.ones(11))
    batch = Lookahead(effort="greedy").propose(jax.random.key(0), belief, estimand, pool, 3)
    chosen = set(np.asarray(batch.indices).tolist())
    assert len(chosen) == 3
    assert not chosen & {2, 4}
    assert batch.scores.shape == (11,)
