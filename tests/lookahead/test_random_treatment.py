"""Units whose treatment chance decides: expected gains by enumeration of all assignments."""

from functools import cache
from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from labelwise.errors import InvalidInput
from labelwise.estimands.combine import Several
from labelwise.lookahead.expected import expected_variance
from labelwise.lookahead.gain import batch_gain
from labelwise.lookahead.pending import view_past_pending
from labelwise.lookahead.posterior_view import exact_view
from labelwise.lookahead.scorers.random_treatment import WORLDS, RandomTreatmentScorer
from labelwise.policies.baselines import Random
from labelwise.policies.lookahead import Lookahead
from labelwise.types import Assignment, Pool
from tests.conformance.cases import ONE_OF_EACH
from tests.lookahead.problems import conditioned, expected_variance_by_hand, subsets
from tests.lookahead.trials import (
    COLUMN,
    both_arms,
    experiment,
    gain_by_hand,
    squared_error,
)
from tests.marks import but_slow

CHANCE = np.array([0.5, 0.0, 1.0, 0.2, 0.7, 0.5])
KINDS = pytest.mark.parametrize("name", ["effect", "squared error"])
MOST = 3  # units of a batch here; empty places make up for fewer
EVERY_POLICY = pytest.mark.parametrize(
    "policy", but_slow(ONE_OF_EACH, ONE_OF_EACH.keys() - {"lookahead-greedy"})
)


@cache
def trial():
    """The belief, the effect and the pool of most tests."""
    return experiment(0, 6, CHANCE)


def estimand_of(name):
    effect = trial()[1]
    return effect if name == "effect" else squared_error(effect)


@eqx.filter_jit
def gains(belief, estimand, pool, units, key):
    """The expected gain of some units, and what each further one would add; -1 is no unit."""
    view, k = exact_view(belief, estimand, pool.arms), units.shape[0]
    scorer = RandomTreatmentScorer.of(key, view, pool.assignment.chance, k + 1)
    state = scorer.start(k + 1)
    for place in range(k):
        fuller = scorer.put(state, jnp.asarray(place), units[place])
        keep = lambda new, old, used=units[place] >= 0: jnp.where(used, new, old)
        state = jax.tree.map(keep, fuller, state)
    return scorer.gains(state)


def gains_with(belief, estimand, pool, units):
    units = np.array([*units, *[-1] * (MOST - len(units))])
    so_far, added = gains(belief, estimand, pool, jnp.asarray(units), jax.random.key(0))
    return float(so_far), np.asarray(added)


