"""Pending labels in the plan: against H of pending rows and batch together."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.gp import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.estimands.loss import MeanSquaredError
from labelwise.lookahead.expected import expected_variance
from labelwise.lookahead.gain import Slots, added_gain, batch_gain, remaining
from labelwise.lookahead.pending import expect_pending, look_past_pending, moves_by_pending
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.heuristics import IntegratedVariance, SequentialUncertainty, Uncertainty
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.reinforce import Reinforce
from labelwise.policies.search import _pair_gains
from labelwise.policies.training import Training
from labelwise.types import Pool
from tests.lookahead.problems import random_problem, subsets
from tests.lookahead.test_gain import every_shape

POOL, OUT = 8, [6, 1, 3]
FREE = [row for row in range(POOL) if row not in OUT]
WEIGHTINGS = pytest.mark.parametrize("weighting", ["paper", "precision"])
SEEDS = pytest.mark.parametrize("seed", range(4))
SHORT = Training(objective="exact", rollouts=4, steps=3)
PLANNERS = {
    "uncertainty": Uncertainty(),
    "uncertainty-sequential": SequentialUncertainty(),
    "integrated-variance": IntegratedVariance(),
    "reinforce": Reinforce(SHORT),
    "smoothed-autodiff": SmoothedAutodiff(SHORT),
}
expect = eqx.filter_jit(expect_pending)
moves_at = eqx.filter_jit(moves_by_pending)
see_past = eqx.filter_jit(look_past_pending)
gain_of = eqx.filter_jit(lambda *both: batch_gain(*both)[0])
left_by = eqx.filter_jit(remaining)
added_to = eqx.filter_jit(lambda *both: added_gain(*both)[0])
pairs_added = eqx.filter_jit(_pair_gains)
take_columns = eqx.filter_jit(lambda outlook, row: outlook.columns(row[None]))


def problem(seed, pending=OUT, pool=POOL, weighting="paper"):
    belief, estimand, x = random_problem(seed, pool=pool, weighting=weighting)
    return belief, estimand, Pool(x, pending=pending)


def propose(policy, belief, estimand, pool, k=2, seed=0):
    batch = policy.propose(jax.random.key(seed), belief, estimand, pool, k)
    return np.asarray(batch.indices).tolist()


def truth(belief, estimand, pool, rows, out=OUT):
    """H(pending) - H(pending ∪ rows), by the objective that knows of no pending rows."""
    after = lambda some: float(expected_variance(belief, estimand, pool.x, some))
    return after(out) - after([*out, *rows])


def slots_with(outlook, row):
    row = jnp.asarray(row)
    return Slots.empty(outlook, 2).put(jnp.asarray(1), row, take_columns(outlook, row))


@WEIGHTINGS
@SEEDS
def test_the_gain_is_the_fall_of_the_objective_given_pending_rows(seed, weighting):
    belief, estimand, pool = problem(seed, weighting=weighting)
    outlook = see_past(belief, estimand, pool)
    for rows in ([0], [5, 2], [7, 4, 0]):
        mine = gain_of(outlook, jnp.array(rows))
        assert_allclose(mine, truth(belief, estimand, pool, rows), rtol=1e-10)


@SEEDS
def test_rows_and_pairs_add_what_they_add_to_the_objective(seed):
    belief, estimand, pool = problem(seed)
    outlook = see_past(belief, estimand, pool)
    left = left_by(outlook, slots_with(outlook, 4))
    before, rows = truth(belief, estimand, pool, [4]), jnp.array([0, 7, 2])
    assert_allclose(left.gain[0], before, rtol=1e-10)
    added, pairs = added_to(outlook, left), pairs_added(outlook, left, rows)[0]
    for row in (0, 2, 5, 7):
        after = truth(belief, estimand, pool, [4, row])
        assert_allclose(left.gain[0] + added[row], after, rtol=1e-10)
    for i, j in ((0, 1), (2, 1)):
        after = truth(belief, estimand, pool, [4, int(rows[i]), int(rows[j])])
        assert_allclose(left.gain[0] + pairs[i, j], after, rtol=1e-10)


@WEIGHTINGS
def test_expecting_labels_keeps_the_mean_and_takes_their_variance(weighting):
    belief, _, pool = problem(0, [6, -1, 1, 3], weighting=weighting)
    rows = jnp.array(OUT)
    expected, seen = expect(belief, pool), belief.condition(pool.x[rows], jnp.zeros(3))
    assert_allclose(expected.mean(pool.x), belief.mean(pool.x), rtol=1e-10)
    assert_allclose(expected.covariance(pool.x), seen.covariance(pool.x), atol=1e-12)
    assert expected.noise == belief.noise


@WEIGHTINGS
def test_the_moves_of_the_mean_have_the_covariance_that_labels_remove(weighting):
    belief, estimand, pool = problem(1, [6, -1, 1, 3], weighting=weighting)
    moves = moves_at(belief, pool, estimand.x)
    removed = belief.covariance(estimand.x) - expect(belief, pool).covariance(estimand.x)
    assert_allclose(moves @ moves.T, removed, atol=1e-12)
    assert_allclose(moves[:, 1], 0.0, atol=1e-14)


def test_nothing_pending_changes_nothing():
    belief, estimand, pool = problem(0, pending=None)
    assert expect_pending(belief, pool) is belief
    assert moves_by_pending(belief, pool, estimand.x).shape == (5, 0)
    assert look_past_pending(belief, estimand, pool).tilts.shape == (1, 1, POOL)


def best_batch(value):
    batches = [rows for rows in subsets(POOL, 2).tolist() if set(rows) <= set(FREE)]
    return min(batches, key=value)


def flat_problem(seed, pending=OUT):
    """The prediction is the present mean, so that its moves alone give the error a slope."""
    belief, estimand, pool = problem(seed, pending)
    return belief, MeanSquaredError(estimand.x, belief.mean(estimand.x), estimand.mass), pool


def enumerate_best(seed):
    """The batch that is best with the pending rows, best if the mean stays, best without."""
    belief, estimand, pool = flat_problem(seed)
    still = expect(belief, pool)
    after = lambda belief, rows: float(expected_variance(belief, estimand, pool.x, rows))
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


@pytest.mark.parametrize("effort", ["swaps", "thorough"])
@pytest.mark.parametrize("seed", [24, 26])
def test_unused_places_change_no_batch(effort, seed):
    belief, estimand, pool = flat_problem(seed)
    padded = Pool(pool.x, pending=[-1, 6, 1, -1, 3, -1])
    policy = Lookahead(effort=effort)
    assert propose(policy, belief, estimand, padded) == propose(policy, belief, estimand, pool)


def test_only_unused_places_are_as_nothing_pending():
    belief, estimand, pool = flat_problem(0, pending=[-1, -1, -1])
    assert pool.available.all()
    policy, none = Lookahead(effort="thorough"), Pool(pool.x)
    assert propose(policy, belief, estimand, pool) == propose(policy, belief, estimand, none)


@pytest.mark.parametrize("name", PLANNERS)
def test_other_planners_start_from_the_expected_belief(name):
    belief, estimand, pool = problem(1)
    free = Pool(pool.x, pool.available)
    assert propose(PLANNERS[name], belief, estimand, pool) == propose(
        PLANNERS[name], expect(belief, pool), estimand, free
    )


@pytest.mark.parametrize("policy", [Uncertainty(), SequentialUncertainty()])
def test_uncertainty_turns_away_from_twins_of_a_pending_row(policy):
    """The most uncertain row is out; its twin is then worth little."""
    belief, estimand, pool = problem(2, pending=None)
    top = int(np.argmax(belief.variance(pool.x)))
    x = jnp.concatenate([pool.x, pool.x[top][None, :]])
    assert propose(policy, belief, estimand, Pool(x, np.arange(9) != top), 1) == [8]
    assert propose(policy, belief, estimand, Pool(x, pending=[top]), 1) != [8]


@pytest.mark.parametrize("out", [[8], [0, 6], [0, 6, 8]])
def test_repeated_pending_rows_without_noise_do_not_break_planning(out):
    """Row 6 repeats row 0, and row 8 one that is labelled."""
    rng = np.random.default_rng(0)
    labelled, x = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    belief = GaussianProcess(RBF(0.8, 1.3), 0.0).condition(labelled, rng.normal(size=6))
    estimand = MeanSquaredError(rng.normal(size=(5, 2)))
    pool = Pool(np.concatenate([x, x[:2], labelled[:1]]), pending=out)
    mine = gain_of(see_past(belief, estimand, pool), jnp.array([2, 3]))
    assert_allclose(mine, truth(belief, estimand, pool, [2, 3], out), rtol=1e-9)


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
    policy = Counted(Lookahead())
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
    look = lambda x: look_past_pending(belief, estimand, Pool(x, pending=[5, -1, 7]))
    assert jax.eval_shape(look, x).tilts.shape == (1, 4, size)
    sizes = [np.prod(shape) for shape in every_shape(jax.make_jaxpr(look)(x).jaxpr)]
    assert size * target <= max(sizes) <= size * target * 2
