"""Which draws count, with what, and when: against the formula written out row by row."""

from dataclasses import replace

import numpy as np
import pytest

from labelwise.survey.aipw import estimates
from labelwise.survey.draws import DrawRecord, RoundDraws
from labelwise.survey.variance_floor import predicted_spread

SIZE = 12


def round_of(rng, rows, chances, shut=()):
    open_ = np.ones(SIZE, bool)
    open_[list(shut)] = False
    predictions = rng.normal(size=(2, SIZE))
    return RoundDraws(np.array(rows, int), np.array(chances, float), open_, predictions)


def make_record(known, dropped=(), skipped=(), seed=0):
    """Three rounds; the second takes two rows by choice, the third opens row 1 again."""
    rng = np.random.default_rng(seed)
    rounds = (
        round_of(rng, [0, 1, 2], [0.2, 0.1, 0.3], shut=[11]),
        round_of(rng, [3, 4, 5], [0.0, 0.4, 0.0], shut=[11, 0, 1, 2]),
        round_of(rng, [6, 7], [0.5, 1.0], shut=[11, 0, 2, 3, 4, 5]),
    )
    terms = np.full((2, SIZE), np.nan)
    terms[:, list(known)] = rng.normal(size=(2, SIZE))[:, list(known)]
    mask = lambda rows: np.isin(np.arange(SIZE), list(rows))
    mass = rng.uniform(0.5, 2.0, SIZE)
    return DrawRecord(mass, terms, rounds, mask(skipped), mask(dropped))


def by_hand(record, number, place):
    """Ê of one draw, as a sum over rows one by one."""
    round_ = record.rounds[number]
    total, answer = 0.0, np.zeros(2)
    for row in range(SIZE):
        if record.skipped[row]:
            continue
        total += record.mass[row]
        gone = row in round_.rows[:place] or not round_.open[row]
        known = not np.isnan(record.terms[0, row])
        value = record.terms[:, row] if gone and known else round_.predictions[:, row]
        answer += record.mass[row] * value
    row = round_.rows[place]
    if not record.skipped[row]:
        error = record.terms[:, row] - round_.predictions[:, row]
        answer += record.mass[row] * error / round_.probabilities[place]
    return answer / total


ALL = {0, 1, 2, 3, 4, 5, 6, 7, 11}  # every row taken, and one labelled before the start
PLACES = [(0, 0), (0, 1), (0, 2), (1, 1), (2, 0), (2, 1)]  # of the rows drawn, not chosen


def assert_uses(record, places, *, dropped=0, waiting=0):
    sequence = estimates(record)
    hand = np.array([by_hand(record, *place) for place in places]).reshape(-1, 2)
    np.testing.assert_allclose(sequence.values, hand, rtol=1e-12)
    assert (sequence.dropped, sequence.waiting) == (dropped, waiting)
    np.testing.assert_array_equal(sequence.charged, sequence.values)


def test_chosen_rows_give_no_estimate_but_count_in_later_ones():
    record = make_record(ALL)
    assert_uses(record, PLACES)
    moved = replace(record, terms=record.terms + np.where(np.arange(SIZE) == 3, 1.0, 0.0))
    change = estimates(moved).values - estimates(record).values
    share = record.mass[3] / record.mass.sum()
    later = np.repeat([[0.0, 0.0], [share, share]], 3, axis=0)
    np.testing.assert_allclose(change, later, rtol=0, atol=1e-12)


def test_a_draw_waits_for_its_label_and_all_later_ones_wait_with_it():
    assert_uses(make_record(ALL - {2}), PLACES[:2], waiting=4)
    assert_uses(make_record(ALL - {6}), PLACES[:4], waiting=2)


def test_a_draw_waits_for_chosen_rows_before_it():
    assert_uses(make_record(ALL - {3}), PLACES[:3], waiting=3)
    assert_uses(make_record(ALL - {5}), PLACES[:4], waiting=2)


def test_a_row_that_was_never_open_holds_everything_up_until_its_label_comes():
    assert_uses(make_record(ALL - {11}), [], waiting=6)


def test_draws_after_a_waiting_one_wait_though_its_row_is_open_again():
    """Row 1 was drawn in the first round; what came before must still be used in order."""
    record = make_record(ALL - {1})
    reopened = replace(record.rounds[1], open=record.rounds[1].open | (np.arange(SIZE) == 1))
    assert reopened.open[1]
    assert record.rounds[2].open[1]
    rounds = (record.rounds[0], reopened, record.rounds[2])
    assert_uses(replace(record, rounds=rounds), PLACES[:1], waiting=5)


def test_a_dropped_draw_gives_none_and_its_prediction_stands_in():
    record = make_record(ALL - {1}, dropped=[1])
    assert_uses(record, [place for place in PLACES if place != (0, 1)], dropped=1)
    assert_uses(make_record(ALL - {4, 7}, dropped=[4, 7]), [*PLACES[:3], (2, 0)], dropped=2)


def test_a_late_label_mends_a_dropped_draw():
    assert_uses(make_record(ALL, dropped=[1]), PLACES)