@KINDS
@pytest.mark.parametrize("units", [[0], [1, 2], [3, 4, 5]], ids=str)
def test_the_gain_is_the_mean_over_all_assignments(name, units):
    belief, _, pool = trial()
    estimand = estimand_of(name)
    so_far, added = gains_with(belief, estimand, pool, units)
    by_hand = gain_by_hand(belief, estimand, pool, units)
    assert so_far == pytest.approx(by_hand, rel=1e-9)
    for unit in set(range(6)) - set(units):
        more = gain_by_hand(belief, estimand, pool, [*units, unit]) - by_hand
        assert added[unit] == pytest.approx(more, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("z", [0.0, 1.0])
def test_a_certain_treatment_is_an_ordinary_row(z):
    belief, effect, pool = trial()
    certain = Pool(pool.x, assignment=Assignment(COLUMN, z, 6))
    so_far, _ = gains_with(belief, effect, certain, [4, 0])
    x = np.array(pool.x)
    x[:, COLUMN] = z
    now = float(expected_variance(belief, effect, x, []))
    left = float(expected_variance(belief, effect, x, [4, 0]))
    assert so_far == pytest.approx(now - left, rel=1e-9)


@eqx.filter_jit
def gains_in_worlds(belief, estimand, arms, units, worlds):
    """Of each set of units in each world; gains of plain rows have tests of their own."""
    view, size = exact_view(belief, estimand, arms), arms.shape[0] // 2
    one = lambda rows, z: batch_gain(view, rows + size * z)[0]
    return jax.vmap(jax.vmap(one, (None, 0)), (0, None))(units, worlds)


WORLDS_OF_THREE = np.array(list(product([0, 1], repeat=3)))


@pytest.mark.parametrize("seed", range(4))
def test_lookahead_finds_nearly_the_best_units(seed):
    """Greedy and swaps, by enumeration of all sets and assignments."""
    chance = np.random.default_rng(seed).uniform(0.1, 0.9, 9)
    belief, estimand, pool = experiment(seed, 9, chance)
    estimand = squared_error(estimand)
    sets = subsets(9, 3)
    found = gains_in_worlds(belief, estimand, pool.arms, sets, WORLDS_OF_THREE)
    chances = chance[sets][:, None, :]
    weights = np.prod(np.where(WORLDS_OF_THREE[None] == 1, chances, 1 - chances), axis=2)
    by_set = dict(zip(map(tuple, sets), np.sum(weights * found, axis=1), strict=True))
    batch = Lookahead().propose(jax.random.key(seed), belief, estimand, pool, 3)
    share = by_set[tuple(sorted(np.asarray(batch.indices).tolist()))] / max(by_set.values())
    print("share of the best units' gain:", share)
    assert share >= 0.95


@pytest.mark.slow
def test_the_weights_of_several_parts_apply_to_expected_gains():
    belief, effect, pool = trial()
    parts = [effect, squared_error(effect)]
    now = [expected_variance_by_hand(belief, part, pool.x, []) for part in parts]
    so_far, _ = gains_with(belief, Several(parts, [1.0, 3.0]), pool, [0, 3])
    alone = [gain_by_hand(belief, part, pool, [0, 3]) for part in parts]
    assert so_far == pytest.approx(alone[0] / now[0] + 3 * alone[1] / now[1], rel=1e-9)


@pytest.mark.parametrize("chance", [0.1, 0.4, 0.9])
def test_drawn_worlds_agree_with_enumeration_within_their_error(chance):
    """Seven units are too many to enumerate while planning; by hand they are 128 worlds."""
    belief, estimand, pool = experiment(4, 9, chance)
    units, worlds = np.arange(7), np.array(list(product([0, 1], repeat=7)))
    every = np.asarray(gains_in_worlds(belief, estimand, pool.arms, units[None], worlds))[0]
    weight = np.prod(np.where(worlds == 1, chance, 1.0 - chance), axis=1)
    mean = weight @ every
    error = 4 * np.sqrt(weight @ (every - mean) ** 2) / np.sqrt(WORLDS)
    drawn = [
        float(gains(belief, estimand, pool, jnp.asarray(units), jax.random.key(s))[0])
        for s in range(4)
    ]
    assert (np.abs(np.array(drawn) - mean) < error).all()
    assert len(set(drawn)) == 4
    if chance != 0.4:  # then it matters by far who is treated
        assert abs(weight[::-1] @ every - mean) > 3 * error


@pytest.mark.slow
def test_batches_too_large_to_enumerate_are_planned():
    belief, estimand, pool = experiment(3, 9, 0.4)
    batch = Lookahead(effort="greedy").propose(jax.random.key(0), belief, estimand, pool, 7)
    assert len(set(np.asarray(batch.indices).tolist())) == 7
    expected = [gain_by_hand(belief, estimand, pool, [unit]) for unit in range(9)]
    assert np.asarray(batch.scores) == pytest.approx(np.array(expected), rel=1e-8)


@eqx.filter_jit
def gains_past_pending(belief, estimand, pool):
    view = view_past_pending(belief, estimand, pool)
    scorer = RandomTreatmentScorer.of(jax.random.key(0), view, pool.assignment.chance, 1)
    return scorer.gains(scorer.start(1))[1]


def test_units_that_are_out_count_with_the_treatment_they_got():
    belief, effect, pool = trial()
    out = Pool(pool.x, pending=[2, -1], assignment=pool.assignment)
    found = np.asarray(gains_past_pending(belief, effect, out))
    # An effect is linear: any label will do.
    known = conditioned(belief, np.asarray(pool.x)[2:3], np.zeros(1))
    for unit in (0, 1, 3, 4, 5):
        expected = gain_by_hand(known, effect, pool, [unit])
        assert found[unit] == pytest.approx(expected, rel=1e-8)


def test_treatments_are_drawn_with_the_stated_chance():
    policy, draws = Random(), 150
    counts, treated = np.zeros(6), np.zeros(6)
    for seed in range(draws):
        batch = policy.propose(jax.random.key(seed), *trial(), 6)
        rows = np.asarray(batch.indices)
        counts[rows] += 1
        treated[rows] += np.asarray(batch.treatment)
    assert (counts == draws).all()
    error = 5 * np.sqrt(CHANCE * (1 - CHANCE) / draws)
    assert (np.abs(treated / draws - CHANCE) <= error).all()


def test_without_an_assignment_no_treatment_is_stated():
    belief, effect, pool = trial()
    batch = Random().propose(jax.random.key(0), belief, effect, Pool(pool.x), 2)
    assert batch.treatment is None


@EVERY_POLICY
def test_every_policy_chooses_units_and_says_how_they_are_treated(policy):
    batch = ONE_OF_EACH[policy].propose(jax.random.key(1), *trial(), 2)
    assert len(set(np.asarray(batch.indices).tolist())) == 2
    assert batch.treatment is not None
    assert set(np.asarray(batch.treatment).tolist()) <= {0.0, 1.0}
    assert batch.scores.shape == (6,)


# Every unit twice, once in each arm: the plan decides on the treatment.
UNITS = np.tile(np.arange(4), 2)


@cache
def planned():
    """The belief, the effect and the pool of arms."""
    belief, effect, pool = trial()
    return belief, effect, Pool(both_arms(pool.x[:4]), unit=UNITS)


@EVERY_POLICY
def test_planned_treatments_take_no_unit_twice(policy):
    for seed in range(3):
        batch = ONE_OF_EACH[policy].propose(jax.random.key(seed), *planned(), 3)
        assert len(set(UNITS[np.asarray(batch.indices)])) == 3


@pytest.mark.slow
def test_planned_treatments_are_the_best_by_enumeration():
    belief, effect, pool = planned()
    batch = Lookahead().propose(jax.random.key(0), belief, effect, pool, 2)
    lawful = [rows for rows in subsets(8, 2).tolist() if len(set(UNITS[rows])) == 2]
    left = lambda rows: expected_variance_by_hand(belief, effect, pool.x, rows)
    best = min(left(rows) for rows in lawful)
    assert left(batch.indices) == pytest.approx(best, rel=1e-9)


def test_a_unit_that_was_treated_does_not_come_back_in_its_other_arm():
    pool = planned()[2]
    left = np.asarray(pool.without([1]).available)  # unit 1, untreated
    assert not left[5]
    out = np.asarray(Pool(pool.x, pending=[6, -1], unit=UNITS).available)  # unit 2, treated
    assert not out[2]
    assert out.sum() == 6


def test_more_units_than_there_are_cannot_be_asked_for():
    with pytest.raises(InvalidInput, match="Cannot choose a batch of 5 from 4 available"):
        Random().propose(jax.random.key(0), *planned(), 5)


X = np.zeros((6, 3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Assignment(2, [0.5, 1.5], 2), "assignment chance must lie between 0 and 1"),
        (lambda: Assignment(2, [0.5, 0.5], 3), "assignment chance has 2 values but pool x has"),
        (
            lambda: Pool(X, assignment=Assignment(2, 0.5, 5)),
            "assignment chance has 5 values but pool x has 6 rows",
        ),
        (
            lambda: Pool(X, assignment=Assignment(3, 0.5, 6)),
            "the treatment in column 3, but pool x has 3 features",
        ),
        (lambda: Pool(X, unit=[0, 1]), r"pool unit has shape \(2,\) but pool x has 6"),
    ],
)
def test_bad_experiments_are_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
