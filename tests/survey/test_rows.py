"""What draws make of each row: without bias, and together the mean of all estimates."""

import numpy as np
import pytest

from labelwise.survey.aipw import estimates
from labelwise.survey.rows import linear_record, row_shares
from tests.survey.pools import MASS, TERMS, every_course, record_of

SIZES = [(2, 2), (4,), (2, -1, 1), (-2, 2)]


def mixed(course):
    """Each row's first term, as the draws have it."""
    record = record_of(course)
    predictions = [one.predictions[0] for one in record.rounds]
    return row_shares(record).mix(record.terms[0], predictions)


@pytest.mark.parametrize("sizes", SIZES)
def test_every_row_is_estimated_without_bias(sizes):
    mean = sum(course.chance * mixed(course) for course in every_course(sizes))
    np.testing.assert_allclose(mean, TERMS[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
def test_rows_add_up_to_the_mean_of_all_estimates(sizes):
    for course in list(every_course(sizes))[::7]:
        whole = estimates(record_of(course)).values[:, 0].mean()
        np.testing.assert_allclose(MASS @ mixed(course) / MASS.sum(), whole, rtol=1e-12)


def test_draws_that_came_to_nothing_leave_the_prediction():
    course = next(iter(every_course((2, 2))))
    record = record_of(course)
    lost = course.rounds[0].rows[0]
    record.terms[:, lost], record.dropped[lost] = np.nan, True
    shares = row_shares(record)
    assert shares.own[lost] == 0.0
    np.testing.assert_allclose(shares.own + shares.rounds.sum(axis=0), 1.0)
    found = shares.mix(record.terms[0], [one.predictions[0] for one in record.rounds])
    whole = estimates(record).values[:, 0].mean()
    np.testing.assert_allclose(MASS @ found / MASS.sum(), whole, rtol=1e-12)


def test_a_linear_term_has_the_estimates_of_its_own_record():
    course = list(every_course((2, 2)))[5]
    record, slope = record_of(course), np.arange(5.0)
    one = linear_record(record, record.terms[0], lambda y: slope * y, lambda t: slope * t[0])
    for mine, round_ in zip(one.rounds, record.rounds, strict=True):
        np.testing.assert_allclose(mine.predictions[0], slope * round_.predictions[0])
    np.testing.assert_allclose(one.terms[0], slope * record.terms[0])
    whole = MASS @ (slope * mixed(course)) / MASS.sum()
    np.testing.assert_allclose(estimates(one).values.mean(), whole, rtol=1e-12)
