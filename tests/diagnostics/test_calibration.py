"""Calibration: chances against shares of ones, ranks against the uniform law."""

from functools import cache

import equinox as eqx
import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.diagnostics import held_levels, label_ranks, mean_label_rank, reliability
from labelwise.diagnostics.gaussian import gaussian_moments
from labelwise.inputs import as_jax

X = np.linspace(-2.0, 2.0, 7)[:, None]


@cache
def belief():
    prior = GaussianProcess(RBF(1.0, 1.0), 0.25)
    return condition(prior, as_jax(X[:2]), as_jax(np.array([0.3, -0.4])))


@eqx.filter_jit
def condition(prior, x, y):
    return prior.condition(x, y)


def moments():
    made = gaussian_moments(belief(), X)
    return made.mean[0], made.covariance[0]


def test_right_chances_leave_the_error_that_is_expected():
    rng = np.random.default_rng(0)
    chance = rng.uniform(0.05, 0.95, size=500)
    errors = [
        reliability(chance, (rng.uniform(size=500) < chance).astype(float)) for _ in range(200)
    ]
    found = np.array([one.error for one in errors])
    assert abs(found.mean() - errors[0].expected) < 4 * found.std() / np.sqrt(200) + 0.001


def test_wrong_chances_show():
    labels = np.repeat([0.0, 1.0], 100)
    wrong = reliability(np.full(200, 0.9), labels, bins=1)
    assert wrong.error == pytest.approx(0.4)
    assert wrong.error > 5 * wrong.expected


def test_bins_hold_the_labels_of_their_chances():
    chance = np.array([0.1, 0.8, 0.2, 0.9])
    made = reliability(chance, np.array([0.0, 1.0, 1.0, 1.0]), bins=2)
    assert_allclose(made.predicted, [0.15, 0.85])
    assert_allclose(made.observed, [0.5, 1.0])
    assert made.labels.tolist() == [2, 2]
    assert made.error == pytest.approx((0.35 * 2 + 0.15 * 2) / 4)


def test_chances_and_labels_must_be_as_many(refused):
    with refused(where="y"):
        reliability(np.array([0.5]), np.array([1.0, 0.0]))


def test_ranks_of_labels_are_those_of_their_normal_law():
    y = np.linspace(-1.0, 1.0, 7)
    mean, covariance = moments()
    exact = norm.cdf(y, mean, np.sqrt(np.diag(covariance) + 0.25))
    found = label_ranks(jax.random.key(1), belief(), X, y, 4000)
    assert (np.abs(found - exact) < 4 * np.sqrt(exact * (1 - exact) / 4000)).all()


def test_the_rank_of_a_mean_counts_what_rows_share():
    mean, covariance = moments()
    exact = norm.cdf(0.2, mean.mean(), np.sqrt((covariance + 0.25 * np.eye(7)).mean()))
    found = mean_label_rank(jax.random.key(1), belief(), X, np.full(7, 0.2), 4000)
    assert abs(found - exact) < 4 * np.sqrt(exact * (1 - exact) / 4000)


def test_levels_hold_as_often_as_ranks_are_central():
    ranks = np.array([0.5, 0.3, 0.04, 0.98])
    assert held_levels(ranks, (0.5, 0.9, 1.0)) == {0.5: 0.5, 0.9: 0.5, 1.0: 1.0}
