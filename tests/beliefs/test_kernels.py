"""Kernels against scikit-learn, and their gradients where a square root could break them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from sklearn.gaussian_process import kernels as sklearn_kernels

from labelwise.beliefs.kernels import FEW_FEATURES, KERNELS, RBF, squared_distance
from labelwise.errors import InvalidInput, LabelwiseError
from tests.beliefs.reference import covariance, make_data

SKLEARN = {
    "rbf": lambda scale: sklearn_kernels.RBF(scale),
    "matern32": lambda scale: sklearn_kernels.Matern(scale, nu=1.5),
    "matern52": lambda scale: sklearn_kernels.Matern(scale, nu=2.5),
}
BOTH_PATHS = [2, FEW_FEATURES + 1]  # summed differences, and the matrix product

each_kernel = pytest.mark.parametrize("name", KERNELS)
each_path = pytest.mark.parametrize("dim", BOTH_PATHS)


def scales_of(dim: int, per_feature: bool):
    return np.sqrt(dim) * (np.linspace(0.6, 1.7, dim) if per_feature else 0.8)


@each_kernel
@pytest.mark.parametrize("dim", [1, 3, 8, 9, 20])
@pytest.mark.parametrize("per_feature", [False, True])
def test_a_kernel_agrees_with_scikit_learn(name, dim, per_feature):
    data = make_data(dim, 6, dim)
    scale = scales_of(dim, per_feature)
    ours = KERNELS[name](scale, 1.7)(jnp.asarray(data.x), jnp.asarray(data.test))
    theirs = 1.7 * SKLEARN[name](scale)(data.x, data.test)
    # r² loses at most a few units in the last place of |x/ℓ|² < 100, some 1e-14.
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@each_kernel
@each_path
def test_the_diagonal_is_that_of_the_matrix_and_the_matrix_is_symmetric(name, dim):
    x = jnp.asarray(make_data(0, 6, dim).x)
    kernel = KERNELS[name](scales_of(dim, True), 1.7)
    matrix = kernel(x, x)
    np.testing.assert_allclose(jnp.diagonal(matrix), kernel.diagonal(x), rtol=1e-13)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-13)
    np.testing.assert_allclose(kernel.diagonal(x), np.full(6, 1.7), rtol=1e-15)


@each_path
def test_a_common_shift_of_a_million_does_not_spoil_distances(dim):
    data = make_data(0, 6, dim)
    x, other = data.x + 1e6, data.test + 1e6
    true = ((x[:, None] - other[None]) ** 2).sum(-1)
    # Centring rounds each coordinate by 1e6 · 1e-16; without it r² would be off by 1e-3.
    distance = squared_distance(jnp.asarray(x), jnp.asarray(other))
    np.testing.assert_allclose(distance, true, rtol=0, atol=1e-8)


@each_path
def test_distances_are_never_negative(dim):
    x = jnp.asarray(1e3 + make_data(1, 6, dim).x)
    distance = squared_distance(x, x + 1e-9)
    assert (distance >= 0.0).all()


@each_kernel
@each_path
@pytest.mark.parametrize("per_feature", [False, True])
def test_gradients_in_the_scales_agree_with_finite_differences(name, dim, per_feature):
    data = make_data(2, 4, dim)
    x = jnp.asarray(np.vstack([data.x, data.x[:2]]))  # two rows stand twice

    def matrix(length_scale, variance):
        return KERNELS[name](length_scale, variance)(x, x)

    scale = jnp.asarray(scales_of(dim, per_feature))
    # Central differences of step h are off by h² plus 1e-16/h: 1e-10 at h = 1e-5.
    check_grads(matrix, (scale, 1.7), order=1, eps=1e-5, atol=1e-7, rtol=1e-7)


@each_kernel
@each_path
def test_the_gradient_in_a_row_is_zero_where_two_rows_meet(name, dim):
    x = jnp.asarray(make_data(3, 3, dim).x)
    kernel = KERNELS[name](scales_of(dim, True))
    slope = jax.jacrev(lambda rows: jnp.diagonal(kernel(rows, x)))(x)
    # All three kernels are flat at r = 0. The product path leaves r of some 1e-8 there.
    np.testing.assert_allclose(slope, jnp.zeros_like(slope), atol=1e-7)


@each_kernel
@pytest.mark.parametrize("dim", [1, *BOTH_PATHS])
@pytest.mark.parametrize("rows", [7, 32])
def test_compiling_the_gradient_does_not_change_the_kernel(name, dim, rows):
    """XLA may compute r² twice, rounded differently: no branch on r² = 0 may be torn apart."""
    data = make_data(4, rows, dim)
    x = jnp.asarray(np.vstack([data.x[:-2], data.x[:2]]))
    spread = jnp.asarray(data.x.std(axis=0))

    def energy(position):
        matrix = KERNELS[name](spread * jnp.exp(position))(x, x)
        return jnp.sum(matrix**2), matrix

    position = jnp.zeros(dim)
    compiled = jax.jit(jax.value_and_grad(energy, has_aux=True))
    (_, matrix), slope = compiled(position)
    true = covariance(name, np.asarray(x), np.asarray(x), np.asarray(spread))
    np.testing.assert_allclose(matrix, true, rtol=0, atol=1e-12)
    np.testing.assert_allclose(slope, jax.grad(energy, has_aux=True)(position)[0], rtol=1e-9)


@each_kernel
@each_path
def test_an_infinite_length_scale_hides_a_feature(name, dim):
    data = make_data(5, 4, dim)
    x, other = jnp.asarray(data.x), jnp.asarray(data.test)
    scale = scales_of(dim, True)
    scale[0] = np.inf
    kernel = KERNELS[name](scale, 1.7)
    without = KERNELS[name](scale[1:], 1.7)(x[:, 1:], other[:, 1:])
    np.testing.assert_allclose(kernel(x, other), without, rtol=0, atol=1e-14)
    moved = x.at[:, 0].add(100.0)
    np.testing.assert_array_equal(kernel(moved, other), kernel(x, other))


@each_kernel
@each_path
def test_the_gradient_of_a_hidden_feature_is_zero_not_nan(name, dim):
    x = jnp.asarray(make_data(5, 4, dim).x)
    scale = jnp.asarray(scales_of(dim, True)).at[0].set(jnp.inf)
    slope = jax.grad(lambda scale: KERNELS[name](scale)(x, x).sum())(scale)
    assert jnp.isfinite(slope).all()
    assert slope[0] == 0.0
    assert (slope[1:] > 0.0).all()  # a longer scale correlates rows more


@each_kernel
def test_no_rows_give_an_empty_matrix(name):
    for dim in BOTH_PATHS:
        assert KERNELS[name]()(jnp.zeros((0, dim)), jnp.zeros((3, dim))).shape == (0, 3)
        assert KERNELS[name]()(jnp.zeros((3, dim)), jnp.zeros((0, dim))).shape == (3, 0)


@each_kernel
@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, [1.0, 0.0]])
def test_a_length_scale_that_is_not_positive_is_refused(name, scale):
    with pytest.raises(InvalidInput, match=r"length_scale must be positive; it is "):
        KERNELS[name](scale)


@each_kernel
def test_a_table_of_length_scales_is_refused(name):
    message = r"length_scale must be one number or one a feature; it has shape \(2, 2\)\."
    with pytest.raises(InvalidInput, match=message):
        KERNELS[name](np.ones((2, 2)))


@pytest.mark.parametrize("scale", ["long", None])
def test_a_length_scale_that_is_no_number_is_refused_by_name(scale):
    with pytest.raises(LabelwiseError, match="length_scale"):
        RBF(scale)


@each_kernel
@pytest.mark.parametrize(
    ("variance", "message"),
    [
        (0.0, r"kernel variance must be greater than 0; it is 0\."),
        (-2.0, r"kernel variance must be greater than 0; it is -2\."),
        (np.nan, r"kernel variance is NaN or infinite; "),
        ("big", r"kernel variance must hold numbers only; "),
        ([1.0], r"kernel variance must have no axes \(one number\); it has shape \(1,\)\."),
    ],
)
def test_a_variance_that_is_not_positive_is_refused(name, variance, message):
    with pytest.raises(InvalidInput, match=message):
        KERNELS[name](1.0, variance)
