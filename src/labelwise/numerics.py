"""64-bit arithmetic and the Cholesky factor that every belief rests on.

Importing this module switches JAX to 64 bits for the whole process: a posterior variance is
a difference of nearly equal numbers, and in 32 bits it loses the digits that planning ranks
rows by. Set `jax.config.update("jax_enable_x64", False)` afterwards and Labelwise refuses to
compute rather than answer wrongly.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Scalar

from labelwise.runtime import keep_programs

jax.config.update("jax_enable_x64", True)
keep_programs()

# Relative to the mean of the diagonal. The last step still leaves eight digits.
JITTER_STEPS = (1e-14, 1e-12, 1e-10, 1e-8)
# Rows per pass: large enough for fast products, small enough that a pass needs little memory.
BLOCK = 4096


@jax.custom_jvp
@jax.jit  # called eagerly, its branches would be compiled anew at every call
def cholesky(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Lower Cholesky factor; on failure with jitter on the diagonal, grown in steps.

    Reads the lower triangle. If even the largest jitter fails the factor holds NaN, which
    the caller turns into an error that names the rows at fault.
    """
    scale = jnp.mean(jnp.diagonal(matrix))
    factor = _factor(matrix)
    for step in JITTER_STEPS:
        factor = jax.lax.cond(
            jnp.isfinite(factor[-1:, -1:]).all(),
            lambda matrix, factor, jitter: factor,
            lambda matrix, factor, jitter: _factor(add_diagonal(matrix, jitter)),
            matrix,
            factor,
            step * scale,
        )
    return factor


@cholesky.defjvp
def _cholesky_jvp(primals, tangents):
    """dL = L Φ(L⁻¹ dA L⁻ᵀ), Φ the lower triangle with its diagonal halved.

    Stated here because differentiating through the branches above would keep, and fill with
    zeros, what every untaken branch would have needed.
    """
    factor = cholesky(primals[0])
    change = solve_lower(factor, solve_lower(factor, symmetrise(tangents[0])).T)
    lower = jnp.tril(change) - 0.5 * jnp.diag(jnp.diagonal(change))
    return factor, factor @ lower


def _factor(matrix):
    return jax.lax.linalg.cholesky(matrix, symmetrize_input=False)


def add_diagonal(
    matrix: Float[Array, "n n"], value: Float[Array, " n"] | Scalar | float
) -> Float[Array, "n n"]:
    """Add `value` along the diagonal."""
    index = jnp.arange(matrix.shape[0])
    return matrix.at[index, index].add(value)


def solve_lower(
    factor: Float[Array, "n n"], right: Float[Array, "n ..."]
) -> Float[Array, "n ..."]:
    """Solve L z = b for a lower-triangular L."""
    return jax.scipy.linalg.solve_triangular(factor, right, lower=True)


def safe_root(weight: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """√weight with a finite derivative at 0.

    The products in which the root appears keep the right limit there, because each holds the
    same root twice.
    """
    return jnp.sqrt(weight + 1e-30)


def largest(values: Float[Array, " n"], count: int) -> Int[Array, " {count}"]:
    """Where the `count` largest values stand, best first, told apart to seven digits.

    In 32 bits, after scaling: XLA's partial sort on CPUs is some twenty times faster there.
    Use it to shorten a list, not to decide between neighbours.
    """
    top = jnp.max(jnp.where(jnp.isfinite(values), jnp.abs(values), 0.0))
    return jax.lax.top_k((values / jnp.maximum(top, 1e-300)).astype(jnp.float32), count)[1]


def symmetrise(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Take the symmetric part of a matrix that is symmetric but for rounding."""
    return 0.5 * (matrix + matrix.T)


def sample_variance(values: Float[Array, "..."], axis: int = 0) -> Float[Array, "..."]:
    """Compute the unbiased variance along an axis; of a single value, 0."""
    return jnp.var(values, axis=axis, ddof=min(1, values.shape[axis] - 1))


def in_blocks(function, x: Float[Array, "n dim"], block: int = BLOCK):
    """Apply a row-wise function `block` rows at a time, writing results in place.

    The last block starts early enough to be full, so some rows may be computed twice.
    """
    size = x.shape[0]
    if size <= block:
        return function(x)
    shapes = jax.eval_shape(function, jax.ShapeDtypeStruct((block, x.shape[1]), x.dtype))
    empty = jax.tree.map(lambda leaf: jnp.zeros((size, *leaf.shape[1:]), leaf.dtype), shapes)

    def fill(index, filled):
        start = jnp.minimum(index * block, size - block)
        part = function(jax.lax.dynamic_slice_in_dim(x, start, block))
        put = lambda whole, piece: jax.lax.dynamic_update_slice_in_dim(whole, piece, start, 0)
        return jax.tree.map(put, filled, part)

    return jax.lax.fori_loop(0, -(-size // block), fill, empty)
