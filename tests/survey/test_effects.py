"""Effects: exact over draws and treatments, and a variance that counts the shared noise."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from labelwise.survey.aipw import estimates
from labelwise.survey.draws import DrawRecord, RoundDraws
from labelwise.survey.effects import effect_record, effect_terms
from tests.survey.pools import MASS, NOBODY, TERMS, every_course
from tests.survey.trials import UNITS, Trial

CHANCES = np.array([0.5, 0.3, 0.8, 0.6, 0.2])
OUTCOMES = np.array([[0.2, 1.0, -0.5, 2.0, 0.0], [1.2, 0.5, 0.5, 4.0, 0.3]])
EFFECT = MASS @ (OUTCOMES[1] - OUTCOMES[0]) / MASS.sum()
RUNS = 600


def record_of(course, treatments):
    taken = np.isin(np.arange(5), course.taken)
    outcomes = np.where(taken, OUTCOMES[treatments, np.arange(5)], np.nan)
    return effect_record(
        MASS, outcomes, treatments, CHANCES, course.rounds, NOBODY, NOBODY, before=None
    )


def test_effects_are_exact_over_all_draws_and_treatments():
    answer, total = 0.0, 0.0
    for treatments in map(np.array, product((0, 1), repeat=5)):
        given = np.prod(np.where(treatments == 1, CHANCES, 1.0 - CHANCES))
        seen = np.tile(OUTCOMES[treatments, np.arange(5)], (2, 1))
        for course in every_course((2, 1), terms=seen):
            chance = given * course.chance
            total += chance
            answer += chance * estimates(record_of(course, treatments), noisy=True).values[:, 0]
    assert total == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(answer, np.full(3, EFFECT), rtol=0, atol=1e-12)


def test_a_unit_is_held_to_the_predictions_of_the_round_that_took_it():
    treatments = np.array([1, 0, 1, 0, 1])
    seen = np.tile(OUTCOMES[treatments, np.arange(5)], (2, 1))
    course = next(course for course in every_course((2, 1), terms=seen))
    first, second = course.rounds
    record = record_of(course, treatments)
    for round_, row in [(first, 0), (first, 1), (second, 2)]:
        untreated, treated = round_.predictions[:, row]
        gap = OUTCOMES[treatments[row], row] - (treated if treatments[row] else untreated)
        share = CHANCES[row] if treatments[row] else CHANCES[row] - 1.0
        assert record.terms[0, row] == pytest.approx(treated - untreated + gap / share)
    np.testing.assert_allclose(
        record.rounds[1].predictions[0], second.predictions[1] - second.predictions[0]
    )


@pytest.mark.parametrize(
    ("chances", "initial"), [(np.full(UNITS, 0.5), 0), (np.linspace(0.2, 0.8, UNITS), 10)]
)
def test_charged_noise_gives_the_variance_that_the_spread_alone_misses(chances, initial):
    """40 units of 60 are drawn, with none or ten known before the start."""
    trial, rng = Trial(chances), np.random.default_rng(8)
    means, naive, charged = [], [], []
    for _ in range(RUNS):
        sequence = estimates(trial.run(rng, initial), noisy=True)
        values = sequence.values[:, 0]
        assert sequence.charged.mean() == pytest.approx(values.mean(), abs=1e-12)
        means.append(values.mean())
        naive.append(values.var(ddof=1) / len(values))
        charged.append(sequence.charged.var(ddof=1) / len(values))
    variance = np.var(means, ddof=1)  # known within √(2 / 600), or 6 %
    assert abs(np.mean(means) - trial.truth) < 4.0 * np.sqrt(variance / RUNS)
    assert np.mean(naive) < 0.6 * variance
    assert 0.9 < np.mean(charged) / variance < 1.3


@pytest.mark.parametrize(
    ("sizes", "times", "bearers"),
    [
        ((2, 2), [3, 2, 1, 0], [0, 1, 2, 3]),
        ((-2, 2), [2, 2, 1, 0], [1, 0, 0, 1]),  # of chosen rows dealt out, in table order
        ((1, -1, 2), [2, 2, 1, 0], [0, 0, 1, 2]),
    ],
)
def test_noise_is_charged_as_often_as_estimates_share_it(sizes, times, bearers):
    course = next(course for course in every_course(sizes))
    record = record_of(course, np.array([1, 0, 1, 0, 1]))
    sequence = estimates(record, noisy=True)
    expected = sequence.values[:, 0].copy()
    taken = [(round_, row) for round_ in record.rounds for row in round_.rows]
    for (round_, row), often, bearer in zip(taken, times, bearers, strict=True):
        gap = record.terms[0, row] - round_.predictions[0, row]
        expected[bearer] += often * MASS[row] * gap / MASS.sum()
    centred = expected - expected.mean() + sequence.values.mean()
    np.testing.assert_allclose(sequence.charged[:, 0], centred, rtol=1e-12)


@pytest.mark.parametrize(
    "places",
    [
        [[(3, 0.0), (0, 0.3), (4, 0.5)]],  # one unit is chosen, not drawn, before the draws
        [[(3, 0.3), (0, 0.0), (4, 0.5)]],  # between them
        [[(3, 0.3), (0, 0.4), (4, 0.0)]],  # after them
        [[(3, 0.4), (1, 0.0)], [(0, 0.3), (4, 0.5)]],  # in an earlier round
    ],
    ids=["before", "between", "after", "rounds"],
)
def test_noise_is_charged_by_how_it_moves_the_estimates(places):
    """By differences: all that a unit's noise moves, but for its part in its own estimate."""
    rounds, gone = [], NOBODY
    for round_ in places:
        rows, chances = map(np.array, zip(*round_, strict=True))
        rounds.append(RoundDraws(rows, chances, ~gone, np.zeros((1, 5))))
        gone = gone | np.isin(np.arange(5), rows)
    record = DrawRecord(MASS, np.where(gone, TERMS[:1], np.nan), tuple(rounds), NOBODY, NOBODY)
    sequence = estimates(record, noisy=True)
    charges = np.zeros(len(sequence.values))
    for row in np.flatnonzero(gone):
        higher = replace(record, terms=record.terms + (np.arange(5) == row))
        moved = (estimates(higher).values - sequence.values)[:, 0]
        own = sequence.rows == row
        bearer = int(np.argmax(own))  # the first draw, for the one unit that was not drawn
        charges[bearer] += moved[~own].sum() * record.terms[0, row]
    found = (sequence.charged - sequence.values)[:, 0]
    np.testing.assert_allclose(found, charges - charges.mean(), atol=1e-12)


