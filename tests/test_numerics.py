"""The Cholesky factor with its jitter and its gradient, and the partial sort."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from labelwise.numerics import (
    JITTER_STEPS,
    add_diagonal,
    cholesky,
    largest,
    solve_lower,
    symmetrise,
)


def well_conditioned(size: int, seed: int = 0) -> np.ndarray:
    root = np.random.default_rng(seed).normal(size=(size, size))
    return root @ root.T + size * np.eye(size)  # condition number below about 5


def singular(size: int, rank: int, scale: float = 1.0) -> np.ndarray:
    root = np.random.default_rng(1).normal(size=(size, rank))
    return scale * root @ root.T


def test_importing_labelwise_computes_in_64_bits():
    assert jnp.zeros(1).dtype == jnp.float64


compiled = jax.jit(cholesky)


@pytest.mark.parametrize("size", [1, 4, 6, 40])
def test_a_well_conditioned_factor_agrees_with_numpy_and_takes_no_jitter(size):
    matrix = well_conditioned(size)
    factor = np.asarray(compiled(matrix))
    # Backward error n · 1e-16 of a matrix of condition 5; the least jitter would be 1e-14.
    np.testing.assert_allclose(factor, np.linalg.cholesky(matrix), rtol=0, atol=4e-15 * size)
    np.testing.assert_array_equal(np.triu(factor, 1), np.zeros((size, size)))


def test_the_factor_of_no_rows_has_no_rows():
    assert cholesky(jnp.zeros((0, 0))).shape == (0, 0)


def test_the_factor_reads_the_lower_triangle_only():
    matrix = well_conditioned(4)
    spoilt = jnp.asarray(np.tril(matrix) + np.triu(np.full((4, 4), 99.0), 1))
    np.testing.assert_allclose(compiled(spoilt), np.linalg.cholesky(matrix), rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("rank", [1, 3])
def test_a_singular_matrix_is_factored_within_the_jitter(scale, rank):
    matrix = singular(6, rank, scale)
    factor = np.asarray(compiled(matrix))
    assert np.isfinite(factor).all()
    off = np.abs(factor @ factor.T - matrix)
    mean = np.trace(matrix) / 6
    # Jitter only on the diagonal; elsewhere rounding, some 1e-15 of the largest entry.
    assert off.max() <= 1.01 * JITTER_STEPS[-1] * mean
    assert (off - np.diag(np.diag(off))).max() <= 1e-14 * np.abs(matrix).max()


def test_jitter_is_no_larger_than_the_first_step_that_serves():
    eigenvalues = np.array([1.0, 1.0, 1.0, -1e-11])  # 1e-12 of the mean fails, 1e-10 serves
    basis = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))[0]
    matrix = (basis * eigenvalues) @ basis.T
    factor = np.asarray(compiled(np.tril(matrix) + np.tril(matrix, -1).T))
    added = np.diag(factor @ factor.T - matrix)
    np.testing.assert_allclose(added, np.full(4, 1e-10 * np.trace(matrix) / 4), rtol=1e-4)


def test_an_indefinite_matrix_gives_nan_for_the_caller_to_report():
    indefinite = np.diag([1.0, 2.0, 3.0, -0.5])
    assert np.isnan(compiled(indefinite)).any()


def test_the_factor_of_a_stack_is_that_of_each_matrix():
    stack = np.stack([well_conditioned(4), singular(4, 1)])
    together = np.asarray(jax.jit(jax.vmap(cholesky))(stack))
    for factor, matrix in zip(together, stack, strict=True):
        np.testing.assert_allclose(factor, compiled(matrix), rtol=0, atol=1e-12)


def test_the_factor_is_the_same_outside_compilation():
    matrix = jnp.asarray(well_conditioned(6))
    np.testing.assert_allclose(cholesky(matrix), compiled(matrix), rtol=0, atol=1e-14)


def test_a_second_factor_of_the_same_size_compiles_nothing():
    matrix = jnp.asarray(well_conditioned(6))
    cholesky(matrix)
    another, compilations = jnp.asarray(2.0 * well_conditioned(6)), []
    listener = lambda event, duration, **_: compilations.append(event)
    jax.monitoring.register_event_duration_secs_listener(listener)
    cholesky(another)
    jax.monitoring.unregister_event_duration_listener(listener)
    assert not [event for event in compilations if "compile" in event]


@pytest.mark.parametrize("size", [1, 4])
def test_the_gradient_of_the_factor_agrees_with_finite_differences(size):
    matrix = jnp.asarray(well_conditioned(size))
    # As a function of any square matrix, through its symmetric part.
    factor = jax.jit(lambda change: cholesky(matrix + 0.5 * (change + change.T)))
    start = jnp.asarray(np.random.default_rng(3).normal(size=(size, size)))
    # Central differences of step 1e-5: h² for the curvature, 1e-16/h for rounding.
    check_grads(factor, (start,), order=1, modes=("fwd", "rev"), eps=1e-5, atol=1e-7, rtol=1e-7)


def test_the_gradient_of_the_log_determinant_is_half_the_inverse():
    matrix = well_conditioned(6)
    volume = lambda matrix: jnp.sum(jnp.log(jnp.diagonal(cholesky(matrix))))
    for gradient in (jax.grad(volume), jax.jacfwd(volume)):
        slope = jax.jit(gradient)(jnp.asarray(matrix))
        np.testing.assert_allclose(slope, 0.5 * np.linalg.inv(matrix), rtol=0, atol=1e-14)


def test_the_gradient_in_a_matrix_is_symmetric_as_the_matrix_is():
    matrix, weights = well_conditioned(4), np.random.default_rng(8).normal(size=(4, 4))
    slope = jax.jit(jax.grad(lambda matrix: jnp.sum(weights * cholesky(matrix))))
    found = np.asarray(slope(jnp.asarray(matrix)))
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-15)
    assert np.abs(found).min() > 1e-3


def test_second_derivatives_of_the_factor_exist():
    matrix = jnp.asarray(well_conditioned(3))
    volume = lambda scale: jnp.sum(jnp.log(jnp.diagonal(cholesky(scale * matrix))))
    # log det(sA)/2 = (3/2) log s + const, so the second derivative is -3/2 at s = 1.
    assert jax.jit(jax.grad(jax.grad(volume)))(1.0) == pytest.approx(-1.5, abs=1e-12)


def test_a_lower_system_is_solved_for_one_and_for_many_right_sides():
    factor = np.linalg.cholesky(well_conditioned(4))
    right = np.random.default_rng(4).normal(size=(4, 3))
    solution = np.linalg.solve(factor, right)
    lower = jnp.asarray(factor)
    np.testing.assert_allclose(solve_lower(lower, jnp.asarray(right)), solution, atol=1e-14)
    one = solve_lower(lower, jnp.asarray(right[:, 0]))
    np.testing.assert_allclose(one, solution[:, 0], atol=1e-14)


@pytest.mark.parametrize("value", [0.5, np.array(0.5), np.array([0.5, 1.0, 2.0])])
def test_only_the_diagonal_is_added_to(value):
    matrix = well_conditioned(3)
    expected = matrix + np.diag(np.broadcast_to(np.asarray(value), 3))
    given = value if isinstance(value, float) else jnp.asarray(value)
    np.testing.assert_array_equal(add_diagonal(jnp.asarray(matrix), given), expected)


def test_symmetrising_keeps_the_symmetric_part_only():
    matrix = np.random.default_rng(5).normal(size=(3, 3))
    symmetric = np.asarray(symmetrise(jnp.asarray(matrix)))
    np.testing.assert_array_equal(symmetric, symmetric.T)
    np.testing.assert_allclose(symmetric, (matrix + matrix.T) / 2, rtol=1e-15)


compiled_largest = jax.jit(largest, static_argnums=1)


@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e60])
@pytest.mark.parametrize("sign", ["mixed", "negative", "positive"])
@pytest.mark.parametrize("count", [1, 7, 200])
def test_the_largest_are_the_true_ones_best_first(scale, sign, count):
    values = np.random.default_rng(6).normal(size=200)
    values = {"mixed": values, "negative": -np.abs(values), "positive": np.abs(values)}[sign]
    found = compiled_largest(scale * values, count)
    # Two hundred normal values differ by 1e-6 and more; 32 bits tell 1e-7 apart.
    np.testing.assert_array_equal(found, np.argsort(-values)[:count])


@pytest.mark.parametrize("scale", [1.0, 1e-60])
def test_the_largest_pass_over_values_of_minus_infinity(scale):
    rng = np.random.default_rng(7)
    values = np.where(rng.random(100) < 0.7, -np.inf, scale * rng.normal(size=100))
    finite = int(np.count_nonzero(np.isfinite(values)))
    found = np.asarray(largest(jnp.asarray(values), finite))
    np.testing.assert_array_equal(found, np.argsort(-values)[:finite])
    more = np.asarray(largest(jnp.asarray(values), finite + 5))
    np.testing.assert_array_equal(more[:finite], found)
    assert np.isneginf(values[more[finite:]]).all()


@pytest.mark.parametrize("values", [np.zeros(4), np.full(4, -np.inf)])
def test_the_largest_of_equal_values_are_distinct_rows(values):
    found = np.asarray(compiled_largest(values, 3))
    assert len(set(found.tolist())) == 3
