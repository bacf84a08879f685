"""Multipliers against numeric minimisation, exact tails, and many simulated campaigns."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import betaln, hyp2f1
from scipy.stats import norm
from scipy.stats import t as student

from labelwise.survey import multipliers
from labelwise.survey.multipliers import anytime_multiplier, asymptotic_multiplier, multiplier

LOOKS = np.arange(5, 101, 5)
RUNS = 2000
LEVEL = 0.9
ALLOWED = 0.1 + 3.0 * math.sqrt(0.1 * 0.9 / RUNS)


def half_width(log_rho, draws, alpha):
    """As the paper writes it, for a spread of 1."""
    rho2 = math.exp(2.0 * log_rho)
    root = math.log(math.sqrt(draws * rho2 + 1.0) / alpha)
    return math.sqrt(2.0 * (draws * rho2 + 1.0) / (draws**2 * rho2) * root)


@pytest.mark.parametrize("planned", [7, 100, 5000])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_the_sequence_is_tightest_at_the_planned_draws(planned, level):
    best: Any = minimize_scalar(
        half_width, args=(planned, 1.0 - level), bounds=(-12, 6), options={"xatol": 1e-10}
    )
    tightest = asymptotic_multiplier(planned, level, planned) / math.sqrt(planned)
    assert tightest == pytest.approx(best.fun, rel=1e-9)
    for draws in (2, 30, 40_000):
        reach = asymptotic_multiplier(draws, level, planned) / math.sqrt(draws)
        # The minimum is flat: ρ is found to 1e-7 or so, and widths elsewhere follow it.
        assert reach == pytest.approx(half_width(best.x, draws, 1.0 - level), rel=1e-5)


@pytest.mark.parametrize("draws", [3, 10, 100, 10_000])
def test_the_factor_keeps_the_tail(draws):
    z = asymptotic_multiplier(draws, LEVEL, 100)
    assert student.sf(anytime_multiplier(draws, LEVEL, 100), draws - 1) == pytest.approx(
        norm.sf(z), rel=1e-6
    )


@pytest.mark.parametrize(("draws", "planned"), [(1001, 10**7), (401, 10**6), (5001, 10**8)])
def test_tails_too_small_for_numbers_are_taken_by_their_logarithm(draws, planned):
    log_tail = norm.logsf(asymptotic_multiplier(draws, LEVEL, planned))
    assert log_tail < -700  # its exponential is 0
    t, half = anytime_multiplier(draws, LEVEL, planned), (draws - 1) / 2.0
    x = half / (half + t**2 / 2.0)
    # 2 P(T > t) is an incomplete beta function, of which this is the series.
    series = hyp2f1(half + 0.5, 1.0, half + 1.0, x)
    exact = half * math.log(x) + 0.5 * math.log1p(-x) - math.log(half) - betaln(half, 0.5)
    assert exact + math.log(series / 2.0) == pytest.approx(log_tail, abs=1e-2)


def test_the_two_ways_to_a_tail_meet(monkeypatch):
    direct = anytime_multiplier(500, LEVEL, 50_000)
    monkeypatch.setattr(multipliers, "SMALLEST", 1e-5)
    by_logarithm = anytime_multiplier(500, LEVEL, 50_000)
    # A tail too large by 1/t², where each step of 1/t in t takes off a factor e.
    assert 0.0 < by_logarithm - direct < 2.0 / direct**3


def test_few_draws_reach_everywhere():
    assert multiplier(1, LEVEL) == anytime_multiplier(1, LEVEL, 100) == math.inf
    assert multiplier(0, LEVEL) == anytime_multiplier(0, LEVEL, 100) == math.inf
    assert anytime_multiplier(2, LEVEL, 10**6) == math.inf
    assert math.isfinite(anytime_multiplier(2, LEVEL, 10))


def test_one_look_is_students():
    assert multiplier(11, 0.9) == pytest.approx(1.8124611228107335)  # from a printed table


@pytest.mark.parametrize("level", [0.0, 1.0, 90.0, math.nan])
def test_a_level_outside_0_and_1_is_refused(level):
    for draws in (1, 10):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            multiplier(draws, level)
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            anytime_multiplier(draws, level, 100)


def test_a_plan_for_no_draws_is_refused():
    with pytest.raises(ValueError, match="planned must be at least 1"):
        anytime_multiplier(10, LEVEL, 0)


def uniform(rng, shape):
    return rng.uniform(size=shape)


def errors(share):
    return lambda rng, shape: (rng.uniform(size=shape) < share).astype(float)


def exponential(rng, shape):
    return rng.exponential(size=shape)


def squares(rng, shape):
    return rng.normal(size=shape) ** 2


def mixture(rng, shape):
    small = rng.uniform(size=shape)
    return np.where(rng.uniform(size=shape) < 0.5, rng.exponential(size=shape), small)


def ever_missing(draw, truth, times, scale=lambda means: means):
    """The share of campaigns in which one of 20 looks misses; no spread reaches everywhere."""
    values = draw(np.random.default_rng(11), (RUNS, 100))
    missed = np.zeros(RUNS, bool)
    for draws in LOOKS:
        seen = values[:, :draws]
        means, error = seen.mean(axis=1), seen.std(axis=1, ddof=1) / math.sqrt(draws)
        reach = times(int(draws)) * np.where(error > 0, error, np.inf)
        if scale is np.log:  # reach is relative there
            means = np.where(means > 0, means, 1.0)
            reach = reach / means
        missed |= np.abs(scale(means) - scale(truth)) > reach
    return missed.mean()


def with_factor(draws):
    return anytime_multiplier(draws, LEVEL, 100)


def without_factor(draws):
    return asymptotic_multiplier(draws, LEVEL, 100)


@pytest.mark.parametrize(
    ("draw", "truth"),
    [(uniform, 0.5), (errors(0.1), 0.1), (errors(0.5), 0.5), (exponential, 1.0)],
)
def test_twenty_looks_seldom_miss(draw, truth):
    assert ever_missing(draw, truth, with_factor) <= ALLOWED
    assert ever_missing(draw, truth, lambda draws: multiplier(draws, LEVEL)) > 0.3


@pytest.mark.parametrize(
    ("draw", "truth"), [(errors(0.1), 0.1), (exponential, 1.0), (squares, 1.0), (mixture, 0.75)]
)
def test_on_the_log_scale_they_seldom_miss_skewed_losses_either(draw, truth):
    assert ever_missing(draw, truth, with_factor, np.log) <= ALLOWED


@pytest.mark.parametrize(("draw", "truth"), [(exponential, 1.0), (squares, 1.0)])
def test_without_the_factor_few_draws_miss_too_often(draw, truth):
    assert ever_missing(draw, truth, without_factor) > ALLOWED