def test_a_draw_of_a_row_that_cannot_be_labelled_counts_and_mends_nothing():
    record = make_record(ALL - {1}, skipped=[1, 9])
    assert_uses(record, PLACES)
    assert estimates(record).skipped == 2


def test_labels_told_unasked_count_once_their_row_is_shut():
    told = make_record(ALL | {9})
    shut = told.rounds[2].open & (np.arange(SIZE) != 9)
    rounds = (*told.rounds[:2], replace(told.rounds[2], open=shut))
    assert_uses(replace(told, rounds=rounds), PLACES)
    assert_uses(replace(make_record(ALL), rounds=rounds), PLACES[:4], waiting=2)


def test_rows_without_mass_are_not_waited_for():
    record = make_record(ALL - {2, 11})
    mass = np.where(np.isin(np.arange(SIZE), [2, 11]), 0.0, record.mass)
    sequence = estimates(replace(record, mass=mass))
    assert len(sequence.values) == 6
    known = replace(make_record(ALL), mass=mass)
    np.testing.assert_allclose(sequence.values, estimates(known).values, rtol=1e-12)


def test_a_certain_draw_replaces_the_prediction_by_the_term():
    record = make_record(ALL)
    (last,) = estimates(record).values[-1:]
    round_ = record.rounds[2]
    known = ~np.isnan(record.terms[0]) & ~(round_.open & (np.arange(SIZE) != 7))
    known[6] = True
    value = np.where(known, record.terms, round_.predictions)
    np.testing.assert_allclose(last, value @ record.mass / record.mass.sum(), rtol=1e-12)


@pytest.mark.parametrize("shut", [(), range(6), range(11)], ids=len)
def test_the_predicted_spread_is_that_of_one_draws_estimate(shut):
    """Of every row that may be drawn, with its term as far above as below the prediction."""
    rng = np.random.default_rng(5)
    mass, spread = rng.uniform(0.5, 2.0, SIZE), rng.uniform(0.1, 3.0, SIZE)
    mass[10] = 0.0  # nobody asks about it, though it may be drawn
    blank = round_of(rng, [], [], shut)
    chances = np.where(blank.open, rng.uniform(0.2, 1.0, SIZE), 0.0)
    chances /= chances.sum()
    likely, values, nobody = [], [], np.zeros(SIZE, bool)
    for row in np.flatnonzero(blank.open):
        for off in (-spread, spread):
            round_ = replace(blank, rows=np.array([row]), probabilities=chances[[row]])
            terms = np.where(blank.open, np.nan, np.ones((2, SIZE)))
            terms[:, row] = blank.predictions[:, row] + off[row]
            record = DrawRecord(mass, terms, (round_,), nobody, nobody)
            values.append(estimates(record).values[0, 0])
            likely.append(chances[row] / 2.0)
    mean = np.dot(likely, values)
    expected = np.sqrt(np.dot(likely, (values - mean) ** 2))
    assert predicted_spread(spread, chances, mass, blank.open) == pytest.approx(
        expected, rel=1e-12
    )


def test_no_rounds_give_no_estimates():
    sequence = estimates(replace(make_record(ALL), rounds=()), noisy=True)
    assert sequence.values.shape == sequence.charged.shape == (0, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": np.array([0, 0, 2])}, "drawn twice in one round"),
        ({"rows": np.array([0, 1, 12])}, "rows 0 to 11, but row 12 of it was drawn"),
        ({"rows": np.array([0, 1, 11])}, "took row 11, not open when the round began"),
        ({"rows": np.array([0.0, 1.0, 2.0])}, "whole row numbers; it holds float64"),
        (
            {"probabilities": np.array([0.1, 0.2])},
            r"probabilities must be finite numbers of shape \(3,\)",
        ),
        (
            {"probabilities": np.array([0.1, 0.2, 1.5])},
            "probabilities must lie between 0 and 1",
        ),
        ({"open": np.ones(SIZE, int)}, "open must hold True or False for each of 12 rows"),
        ({"predictions": np.zeros(SIZE)}, "a line for each term and a column for each of the"),
        ({"predictions": np.full((2, SIZE), np.nan)}, "holds NaN or infinity"),
    ],
)
def test_a_round_that_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(make_record(ALL).rounds[0], **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mass": np.full(SIZE, -1.0)}, "mass must not be negative; see rows 0, 1"),
        ({"mass": np.zeros(SIZE)}, "nothing to estimate"),
        ({"skipped": np.ones(SIZE, bool)}, "nothing to estimate"),
        ({"dropped": np.zeros(3, bool)}, "dropped must hold True or False for each of 12"),
        ({"terms": np.zeros(SIZE)}, "terms must have a line for each term"),
        ({"terms": np.full((2, SIZE), np.inf)}, "terms must not be infinite"),
        ({"terms": np.zeros((1, SIZE))}, r"Round 0 predicts \(2, 12\) terms and rows"),
    ],
)
def test_a_record_that_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(make_record(ALL), **change)


def test_a_label_that_gives_some_terms_only_is_refused():
    terms = make_record(ALL).terms.copy()
    terms[1, 4] = np.nan
    with pytest.raises(ValueError, match="Some terms of row 4 are NaN"):
        replace(make_record(ALL), terms=terms)
