"""Units whose treatment chance decides: expected gains by enumeration of all assignments."""

from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from labelwise.errors import InvalidInput
from labelwise.estimands.several import Several
from labelwise.lookahead.assigned import WORLDS, AssignedProspect
from labelwise.lookahead.expected import expected_variance
from labelwise.lookahead.gain import batch_gain
from labelwise.lookahead.outlook import look
from labelwise.lookahead.pending import look_past_pending
from labelwise.policies.heuristics import Random
from labelwise.policies.lookahead import Lookahead
from labelwise.types import Assignment, Pool
from tests.conformance.cases import ONE_OF_EACH
from tests.lookahead.problems import subsets
from tests.lookahead.trials import COLUMN, experiment, gain_by_hand, squared_error

CHANCE = np.array([0.5, 0.0, 1.0, 0.2, 0.7, 0.5])
BELIEF, EFFECT, POOL = experiment(0, 6, CHANCE)
CURVED = squared_error(EFFECT)
ESTIMANDS = {"effect": EFFECT, "squared error": CURVED}
KINDS = pytest.mark.parametrize("name", ESTIMANDS)


@eqx.filter_jit
def gains(belief, estimand, pool, units, key=None):
    """The expected gain of some units, and what each further one would add."""
    key = jax.random.key(0) if key is None else key
    outlook, k = look(belief, estimand, pool.arms), units.shape[0]
    prospect = AssignedProspect.of(key, outlook, pool.assignment.chance, k + 1)
    state = prospect.start(k + 1)
    for place in range(k):
        state = prospect.put(state, jnp.asarray(place), units[place])
    return prospect.gains(state)


