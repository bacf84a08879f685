"""Awkward data that once broke beliefs: precise labels, constants off by rounding, offsets."""

import equinox as eqx
import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.fit import fit_gaussian_process
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF


def found(fit):
    kernel = fit.prior.kernel
    return np.log([*np.atleast_1d(kernel.length_scale), kernel.variance, fit.prior.noise])


@eqx.filter_jit
def draw(belief, x, y, at):
    """Three draws at some rows, after the labels."""
    return belief.condition(x, y).sample(jax.random.key(0), at, 3)


def test_draws_at_rows_that_are_all_but_known_are_their_labels():
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    draws = draw(GaussianProcess(RBF(1.0), 0.0), x, y, x)
    assert_allclose(draws, np.broadcast_to(y, (3, 6)), rtol=0, atol=1e-3)


@pytest.mark.parametrize("noise", [1e-4, 1e-6, 1e-8])
def test_draws_on_a_fine_grid_are_finite_after_precise_labels(noise):
    x = np.linspace(0.0, 3.0, 30)[:, None]
    grid = np.linspace(0.0, 3.0, 200)[:, None]
    draws = draw(GaussianProcess(RBF(1.0), noise), x, np.sin(x[:, 0]), grid)
    # The posterior's deviation stays below that of one label, √noise, plus some jitter.
    truth = np.broadcast_to(np.sin(grid[:, 0]), (3, 200))
    assert_allclose(draws, truth, rtol=0, atol=6 * np.sqrt(noise) + 1e-3)


def test_which_constant_the_labels_equal_moves_only_the_level():
    x = np.random.default_rng(3).normal(size=(20, 2))
    assert np.full(20, 0.1).var() > 0.0  # some 1e-34, by rounding
    fits = [fit_gaussian_process(x, np.full(20, value)) for value in (3.0, 0.1)]
    assert_allclose(found(fits[0]), found(fits[1]), atol=1e-3)


def test_which_constant_a_feature_equals_does_not_matter():
    rng = np.random.default_rng(1)
    x = rng.normal(size=20)
    y = np.sin(x) + 0.1 * rng.normal(size=20)
    tables = [np.column_stack([x, np.full(20, value)]) for value in (0.5, 0.1)]
    assert tables[1][:, 1].std() > 0.0  # some 1e-17, by rounding
    fits = [fit_gaussian_process(table, y) for table in tables]
    assert_allclose(found(fits[0]), found(fits[1]), atol=1e-3)


def test_a_predictor_far_from_zero_recovers_a_linear_relation():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20, 2)) + np.array([0.0, 20.0])  # as do the labels
    y = x[:, 1] + 0.05 * rng.normal(size=20)
    fit = fit_gaussian_process(x, y, mean="predictor", predictor_column=1)
    assert_allclose(fit.prior.prior_mean.slope, 1.0, rtol=0, atol=0.12)
