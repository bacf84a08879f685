"""Pending labels in the plan: against H of pending rows and batch together."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.estimands.named import MeanSquaredError
from labelwise.lookahead.expected import expected_variance
from labelwise.lookahead.gain import Slots, added_gain, batch_gain, remaining
from labelwise.lookahead.pending import expect_pending, moves_by_pending, view_past_pending
from labelwise.lookahead.rollout import conditioned_variance
from labelwise.lookahead.soft import Heaviest
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.baselines import IntegratedVariance, SequentialUncertainty, Uncertainty
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.optimise import Training
from labelwise.policies.reinforce import Reinforce
from labelwise.policies.search import _pair_gains
from labelwise.types import Pool
from tests.lookahead.binary import binary_problem
from tests.lookahead.binary import moments as moments_at
from tests.lookahead.problems import (
    conditioned,
    expected_variance_by_hand,
    random_problem,
    subsets,
)
from tests.lookahead.test_gain import every_shape
from tests.marks import but_slow

POOL, OUT = 8, [6, 1, 3]
FREE = [row for row in range(POOL) if row not in OUT]
WEIGHTINGS = pytest.mark.parametrize(
    "weighting", ["paper", pytest.param("precision", marks=pytest.mark.slow)]
)
SEEDS = pytest.mark.parametrize("seed", [0, 2, 4, 6])
SHORT = Training(objective="exact", rollouts=4, steps=3)
PLANNERS = {
    "uncertainty": Uncertainty(),
    "uncertainty-sequential": SequentialUncertainty(),
    "integrated-variance": IntegratedVariance(),
    "reinforce": Reinforce(SHORT),
    "smoothed-autodiff": SmoothedAutodiff(SHORT),
}
BATCHES = ([0], [5, 2], [7, 4, 0])
PAIRED = np.array([0, 7, 2])
expect = eqx.filter_jit(expect_pending)


def problem(seed, pending=OUT, pool=POOL, weighting="paper"):
    belief, estimand, x = random_problem(seed, pool=pool, weighting=weighting)
    return belief, estimand, Pool(x, pending=pending)


def propose(policy, belief, estimand, pool, k=2, seed=0):
    batch = policy.propose(jax.random.key(seed), belief, estimand, pool, k)
    return np.asarray(batch.indices).tolist()


@eqx.filter_jit
def planned_gains(belief, estimand, pool):
    """Of batches; and with row 4 in the second place, what rows and pairs of rows add."""
    view, row = view_past_pending(belief, estimand, pool), jnp.asarray(4)
    slots = Slots.empty(view, 2).put(jnp.asarray(1), row, view.columns(row[None]))
    left = remaining(view, slots)
    added, pairs = added_gain(view, left), _pair_gains(view, left, jnp.asarray(PAIRED))
    batches = [batch_gain(view, jnp.array(rows))[0] for rows in BATCHES]
    return batches, left.gain[0], added[0], pairs[0]


@cache
def found(seed, weighting):
    return jax.tree.map(np.asarray, planned_gains(*problem(seed, weighting=weighting)))


def truth(seed, rows, weighting="paper"):
    """H(pending) - H(pending ∪ rows), by the formula that knows of no pending rows."""
    of = random_problem(seed, pool=POOL, weighting=weighting)
    return expected_variance_by_hand(*of, OUT) - expected_variance_by_hand(*of, [*OUT, *rows])


@WEIGHTINGS
@SEEDS
def test_the_gain_is_the_fall_of_the_objective_given_pending_rows(seed, weighting):
    for rows, gain in zip(BATCHES, found(seed, weighting)[0], strict=True):
        expected = truth(seed, rows, weighting)
        assert_allclose(gain, expected, rtol=1e-10, err_msg=str(rows))


@SEEDS
def test_rows_and_pairs_add_what_they_add_to_the_objective(seed):
    _, before, added, pairs = found(seed, "paper")
    assert_allclose(before, truth(seed, [4]), rtol=1e-10)
    for row in (0, 2, 5, 7):
        assert_allclose(before + added[row], truth(seed, [4, row]), rtol=1e-10)
    for i, j in ((0, 1), (2, 1)):
        after = truth(seed, [4, PAIRED[i], PAIRED[j]])
        assert_allclose(before + pairs[i, j], after, rtol=1e-10)


@eqx.filter_jit
def now_expected_and_seen(belief, estimand, pool, out):
    """Means and covariances at pool and target, now, in expectation, and after the labels."""
    expected = expect_pending(belief, pool)
    seen = belief.condition(pool.x[out], jnp.zeros(out.shape[0]))
    of = lambda belief: (
        (belief.mean(pool.x), belief.covariance(pool.x), belief.covariance(estimand.x))
    )
    moves = moves_by_pending(belief, pool, estimand.x)
    return of(belief), of(expected), of(seen), moves, (belief.noise, expected.noise)


@cache
def moments(weighting):
    found = now_expected_and_seen(
        *problem(0, [6, -1, 1, 3], weighting=weighting), jnp.array(OUT)
    )
    return jax.tree.map(np.asarray, found)


@WEIGHTINGS
def test_expecting_labels_keeps_the_mean_and_takes_their_variance(weighting):
    now, expected, seen, _, noise = moments(weighting)
    assert_allclose(expected[0], now[0], rtol=1e-10)
    assert_allclose(expected[1], seen[1], atol=1e-12)
    assert noise[0] == noise[1]


@WEIGHTINGS
def test_the_moves_of_the_mean_have_the_covariance_that_labels_remove(weighting):
    now, expected, _, moves, _ = moments(weighting)
    assert_allclose(moves @ moves.T, now[2] - expected[2], atol=1e-12)
    assert_allclose(moves[:, 1], 0.0, atol=1e-14)


def test_nothing_pending_changes_nothing():
    belief, estimand, pool = problem(0, pending=None)
    assert expect_pending(belief, pool) is belief
    assert moves_by_pending(belief, pool, estimand.x).shape == (5, 0)
    view = jax.eval_shape(lambda: view_past_pending(belief, estimand, pool))
    assert view.tilts.shape == (1, 1, POOL)


def chance_by_hand(mean, variance):
    """Of a 1, if the function is normal."""
    law = norm(mean, np.sqrt(variance))
    reach = mean - 12.0 * law.std(), mean + 12.0 * law.std()
    return quad(lambda f: expit(f) * law.pdf(f), *reach, epsabs=1e-11)[0]


@eqx.filter_jit
def expected_and_told(belief, pool, x, shares):
    """Moments at the pool if pending labels are expected, and if told to be 1 in a share."""
    told = belief.condition(x, shares)
    return moments_at(expect_pending(belief, pool), pool.x), moments_at(told, pool.x)


def test_of_pending_0_1_labels_the_chance_of_a_1_is_expected():
    belief, _, x = binary_problem(0)
    out = [3, 1]
    mean, covariance = map(np.asarray, moments_at(belief, x))
    shares = [chance_by_hand(mean[row], covariance[row, row]) for row in out]
    pool = Pool(x, pending=[3, -1, 1])
    found, told = expected_and_told(belief, pool, np.asarray(x)[out], np.array(shares))
    assert_allclose(found[0], told[0], atol=1e-6)
    assert_allclose(found[1], told[1], atol=1e-6)


ROLLED = 10_000  # draws of one roll-out


@eqx.filter_jit
def rolled_out(key, belief, estimand, pool, rows):
    batch = Heaviest(rows, jnp.ones(rows.shape[0]))
    return conditioned_variance(key, belief, estimand, pool, batch, ROLLED)[0]


@pytest.mark.parametrize("place", [0, 4, POOL - 1])
@pytest.mark.parametrize("out", [True, False])
def test_a_roll_out_leaves_the_variance_of_pending_rows_and_batch(out, place, getkey):
    """Of a linear estimand, whose variance no label changes; a telling row is moved about."""
    belief, estimand, x = random_problem(2, pool=POOL)
    x, batch = np.roll(x, place - 3, axis=0), (np.array([5, 2]) + place - 3) % POOL
    pool = Pool(x, pending=[-1, place if out else -1])
    found = float(rolled_out(getkey(), belief, estimand, pool, jnp.asarray(batch)))
    left = lambda rows: expected_variance_by_hand(belief, estimand, x, rows)
    # The variance of n draws of a normal is off by √(2/n) of it.
    error = 5 * np.sqrt(2 / ROLLED)
    assert_allclose(found, left([place, *batch] if out else batch), rtol=error)
    assert left([place, *batch]) < (1.0 - 2 * error) * left(batch)  # it tells them apart


def best_batch(value):
    batches = [rows for rows in subsets(POOL, 2).tolist() if set(rows) <= set(FREE)]
    return min(batches, key=value)


@eqx.filter_jit
def mean_at_target(belief, estimand):
    return belief.mean(estimand.x)


def flat_problem(seed, pending=OUT):
    """The prediction is the present mean, so that its moves alone give the error a slope."""
    belief, estimand, pool = problem(seed, pending)
    mean = mean_at_target(belief, estimand)
    return belief, MeanSquaredError(estimand.x, mean, estimand.mass), pool


def enumerate_best(seed):
    """The batch that is best with the pending rows, best if the mean stays, best without."""
    belief, estimand, pool = flat_problem(seed)
    still = expect(belief, pool)
    after = lambda belief, rows: expected_variance_by_hand(belief, estimand, pool.x, rows)
    return (
        best_batch(lambda rows: after(belief, [*OUT, *rows])),
        best_batch(lambda rows: after(still, rows)),
        best_batch(lambda rows: after(belief, rows)),
    )


@pytest.mark.parametrize("seed", [0, 20, 24, 26, 36])
def test_lookahead_finds_the_least_objective_of_pending_rows_and_batch(seed):
    chosen = propose(Lookahead(effort="thorough"), *flat_problem(seed))
    assert sorted(chosen) == enumerate_best(seed)[0]


def test_pending_rows_and_the_moves_they_bring_decide_the_batch():
    best, with_still_mean, without_pending = enumerate_best(26)
    assert with_still_mean != best
    assert without_pending != best


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["swaps", "thorough"])
@pytest.mark.parametrize("seed", [24, 26])
def test_unused_places_change_no_batch(effort, seed):
    belief, estimand, pool = flat_problem(seed)
    padded = Pool(pool.x, pending=[-1, 6, 1, -1, 3, -1])
    policy = Lookahead(effort=effort)
    assert propose(policy, belief, estimand, padded) == propose(policy, belief, estimand, pool)


@pytest.mark.slow
def test_only_unused_places_are_as_nothing_pending():
    belief, estimand, pool = flat_problem(0, pending=[-1] * 6)
    assert np.asarray(pool.available).all()
    policy, none = Lookahead(effort="thorough"), Pool(pool.x)
    assert propose(policy, belief, estimand, pool) == propose(policy, belief, estimand, none)


@eqx.filter_jit
def with_absent_labels(belief, x):
    """The same belief, with labels of these rows that weigh nothing."""
    return belief.condition(x, jnp.ones(x.shape[0]), jnp.zeros(x.shape[0]))


@pytest.mark.parametrize("name", but_slow(PLANNERS, PLANNERS.keys() - {"reinforce"}))
def test_other_planners_start_from_the_expected_belief(name):
    """Both beliefs know as many rows and both pools have as many places: one program."""
    belief, estimand, pool = problem(1)
    unused = Pool(pool.x, pool.available, pending=[-1, -1, -1])
    now = with_absent_labels(belief, np.asarray(pool.x)[OUT])
    chosen = propose(PLANNERS[name], now, estimand, pool)
    assert chosen == propose(PLANNERS[name], expect(belief, pool), estimand, unused)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [Uncertainty(), SequentialUncertainty()])
def test_uncertainty_turns_away_from_twins_of_a_pending_row(policy):
    """The most uncertain row is out; its twin is then worth little."""
    belief, estimand, x = random_problem(2, pool=POOL)
    x, top = np.asarray(x), int(np.argmax(variance_at(belief, x)))
    x = np.concatenate([x, x[[top]]])
    labelled = Pool(x, np.arange(9) != top, pending=[-1])
    assert propose(policy, belief, estimand, labelled, 1) == [8]
    assert propose(policy, belief, estimand, Pool(x, pending=[top]), 1) != [8]


@eqx.filter_jit
def variance_at(belief, x):
    return belief.variance(jnp.asarray(x))


@eqx.filter_jit
def gain_and_fall(belief, estimand, pool, out, rows):
    """The gain of rows past pending ones, and the fall of the objective itself."""
    gain = batch_gain(view_past_pending(belief, estimand, pool), rows)[0]
    after = lambda some: expected_variance(belief, estimand, pool.x, some)
    return gain, after(out) - after(jnp.concatenate([out, rows]))


@pytest.mark.parametrize(
    "out", [*(pytest.param(out, marks=pytest.mark.slow) for out in ([8], [0, 6])), [0, 6, 8]]
)
def test_repeated_pending_rows_without_noise_do_not_break_planning(out):
    """Row 6 repeats row 0, and row 8 one that is labelled."""
    rng = np.random.default_rng(0)
    labelled, x = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    belief = conditioned(GaussianProcess(RBF(0.8, 1.3), 0.0), labelled, rng.normal(size=6))
    estimand = MeanSquaredError(rng.normal(size=(5, 2)))
    pool = Pool(np.concatenate([x, x[:2], labelled[:1]]), pending=out)
    gain, fall = gain_and_fall(belief, estimand, pool, jnp.array(out), jnp.array([2, 3]))
    assert_allclose(gain, fall, rtol=1e-9)


TRACES = []


class Counted(AbstractPolicy):
    """A policy that notes every time it is traced."""

    policy: AbstractPolicy

    def check(self, belief, estimand):
        self.policy.check(belief, estimand)

    def choose(self, key, belief, estimand, pool, k, spending):
        TRACES.append(pool.pending.shape)
        return self.policy.choose(key, belief, estimand, pool, k, spending)


def test_more_or_fewer_pending_rows_compile_once():
    belief, estimand, pool = problem(0, pending=None)
    policy = Counted(Lookahead(effort="greedy"))
    TRACES.clear()
    batches = [
        propose(policy, belief, estimand, Pool(pool.x, pending=pending))
        for pending in ([-1, -1, -1], [5, -1, -1], [5, 0, -1], [5, 0, 7], [-1, -1, 7])
    ]
    assert TRACES == [(3,)]
    assert len({tuple(batch) for batch in batches}) > 1


def test_no_array_is_pool_by_pool():
    size, target = 3000, 20
    belief, estimand, x = random_problem(0, pool=size, target=target)
    look = lambda x: view_past_pending(belief, estimand, Pool(x, pending=[5, -1, 7]))
    traced, view = jax.make_jaxpr(look, return_shape=True)(x)
    assert view.tilts.shape == (1, 4, size)
    sizes = [np.prod(shape) for shape in every_shape(traced.jaxpr)]
    assert size * target <= max(sizes) <= size * target * 2
