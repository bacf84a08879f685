"""Sums of absolute values of noisy means."""

import numpy as np
import pytest

from labelwise.survey.absolute import SCALES, absolute_sum, settle_absolute

SHARES = np.full(10, 0.1)


def test_without_noise_it_is_the_sum_of_absolute_values():
    means = np.linspace(-0.02, 0.03, 10)
    value, std = absolute_sum(means, np.full(10, 1e-14), SHARES)
    assert value == pytest.approx(np.abs(means).sum(), rel=1e-5)
    assert std < 1e-6
    assert absolute_sum(means, np.zeros(10), SHARES) == (np.abs(means).sum(), 0.0)


def test_it_is_what_is_left_of_the_means_by_bayes_rule():
    """By importance sampling: means from the prior, weighed by how well they explain."""
    rng = np.random.default_rng(0)
    shares = np.array([0.3, 0.5, 0.2])
    noise, seen = np.array([4e-4, 9e-4, 1e-4]), np.array([0.03, -0.05, 0.0])
    steps = np.gradient(SCALES)
    scale = rng.choice(SCALES, size=400_000, p=steps / steps.sum())
    means = scale[:, None] * shares * rng.normal(size=(400_000, 3))
    weight = np.exp(-0.5 * np.sum((seen - means) ** 2 / noise, axis=1))
    sums = np.abs(means).sum(axis=1)
    truth = np.average(sums, weights=weight)
    spread = np.sqrt(np.average((sums - truth) ** 2, weights=weight))
    error = spread / np.sqrt(weight.sum() ** 2 / (weight**2).sum())
    value, std = absolute_sum(seen, noise, shares)
    assert value == pytest.approx(truth, abs=5 * error)
    assert std == pytest.approx(spread, abs=5 * error)


@pytest.mark.parametrize("gap", [0.02, 0.1])
def test_noise_does_not_pass_for_a_gap(gap):
    """The plain sum is off by more than twice as much as what is made of it."""
    rng = np.random.default_rng(1)
    truth = SHARES * gap * rng.choice([-1.0, 1.0], 10)
    draws = truth + rng.normal(size=(300, 60, 10)) * 0.15
    found = np.array([settle_absolute(one, SHARES).mean() for one in draws])
    plain = np.abs(draws.mean(axis=1)).sum(axis=1)
    assert abs(found.mean() - gap) < 0.5 * abs(plain.mean() - gap)
    spread = np.array([settle_absolute(one, SHARES).std(ddof=1) for one in draws])
    assert np.mean(np.abs(found - gap) < 1.64 * spread / np.sqrt(60)) > 0.85


def test_where_no_draw_differs_there_is_a_number_without_spread():
    values = settle_absolute(np.tile(np.linspace(-0.01, 0.02, 10), (5, 1)), SHARES)
    assert np.ptp(values) == 0.0