def test_a_unit_known_though_no_round_took_it_needs_predictions_without_its_outcome():
    outcomes = np.array([1.0, np.nan])
    given = (np.ones(2), outcomes, np.array([1, 0]), np.full(2, 0.5), ())
    nobody = np.zeros(2, bool)
    with pytest.raises(ValueError, match="outcome of row 0 is known though no round took it"):
        effect_record(*given, nobody, nobody)
    with pytest.raises(ValueError, match=r"before must have shape \(2, 2\)"):
        effect_record(*given, nobody, nobody, before=np.zeros((1, 2)))
    record = effect_record(*given, nobody, nobody, before=np.zeros((2, 2)))
    np.testing.assert_array_equal(record.terms, [[2.0, np.nan]])


@pytest.mark.parametrize(
    ("treatments", "chances", "terms", "message"),
    [
        ([1, 2], [0.5, 0.5], 2, "treatments must be 0 or 1 .* see row 1"),
        ([1, 0], [0.5, 1.0], 2, "strictly between 0 and 1; see row 1"),
        ([1, 0], [0.5, np.nan], 2, "strictly between 0 and 1; see row 1"),
        ([1, 0, 1], [0.5, 0.5], 2, r"treatments has shape \(3,\) but mass has 2 rows"),
        ([1, 0], [0.5, 0.5], 1, "Round 0 predicts 1 terms; an effect needs two"),
    ],
)
def test_trials_that_cannot_be_are_refused(treatments, chances, terms, message):
    nobody = np.zeros(2, bool)
    round_ = RoundDraws(np.array([0]), np.array([0.5]), ~nobody, np.zeros((terms, 2)))
    with pytest.raises(ValueError, match=message):
        effect_record(
            np.ones(2),
            np.ones(2),
            np.array(treatments),
            np.array(chances),
            (round_,),
            nobody,
            nobody,
        )


def test_effect_terms_of_unknown_outcomes_are_unknown():
    terms = effect_terms(
        np.array([np.nan, 3.0]), np.array([0, 0]), np.full(2, 0.25), np.zeros((2, 2))
    )
    np.testing.assert_array_equal(terms, [np.nan, -4.0])
