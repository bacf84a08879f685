"""Labels that count in part: Algorithm 3 and precision weighting, and their gradients."""

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import KERNELS
from labelwise.beliefs.means import PredictorMean
from tests.beliefs.reference import (
    WEIGHTINGS,
    Data,
    complex_step,
    covariance,
    make_data,
    weighted_posterior,
)
from tests.marks import but_slow

NOISE, VARIANCE = 0.07, 1.4
SCALES = dict(length_scale=np.array([1.1, 1.9, 1.5]), variance=VARIANCE)
ROWS = 7
DATA = make_data(50, ROWS, 3)
# Below 7 · 1.4 / 0.07 = 140 in condition number: rounding leaves 1e-13.
CLOSE = 1e-11

INTERIOR = np.array([0.3, 0.8, 0.05, 0.5, 0.95, 0.6, 0.2])
MIXED = np.array([0.0, 1.0, 0.4, 1.0, 0.0, 0.7, 1e-3])
WEIGHTS = {
    "interior": INTERIOR,
    "mixed": MIXED,
    "zero": np.zeros(ROWS),
    "one": np.ones(ROWS),
    "tiny": np.full(ROWS, 1e-8),
}

each_weighting = pytest.mark.parametrize("weighting", but_slow(WEIGHTINGS, {"precision"}))
each_weight = pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS.keys())


def prior(weighting, name="matern52", noise=NOISE, mean=None) -> GaussianProcess:
    return GaussianProcess(KERNELS[name](**SCALES), noise, mean, weighting)


@eqx.filter_jit
def in_batches(belief, x, y, weight, test, cuts=(0, ROWS)):
    """Mean and covariance after one batch of labels for each pair of neighbouring cuts."""
    for start, stop in pairwise(cuts):
        rows = slice(start, stop)
        belief = belief.condition(x[rows], y[rows], weight[rows])
    return belief.mean(test), belief.covariance(test), belief.variance(test)


def ours(belief, data: Data, weight, cuts=(0, ROWS)):
    return in_batches(belief, data.x, data.y, weight, data.test, cuts)


def assert_agrees(mine, true, tolerance=CLOSE):
    mean, covariance, variance = mine
    assert_allclose(mean, true.mean, rtol=0, atol=tolerance)
    assert_allclose(covariance, true.covariance, rtol=0, atol=tolerance)
    assert_allclose(variance, np.diag(true.covariance), rtol=0, atol=tolerance)


@each_weighting
@each_weight
@pytest.mark.parametrize("cuts", [(0, ROWS), (0, 3, ROWS), (0, 2, 4, ROWS)], ids=str)
def test_weighted_batches_equal_the_reference_on_all_rows_at_once(weighting, weight, cuts):
    mine = ours(prior(weighting), DATA, weight, cuts)
    true = weighted_posterior(weighting, "matern52", DATA, weight, noise=NOISE, **SCALES)
    assert_agrees(mine, true)


@each_weighting
@pytest.mark.parametrize("name", ["rbf", "matern32"])
def test_other_kernels_weight_their_rows_alike(weighting, name):
    mine = ours(prior(weighting, name), DATA, MIXED, (0, 3, ROWS))
    true = weighted_posterior(weighting, name, DATA, MIXED, noise=NOISE, **SCALES)
    assert_agrees(mine, true)


@each_weighting
def test_the_weight_acts_on_what_a_label_adds_to_the_prior_mean(weighting):
    mine = ours(prior(weighting, mean=PredictorMean(1, 0.5, -2.0)), DATA, MIXED, (0, 3, ROWS))
    centred = DATA._replace(y=DATA.y - (0.5 - 2.0 * DATA.x[:, 1]))
    true = weighted_posterior(weighting, "matern52", centred, MIXED, noise=NOISE, **SCALES)
    assert_agrees(mine, true._replace(mean=true.mean + 0.5 - 2.0 * DATA.test[:, 1]))


def test_without_noise_the_paper_weighting_still_keeps_the_diagonal():
    mine = ours(prior("paper", noise=0.0), DATA, MIXED, (0, 3, ROWS))
    true = weighted_posterior("paper", "matern52", DATA, MIXED, noise=0.0, **SCALES)
    assert_agrees(mine, true)  # the seven rows' own condition number is below 100


@eqx.filter_jit
def readings(belief, x, y, weight):
    factor = belief.condition(x[:3], y[:3], weight[:3]).condition(x[3:], y[3:], weight[3:])
    return factor.seen.factor @ factor.seen.factor.T


@each_weight
def test_the_paper_keeps_the_diagonal_and_scales_off_diagonals_by_both_weights(weight):
    matrix = np.asarray(readings(prior("paper"), DATA.x, DATA.y, weight))
    own = covariance("matern52", DATA.x, DATA.x, **SCALES)
    assert_allclose(np.diag(matrix), np.full(ROWS, VARIANCE + NOISE), rtol=1e-14)
    off = ~np.eye(ROWS, dtype=bool)
    assert_allclose(matrix[off], (np.outer(weight, weight) * own)[off], rtol=0, atol=1e-14)


@each_weight
def test_precision_weighting_scales_the_kernel_and_not_the_noise(weight):
    matrix = readings(prior("precision"), DATA.x, DATA.y, weight)
    own = covariance("matern52", DATA.x, DATA.x, **SCALES)
    true = np.sqrt(np.outer(weight, weight)) * own + NOISE * np.eye(ROWS)
    assert_allclose(matrix, true, rtol=0, atol=1e-14)


