"""Exact unbiasedness, by following every course that the draws can take."""

import numpy as np
import pytest

from labelwise.survey.aipw import estimates
from labelwise.survey.skips import among_labellable
from tests.survey.pools import FLOOR, MASS, NOBODY, TERMS, every_course, record_of

TRUTH = TERMS @ MASS / MASS.sum()
ROW_2 = np.arange(5) == 2


def expected(courses, statistic):
    """The mean of a statistic over all courses, weighted by their chances."""
    courses = list(courses)
    assert sum(course.chance for course in courses) == pytest.approx(1.0, abs=1e-12)
    return np.sum([course.chance * statistic(course) for course in courses], axis=0)


def values(course, skipped=NOBODY):
    return estimates(record_of(course, skipped=skipped)).values


@pytest.mark.parametrize("sizes", [(2, 2), (1, 1, 1), (4,), (5,), (2, -1, 1), (-2, 2)])
def test_every_estimate_and_their_mean_are_unbiased_for_each_term(sizes):
    draws = sum(size for size in sizes if size > 0)
    means = expected(every_course(sizes), values)
    np.testing.assert_allclose(means, np.tile(TRUTH, (draws, 1)), rtol=0, atol=1e-12)
    mean = expected(every_course(sizes), lambda course: values(course).mean(axis=0))
    np.testing.assert_allclose(mean, TRUTH, rtol=0, atol=1e-12)


def test_the_pools_law_and_predictions_do_change_with_the_labels_seen():
    ends = list(every_course((2, 2)))
    assert len(ends) == 120
    seconds = [course.rounds[1] for course in ends if course.rounds[0].rows[0] == 0]
    assert len({round_.predictions[0, 0] for round_ in seconds}) == 4
    assert len({round_.probabilities[0] for round_ in seconds}) > 4
    assert min(round_.probabilities.min() for round_ in seconds) > FLOOR / 5


def test_a_row_that_cannot_be_labelled_leaves_the_answer_exact_for_the_others():
    rest = MASS * ~ROW_2
    courses = lambda: every_course((2, 2), skipped=ROW_2)
    means = expected(courses(), lambda course: values(course, ROW_2))
    truth = TERMS @ rest / rest.sum()
    np.testing.assert_allclose(means, np.tile(truth, (4, 1)), rtol=0, atol=1e-12)


def test_where_only_a_draw_tells_who_cannot_be_labelled_two_terms_are_exact():
    def found(course):
        return record_of(course, skipped=ROW_2 & np.isin(np.arange(5), course.taken))

    courses = lambda: every_course((2, 1), skipped=ROW_2)
    both = expected(courses(), lambda course: estimates(among_labellable(found(course))).values)
    truth = np.append(TERMS @ (MASS * ~ROW_2), (MASS * ~ROW_2).sum()) / MASS.sum()
    np.testing.assert_allclose(both, np.tile(truth, (3, 1)), rtol=0, atol=1e-12)
    # Taking the population to be what the draws have left of it is not.
    direct = expected(courses(), lambda course: estimates(found(course)).values.mean(axis=0))
    assert abs(direct[0] - truth[0] / truth[2]) > 0.01


def test_random_weights_divided_by_their_sum_make_the_mean_biased():
    """Why weights must be fixed in advance: likely draws look more precise, and are not."""

    def scaled(course):
        weights = np.concatenate([round_.probabilities for round_ in course.rounds])
        return weights @ values(course)[:, 0] / weights.sum()

    bias = expected(every_course((2, 2)), scaled) - TRUTH[0]
    assert abs(bias) > 0.01
    fixed = np.array([0.1, 0.2, 0.3, 0.4])
    mean = expected(every_course((2, 2)), lambda course: fixed @ values(course)[:, 0])
    assert mean == pytest.approx(TRUTH[0], abs=1e-12)


def test_the_spread_gives_the_variance_of_the_mean():
    """Exactly on average: the estimates have one mean and are uncorrelated."""
    square = expected(every_course((2, 2)), lambda course: values(course)[:, 0].mean() ** 2)
    spread = expected(every_course((2, 2)), lambda course: values(course)[:, 0].var(ddof=1) / 4)
    assert spread == pytest.approx(square - TRUTH[0] ** 2, rel=1e-10)
