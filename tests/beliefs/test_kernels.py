"""Kernels against scikit-learn, and their gradients where a square root could break them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sklearn_kernels

from labelwise.beliefs.kernels import FEW_FEATURES, KERNELS, RBF, squared_distance
from labelwise.errors import InvalidInput, LabelwiseError
from tests.beliefs.reference import covariance, make_data

SKLEARN = {
    "rbf": lambda scale: sklearn_kernels.RBF(scale),
    "matern32": lambda scale: sklearn_kernels.Matern(scale, nu=1.5),
    "matern52": lambda scale: sklearn_kernels.Matern(scale, nu=2.5),
}
BOTH_PATHS = [3, FEW_FEATURES + 1]  # summed differences, and the matrix product

each_kernel = pytest.mark.parametrize("name", SKLEARN)  # stationary
any_kernel = pytest.mark.parametrize("name", KERNELS)
each_path = pytest.mark.parametrize("dim", BOTH_PATHS)


def covariances(length_scale, variance, x, other):
    """Every kernel in one compilation, shared by the tests of one shape."""
    return {name: kernel(length_scale, variance)(x, other) for name, kernel in KERNELS.items()}


def in_numpy(function):
    """Compiled, and its results as numpy's arrays, whose arithmetic nobody has to compile."""
    compiled = jax.jit(function)
    return lambda *given: jax.tree.map(np.asarray, compiled(*given))


compiled = in_numpy(covariances)
compiled_forward = in_numpy(jax.jacfwd(covariances, argnums=(0, 1)))
compiled_reverse = in_numpy(jax.jacrev(covariances, argnums=(0, 1)))
compiled_distance = in_numpy(squared_distance)


@in_numpy
@jax.jacrev
def compiled_meeting(rows, length_scale):
    """Slope in each row of its covariance with a copy of itself that stays."""
    stays = jax.lax.stop_gradient(rows)
    every = covariances(length_scale, 1.0, rows, stays)
    return {name: jnp.diagonal(matrix) for name, matrix in every.items()}


def scales_of(dim: int, per_feature: bool):
    return np.sqrt(dim) * (np.linspace(0.6, 1.7, dim) if per_feature else 0.8)


@each_kernel
@pytest.mark.parametrize("dim", [1, 3, 8, 9, 20])
@pytest.mark.parametrize("per_feature", [False, True])
def test_a_kernel_agrees_with_scikit_learn(name, dim, per_feature):
    data = make_data(dim, 6, dim)
    scale = scales_of(dim, per_feature)
    ours = compiled(scale, 1.7, data.x, data.test)[name]
    theirs = 1.7 * SKLEARN[name](scale)(data.x, data.test)
    # r² loses at most a few units in the last place of |x/ℓ|² < 100, some 1e-14.
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@each_kernel
@each_path
def test_the_diagonal_is_that_of_the_matrix_and_the_matrix_is_symmetric(name, dim):
    x = make_data(0, 6, dim).x
    matrix = compiled(scales_of(dim, True), 1.7, x, x)[name]
    diagonal = KERNELS[name](1.0, 1.7).diagonal(jnp.asarray(x))
    np.testing.assert_allclose(np.diagonal(matrix), diagonal, rtol=1e-13)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-13)
    np.testing.assert_allclose(diagonal, np.full(6, 1.7), rtol=1e-15)


@each_path
def test_a_common_shift_of_a_million_does_not_spoil_distances(dim):
    data = make_data(0, 6, dim)
    x, other = data.x + 1e6, data.test + 1e6
    true = ((x[:, None] - other[None]) ** 2).sum(-1)
    # Centring rounds each coordinate by 1e6 · 1e-16; without it r² would be off by 1e-3.
    np.testing.assert_allclose(compiled_distance(x, other), true, rtol=0, atol=1e-8)
    close = compiled_distance(x, x[:5] + 1e-9)
    assert (close >= 0.0).all()  # the product path would round below zero


@each_kernel
@each_path
@pytest.mark.parametrize("slopes", [compiled_forward, compiled_reverse], ids=["fwd", "rev"])
def test_gradients_in_the_scales_agree_with_finite_differences(name, dim, slopes):
    data = make_data(2, 6, dim)
    other = np.vstack([data.test[:3], data.x[:2]])  # two rows stand in both tables
    scale, step = scales_of(dim, True), 1e-5
    in_scale, in_variance = slopes(scale, 1.7, data.x, other)[name]
    true = lambda scale: covariance(name, data.x, other, scale, 1.7)
    for feature, unit in enumerate(step * np.eye(dim)):
        # Central differences are off by step² times the curvature and by 1e-16/step.
        finite = (true(scale + unit) - true(scale - unit)) / (2 * step)
        np.testing.assert_allclose(in_scale[..., feature], finite, rtol=0, atol=1e-9)
    np.testing.assert_allclose(in_variance, true(scale) / 1.7, rtol=0, atol=1e-12)


