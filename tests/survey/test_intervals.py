"""Intervals against brute force, and against how often they miss."""

import math

import numpy as np
import pytest

from labelwise.survey.aipw import estimates
from labelwise.survey.draws import DrawRecord, RoundDraws
from labelwise.survey.intervals import (
    log_interval,
    mean_interval,
    ratio_interval,
)
from labelwise.survey.multipliers import anytime_multiplier, multiplier

EVERYWHERE = (-math.inf, math.inf)
RNG = np.random.default_rng(5)
VALUES = RNG.exponential(size=30)
PART, WHOLE = RNG.normal([[1.0], [2.0]], 1.0, (2, 30)) + RNG.normal(size=30)


def test_a_mean_reaches_a_multiple_of_its_standard_error():
    error = VALUES.std(ddof=1) / math.sqrt(30)
    for planned, times in [(None, multiplier(30, 0.8)), (50, anytime_multiplier(30, 0.8, 50))]:
        low, high = mean_interval(VALUES, 0.8, planned)
        assert high - VALUES.mean() == pytest.approx(times * error, rel=1e-12)
        assert VALUES.mean() - low == pytest.approx(times * error, rel=1e-12)


def test_a_positive_mean_reaches_as_far_on_the_log_scale():
    low, high = log_interval(VALUES, 0.9)
    mean = VALUES.mean()
    plain_low, plain_high = mean_interval(VALUES, 0.9)
    assert low * high == pytest.approx(mean**2)
    assert math.log(high / mean) == pytest.approx((plain_high - mean) / mean)
    assert plain_low < low < mean < plain_high < high


def test_a_mean_that_is_not_positive_has_no_log_scale():
    assert log_interval(VALUES - 2.0, 0.9) == mean_interval(VALUES - 2.0, 0.9)


def test_a_reach_too_far_for_the_log_scale_is_infinite():
    assert log_interval(np.array([1.0, -0.999]), 0.99) == (0.0, math.inf)


def inside(part, whole, theta, times):
    """Whether θ is in the set that the interval is to be, by its definition."""
    gaps = part[:, None] - whole[:, None] * theta
    error = gaps.std(axis=0, ddof=1) / math.sqrt(len(part))
    return np.abs(gaps.mean(axis=0)) <= times * error


@pytest.mark.parametrize("planned", [None, 40])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_ratio_interval_is_what_a_scan_finds(planned, level, sign):
    times = multiplier(30, level) if planned is None else anytime_multiplier(30, level, planned)
    low, high = ratio_interval(PART, sign * WHOLE, level, planned)
    theta = np.linspace(-5.0, 5.0, 100_001)
    found = theta[inside(PART, sign * WHOLE, theta, times)]
    assert found.size > 100
    assert low == pytest.approx(found[0], abs=1.01e-4)  # one step of the scan
    assert high == pytest.approx(found[-1], abs=1.01e-4)


def test_a_whole_that_may_be_0_excludes_no_ratio():
    whole = WHOLE - WHOLE.mean() + 0.1
    far = np.array([-1e6, 1e6])
    assert inside(PART, whole, far, multiplier(30, 0.9)).all()
    assert ratio_interval(PART, whole, 0.9) == EVERYWHERE
    assert ratio_interval(PART, whole - whole.mean(), 0.9) == EVERYWHERE


@pytest.mark.parametrize(
    "values",
    [
        np.array([]),
        np.array([3.0]),
        np.full(20, 0.1),
        np.full(20, 0.1) + np.arange(20) * 1e-17,
        np.zeros(20),
        np.append(np.ones(19), np.nan),
    ],
)
def test_numbers_that_tell_no_spread_bound_nothing(values):
    assert mean_interval(values, 0.9) == EVERYWHERE
    assert mean_interval(values, 0.9, 10) == EVERYWHERE
    assert log_interval(values, 0.9) == EVERYWHERE


def test_parts_that_follow_their_whole_exactly_bound_nothing():
    """A recall of 1 in every draw so far is not known to be 1."""
    assert ratio_interval(WHOLE, WHOLE, 0.9) == EVERYWHERE
    assert ratio_interval(0.0 * WHOLE, WHOLE, 0.9) == EVERYWHERE
    assert ratio_interval(PART[:1], WHOLE[:1], 0.9) == EVERYWHERE


def test_a_whole_that_is_certain_gives_the_interval_of_a_mean():
    low, high = mean_interval(PART, 0.9)
    ratio = ratio_interval(PART, np.full(30, 4.0), 0.9)
    assert ratio == pytest.approx((low / 4.0, high / 4.0), rel=1e-9)


def test_several_columns_or_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match=r"one number a draw; values has shape \(30, 2\)"):
        mean_interval(np.ones((30, 2)), 0.9)
    with pytest.raises(ValueError, match=r"have shapes \(30,\) and \(29,\)"):
        ratio_interval(PART, WHOLE[1:], 0.9)


POOL, DRAWS, RUNS = 150, 30, 600


def play(rng, losses, predictions, weights):
    """A record of draws without replacement, in three rounds of ten."""
    known, rounds = np.zeros(POOL, bool), []
    for _ in range(3):
        scores = np.log(weights) + rng.gumbel(size=POOL)
        rows = np.argsort(np.where(known, np.inf, -scores))[: DRAWS // 3]
        taken = np.cumsum(weights[rows]) - weights[rows]
        chances = weights[rows] / (weights[~known].sum() - taken)
        rounds.append(RoundDraws(rows, chances, ~known, predictions))
        known = known | np.isin(np.arange(POOL), rows)
    terms = np.where(known, losses, np.nan)
    nobody = np.zeros(POOL, bool)
    return DrawRecord(np.ones(POOL), terms, tuple(rounds), nobody, nobody)


def test_drawn_campaigns_cover_at_their_level():
    """A mean loss and a ratio of two terms, with predictions that explain part of them."""
    rng = np.random.default_rng(21)
    hard = rng.uniform(size=POOL)
    whole = (rng.uniform(size=POOL) < 0.6).astype(float)
    losses = np.array([whole * (rng.uniform(size=POOL) < hard), whole, hard + hard**2])
    predictions = np.array([0.6 * hard, np.full(POOL, 0.6), hard])
    truth = losses.mean(axis=1)
    covered = np.zeros((RUNS, 2))
    for run in range(RUNS):
        values = estimates(play(rng, losses, predictions, 0.3 + hard)).values
        low, high = mean_interval(values[:, 2], 0.9)
        covered[run, 0] = low <= truth[2] <= high
        low, high = ratio_interval(values[:, 0], values[:, 1], 0.9)
        covered[run, 1] = low <= truth[0] / truth[1] <= high
    # 4 standard errors of a share of 600.
    np.testing.assert_allclose(
        covered.mean(axis=0), 0.9, rtol=0, atol=4 * math.sqrt(0.09 / 600)
    )


def test_a_ratio_looked_at_twenty_times_is_seldom_missed():
    rng, missed, runs = np.random.default_rng(4), 0, 300
    for _ in range(runs):
        whole = (rng.uniform(size=100) < 0.5).astype(float)
        part = whole * (rng.uniform(size=100) < 0.7)
        looks = (
            ratio_interval(part[:draws], whole[:draws], 0.9, 100) for draws in range(5, 101, 5)
        )
        missed += any(not low <= 0.7 <= high for low, high in looks)
    assert missed / runs <= 0.1 + 3.0 * math.sqrt(0.09 / runs)
