"""64-bit arithmetic and the Cholesky factor that every belief rests on.

Importing this module switches JAX to 64 bits for the whole process: a posterior variance is
a difference of nearly equal numbers, and in 32 bits it loses the digits that planning ranks
rows by. Set `jax.config.update("jax_enable_x64", False)` afterwards and Labelwise refuses to
compute rather than answer wrongly.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Scalar

jax.config.update("jax_enable_x64", True)

# Relative to the mean of the diagonal. The last step still leaves eight digits.
JITTER_STEPS = (1e-14, 1e-12, 1e-10, 1e-8)


def cholesky(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Lower Cholesky factor; on failure with jitter on the diagonal, grown in steps.

    Differentiable. If even the largest jitter fails the factor holds NaN, which the caller
    turns into an error that names the rows at fault.
    """
    scale = jax.lax.stop_gradient(jnp.mean(jnp.diagonal(matrix)))
    factor = jnp.linalg.cholesky(matrix)
    for step in JITTER_STEPS:
        factor = jax.lax.cond(
            jnp.isfinite(factor[-1:, -1:]).all(),
            lambda matrix, factor, step: factor,
            lambda matrix, factor, step: jnp.linalg.cholesky(add_diagonal(matrix, step)),
            matrix,
            factor,
            step * scale,
        )
    return factor


def add_diagonal(
    matrix: Float[Array, "n n"], value: Float[Array, " n"] | Scalar | float
) -> Float[Array, "n n"]:
    """The matrix with `value` added along its diagonal."""
    index = jnp.arange(matrix.shape[0])
    return matrix.at[index, index].add(value)


def solve_lower(
    factor: Float[Array, "n n"], right: Float[Array, "n ..."]
) -> Float[Array, "n ..."]:
    """Solve L z = b for a lower-triangular L."""
    return jax.scipy.linalg.solve_triangular(factor, right, lower=True)


def symmetrise(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The symmetric part, for matrices that are symmetric but for rounding."""
    return 0.5 * (matrix + matrix.T)