@any_kernel
@pytest.mark.parametrize("slopes", [compiled_forward, compiled_reverse], ids=["fwd", "rev"])
def test_the_gradient_in_a_common_length_scale_is_the_sum_over_features(name, slopes):
    data, common, each = make_data(2, 6, 3), np.array(1.3), np.full(3, 1.3)
    one = slopes(common, 1.7, data.x, data.test)[name][0]
    many = slopes(each, 1.7, data.x, data.test)[name][0]
    np.testing.assert_allclose(one, many.sum(-1), rtol=0, atol=1e-12)


@each_kernel
@each_path
def test_the_gradient_in_a_row_is_zero_where_two_rows_meet(name, dim):
    x = make_data(3, 3, dim).x
    slope = compiled_meeting(x, scales_of(dim, True))[name]
    # All three kernels are flat at r = 0. The product path leaves r of some 1e-8 there.
    np.testing.assert_allclose(slope, np.zeros_like(slope), atol=1e-7)


@pytest.mark.parametrize("name", ["matern32", "matern52"])  # those with a root
@each_path
def test_compiling_the_gradient_does_not_change_the_kernel(name, dim):
    """XLA may compute r² twice, rounded differently: no branch on r² = 0 may be torn apart."""
    x = make_data(4, 7, dim).x
    spread = x.std(axis=0)

    def energy(position, x):
        matrix = KERNELS[name](spread * jnp.exp(position))(x, x)
        return jnp.sum(matrix**2), matrix

    differentiated = jax.jit(jax.value_and_grad(energy, has_aux=True))
    (_, matrix), slope = differentiated(np.zeros(dim), x)
    np.testing.assert_allclose(matrix, covariance(name, x, x, spread), rtol=0, atol=1e-12)
    true = lambda position: (covariance(name, x, x, spread * np.exp(position)) ** 2).sum()
    units = 1e-5 * np.eye(dim)
    finite = [(true(unit) - true(-unit)) / 2e-5 for unit in units]
    np.testing.assert_allclose(slope, finite, rtol=0, atol=1e-7)  # energy up to 49, see above


@any_kernel
@pytest.mark.parametrize(("dim", "hidden"), [(3, 2), (9, 1)])
def test_an_infinite_length_scale_hides_a_feature(name, dim, hidden):
    data = make_data(5, 6, dim)
    scale = scales_of(dim, True)
    scale[:hidden] = np.inf
    hiding = compiled(scale, 1.7, data.x, data.test)[name]
    without = compiled(scale[hidden:], 1.7, data.x[:, hidden:], data.test[:, hidden:])[name]
    np.testing.assert_allclose(hiding, without, rtol=0, atol=1e-14)
    data.x[:, :hidden] += 100.0
    np.testing.assert_array_equal(compiled(scale, 1.7, data.x, data.test)[name], hiding)


@each_kernel
@each_path
def test_the_gradient_of_a_hidden_feature_is_zero_not_nan(name, dim):
    data = make_data(5, 6, dim)
    scale = scales_of(dim, True)
    scale[0] = np.inf
    slope = compiled_reverse(scale, 1.7, data.x, data.x[:5])[name][0]
    assert np.isfinite(slope).all()
    np.testing.assert_array_equal(slope[..., 0], np.zeros((6, 5)))
    assert (slope[..., 1:].sum((0, 1)) > 0.0).all()  # a longer scale correlates rows more


@each_path
def test_no_rows_give_an_empty_matrix(dim):
    none, three = np.zeros((0, dim)), np.zeros((3, dim))
    assert jax.eval_shape(RBF(), none, three).shape == (0, 3)
    assert jax.eval_shape(RBF(), three, none).shape == (3, 0)


@any_kernel
@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, [1.0, 0.0]])
def test_a_length_scale_that_is_not_positive_is_refused(name, scale):
    with pytest.raises(InvalidInput, match=r"length_scale must be positive; it is "):
        KERNELS[name](scale)


@any_kernel
def test_a_table_of_length_scales_is_refused(name):
    message = r"length_scale must be one number or one a feature; it has shape \(2, 2\)\."
    with pytest.raises(InvalidInput, match=message):
        KERNELS[name](np.ones((2, 2)))


@pytest.mark.parametrize("scale", ["long", None])
def test_a_length_scale_that_is_no_number_is_refused_by_name(scale):
    with pytest.raises(LabelwiseError, match="length_scale"):
        RBF(scale)


@any_kernel
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