@pytest.mark.parametrize("weight", [0.1, 0.5, 1.0])
def test_a_precision_weight_is_a_share_of_a_label(weight):
    """k labels of weight 1/k at one row are one label; others are absent."""
    data = Data(np.repeat(DATA.x[:1], 14, axis=0), np.full(14, 1.3), DATA.test)
    among = lambda count: np.where(np.arange(14) < count, 1.0 / count, 0.0)
    split = ours(prior("precision"), data, among(round(1 / weight)), (0, 14))
    whole = ours(prior("precision"), data, among(1), (0, 14))
    for mine, yours in zip(split, whole, strict=True):
        assert_allclose(mine, yours, rtol=0, atol=CLOSE)


@each_weighting
@pytest.mark.parametrize("apart", [0.0, 1e-9])
@pytest.mark.parametrize("cuts", [(0, 14), (0, 7, 14)], ids=str)
def test_twin_rows_of_unequal_weight_equal_the_reference(weighting, apart, cuts):
    rng = np.random.default_rng(1)
    data = Data(np.vstack([DATA.x, DATA.x + apart]), rng.normal(size=14), DATA.test)
    weight = np.concatenate([MIXED, INTERIOR])
    mine = ours(prior(weighting), data, weight, cuts)
    true = weighted_posterior(weighting, "matern52", data, weight, noise=NOISE, **SCALES)
    assert_agrees(mine, true)


@eqx.filter_jit
def value_and_slope(belief, x, y, weight, test, cuts):
    """Means, covariances and variances in one vector, and its Jacobian in the weights."""

    def moments(weight):
        mean, covariance, variance = in_batches(belief, x, y, weight, test, cuts)
        return jnp.concatenate([mean, covariance.ravel(), variance])

    return moments(weight), jax.jacrev(moments)(weight)


def differentiated(belief, data, weight, cuts=(0, 3, ROWS)):
    found = value_and_slope(belief, data.x, data.y, weight, data.test, cuts)
    return [np.asarray(part) for part in found]


def slope(belief, data, weight):
    return differentiated(belief, data, weight)[1]


def true_slope(weighting, data, weight):
    def moments(weight):
        true = weighted_posterior(weighting, "matern52", data, weight, noise=NOISE, **SCALES)
        covariance = true.covariance
        return np.concatenate([true.mean, covariance.ravel(), np.diagonal(covariance)])

    return complex_step(moments, weight)


@each_weighting
@pytest.mark.parametrize("padding", ["twins", "far"])
def test_rows_of_weight_zero_change_neither_the_posterior_nor_its_gradient(weighting, padding):
    rng = np.random.default_rng(2)
    extra = DATA.x[:4] if padding == "twins" else rng.normal(scale=50.0, size=(4, 3))
    padded = Data(
        np.vstack([DATA.x, extra]), np.concatenate([DATA.y, np.full(4, 1e3)]), DATA.test
    )
    weight = np.concatenate([INTERIOR, np.zeros(4)])
    # Precision weighting reads them with gain 1e-15: 1e3 · 1e-30 is nothing.
    value, rise = differentiated(prior(weighting), padded, weight, (0, 3, 11))
    true, true_rise = differentiated(prior(weighting), DATA, INTERIOR)
    assert_allclose(value, true, rtol=0, atol=1e-13)
    assert_allclose(rise[:, :ROWS], true_rise, rtol=0, atol=1e-11)


@each_weighting
@each_weight
def test_gradients_in_the_weights_equal_those_of_the_reference(weighting, weight):
    mine = slope(prior(weighting), DATA, weight)
    true = true_slope(weighting, DATA, weight)
    assert np.isfinite(mine).all()
    # Slopes are of order 1/noise = 15; the complex step is exact to rounding even at 0 and 1.
    assert_allclose(mine, true, rtol=0, atol=1e-10)
    assert np.abs(true).max() > 0.01  # no comparison of zeros


@each_weighting
@pytest.mark.parametrize("weight", [INTERIOR, MIXED], ids=["interior", "edges"])
def test_gradients_in_the_weights_agree_with_finite_differences(weighting, weight):
    belief, step = prior(weighting), 1e-5
    value = lambda weight: differentiated(belief, DATA, weight)[0]
    middle, mine = differentiated(belief, DATA, weight)
    for row in range(ROWS):
        unit = step * np.eye(ROWS)[row]
        # Three points on the side that stays within [0, 1]: 0 looks up, 1 looks down.
        side = 1.0 if weight[row] < 0.5 else -1.0
        once, twice = value(weight + side * unit), value(weight + 2 * side * unit)
        rise = side * (4.0 * once - 3.0 * middle - twice) / (2.0 * step)
        # Error h² f'''/3 plus rounding 4e-16/h: precision weights have f''' of order
        # (k/noise)³ = 8000, so 3e-7 plus 1e-10.
        assert_allclose(mine[:, row], rise, rtol=0, atol=5e-6)


@each_weighting
@pytest.mark.parametrize("apart", [0.0, 1e-9])
def test_gradients_at_twin_rows_equal_those_of_the_reference(weighting, apart):
    data = Data(np.vstack([DATA.x[:4], DATA.x[1:4] + apart]), DATA.y, DATA.test)
    mine = slope(prior(weighting), data, MIXED)
    assert_allclose(mine, true_slope(weighting, data, MIXED), rtol=0, atol=1e-9)


@each_weighting
def test_second_derivatives_at_weight_zero_and_one_are_finite(weighting):
    @jax.jit
    def curvature(weight):
        total = lambda weight: ours(prior(weighting), DATA, weight)[2].sum()
        return jax.jacfwd(jax.grad(total))(weight)

    assert np.isfinite(curvature(np.ones(ROWS))).all()
    if weighting == "paper":  # precision weighting takes a root, which bends without bound at 0
        assert np.isfinite(curvature(np.zeros(ROWS))).all()