@KINDS
@pytest.mark.parametrize("units", [[0], [1, 2], [3, 4, 5]], ids=str)
def test_the_gain_is_the_mean_over_all_assignments(name, units):
    estimand = ESTIMANDS[name]
    so_far, added = gains(BELIEF, estimand, POOL, jnp.array(units))
    by_hand = gain_by_hand(BELIEF, estimand, POOL, units)
    assert float(so_far) == pytest.approx(by_hand, rel=1e-9)
    for unit in set(range(6)) - set(units):
        more = gain_by_hand(BELIEF, estimand, POOL, [*units, unit]) - by_hand
        assert float(added[unit]) == pytest.approx(more, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("z", [0.0, 1.0])
def test_a_certain_treatment_is_an_ordinary_row(z):
    pool = Pool(POOL.x, assignment=Assignment(COLUMN, z, 6))
    so_far, _ = gains(BELIEF, EFFECT, pool, jnp.array([4, 0]))
    x = POOL.x.at[:, COLUMN].set(z)
    now = expected_variance(BELIEF, EFFECT, x, [])
    left = expected_variance(BELIEF, EFFECT, x, [4, 0])
    assert float(so_far) == pytest.approx(float(now - left), rel=1e-9)


@eqx.filter_jit
def gains_in_worlds(belief, estimand, arms, units, worlds):
    """Of each set of units in each world; gains of plain rows have tests of their own."""
    outlook, size = look(belief, estimand, arms), arms.shape[0] // 2
    one = lambda rows, z: batch_gain(outlook, rows + size * z)[0]
    return jax.vmap(jax.vmap(one, (None, 0)), (0, None))(units, worlds)


WORLDS_OF_THREE = np.array(list(product([0, 1], repeat=3)))


@pytest.mark.parametrize("seed", range(4))
def test_lookahead_finds_nearly_the_best_units(seed):
    """Greedy and swaps, by enumeration of all sets and assignments."""
    chance = np.random.default_rng(seed).uniform(0.1, 0.9, 7)
    belief, estimand, pool = experiment(seed, 7, chance)
    estimand = squared_error(estimand)
    sets = subsets(7, 3)
    found = gains_in_worlds(belief, estimand, pool.arms, sets, WORLDS_OF_THREE)
    chances = chance[sets][:, None, :]
    weights = np.prod(np.where(WORLDS_OF_THREE[None] == 1, chances, 1 - chances), axis=2)
    by_set = dict(zip(map(tuple, sets), np.sum(weights * found, axis=1), strict=True))
    batch = Lookahead().propose(jax.random.key(seed), belief, estimand, pool, 3)
    share = by_set[tuple(sorted(np.asarray(batch.indices).tolist()))] / max(by_set.values())
    print("share of the best units' gain:", share)
    assert share >= 0.95


def test_the_weights_of_several_parts_apply_to_expected_gains():
    parts = [EFFECT, CURVED]
    now = [float(expected_variance(BELIEF, part, POOL.x, [])) for part in parts]
    so_far, _ = gains(BELIEF, Several(parts, [1.0, 3.0]), POOL, jnp.array([0, 3]))
    alone = [gain_by_hand(BELIEF, part, POOL, [0, 3]) for part in parts]
    assert float(so_far) == pytest.approx(alone[0] / now[0] + 3 * alone[1] / now[1], rel=1e-9)


def test_drawn_worlds_agree_with_enumeration_within_their_error():
    """Seven units are too many to enumerate while planning; by hand they are 128 worlds."""
    belief, estimand, pool = experiment(3, 9, 0.4)
    units = jnp.arange(7)
    outlook = eqx.filter_jit(look)(belief, estimand, pool.arms)
    worlds = jnp.asarray(np.array(np.meshgrid(*[[0, 1]] * 7)).reshape(7, -1).T)
    every = eqx.filter_jit(jax.vmap(lambda z: batch_gain(outlook, units + 9 * z)[0]))(worlds)
    weight = np.prod(np.where(np.asarray(worlds) == 1, 0.4, 0.6), axis=1)
    mean = weight @ np.asarray(every)
    spread = np.sqrt(weight @ (np.asarray(every) - mean) ** 2)
    drawn = [
        float(gains(belief, estimand, pool, units, jax.random.key(s))[0]) for s in range(4)
    ]
    assert (np.abs(np.array(drawn) - mean) < 4 * spread / np.sqrt(WORLDS)).all()
    assert len(set(drawn)) == 4


def test_batches_too_large_to_enumerate_are_planned():
    belief, estimand, pool = experiment(3, 9, 0.4)
    batch = Lookahead(effort="greedy").propose(jax.random.key(0), belief, estimand, pool, 7)
    assert len(set(np.asarray(batch.indices).tolist())) == 7
    expected = [gain_by_hand(belief, estimand, pool, [unit]) for unit in range(9)]
    assert np.asarray(batch.scores) == pytest.approx(np.array(expected), rel=1e-8)


def test_units_that_are_out_count_with_the_treatment_they_got():
    pool = Pool(POOL.x, pending=[2, -1], assignment=POOL.assignment)
    outlook = eqx.filter_jit(look_past_pending)(BELIEF, EFFECT, pool)
    prospect = AssignedProspect.of(jax.random.key(0), outlook, pool.assignment.chance, 1)
    found = eqx.filter_jit(AssignedProspect.gains)(prospect, prospect.start(1))[1]
    known = BELIEF.condition(
        POOL.x[2:3], jnp.zeros(1)
    )  # an effect is linear: any label will do
    for unit in (0, 1, 3, 4, 5):
        expected = gain_by_hand(known, EFFECT, POOL, [unit])
        assert float(found[unit]) == pytest.approx(expected, rel=1e-8)


def test_treatments_are_drawn_with_the_stated_chance():
    policy, draws = Random(), 400
    chance = jnp.array([0.5, 0.0, 1.0, 0.2, 0.7, 0.5])
    counts, treated = np.zeros(6), np.zeros(6)
    for seed in range(draws):
        batch = policy.propose(jax.random.key(seed), BELIEF, EFFECT, POOL, 6)
        rows = np.asarray(batch.indices)
        counts[rows] += 1
        treated[rows] += np.asarray(batch.treatment)
    assert (counts == draws).all()
    error = 5 * np.sqrt(chance * (1 - chance) / draws)
    assert (np.abs(treated / draws - chance) <= error).all()


def test_without_an_assignment_no_treatment_is_stated():
    batch = Random().propose(jax.random.key(0), BELIEF, EFFECT, Pool(POOL.x), 2)
    assert batch.treatment is None


@pytest.mark.parametrize("policy", ONE_OF_EACH, ids=str)
def test_every_policy_chooses_units_and_says_how_they_are_treated(policy):
    batch = ONE_OF_EACH[policy].propose(jax.random.key(1), BELIEF, EFFECT, POOL, 2)
    assert len(set(np.asarray(batch.indices).tolist())) == 2
    assert batch.treatment is not None
    assert set(np.asarray(batch.treatment).tolist()) <= {0.0, 1.0}
    assert batch.scores.shape == (6,)


# Every unit twice, once in each arm: the plan decides on the treatment.
UNITS = np.tile(np.arange(4), 2)
ARMS = jnp.concatenate([POOL.x[:4].at[:, COLUMN].set(z) for z in (0.0, 1.0)])
PLANNED = Pool(ARMS, unit=UNITS)


@pytest.mark.parametrize("policy", ONE_OF_EACH, ids=str)
def test_planned_treatments_take_no_unit_twice(policy):
    for seed in range(3):
        batch = ONE_OF_EACH[policy].propose(jax.random.key(seed), BELIEF, EFFECT, PLANNED, 3)
        assert len(set(UNITS[np.asarray(batch.indices)])) == 3


def test_planned_treatments_are_the_best_by_enumeration():
    batch = Lookahead().propose(jax.random.key(0), BELIEF, EFFECT, PLANNED, 2)
    lawful = [rows for rows in subsets(8, 2).tolist() if len(set(UNITS[rows])) == 2]
    left = lambda rows: float(expected_variance(BELIEF, EFFECT, ARMS, rows))
    best = min(left(rows) for rows in lawful)
    assert left(batch.indices) == pytest.approx(best, rel=1e-9)


def test_a_unit_that_was_treated_does_not_come_back_in_its_other_arm():
    left = PLANNED.without([1])  # unit 1, untreated
    assert not left.available[5]
    out = Pool(ARMS, pending=[6, -1], unit=UNITS)  # unit 2, treated
    assert not out.available[2]
    assert np.asarray(out.available).sum() == 6


def test_more_units_than_there_are_cannot_be_asked_for():
    with pytest.raises(InvalidInput, match="Cannot choose a batch of 5 from 4 available"):
        Random().propose(jax.random.key(0), BELIEF, EFFECT, PLANNED, 5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Assignment(2, [0.5, 1.5], 2), "assignment chance must lie between 0 and 1"),
        (lambda: Assignment(2, [0.5, 0.5], 3), "assignment chance has 2 values but pool x has"),
        (
            lambda: Pool(POOL.x, assignment=Assignment(2, 0.5, 5)),
            "assignment chance has 5 values but pool x has 6 rows",
        ),
        (
            lambda: Pool(POOL.x, assignment=Assignment(3, 0.5, 6)),
            "the treatment in column 3, but pool x has 3 features",
        ),
        (lambda: Pool(POOL.x, unit=[0, 1]), r"pool unit has shape \(2,\) but pool x has 6"),
    ],
)
def test_bad_experiments_are_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
