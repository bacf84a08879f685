"""One number a row, quickly: what a belief expects of labels, for tables of any size.

Of a Gaussian process this is its posterior mean through the link, in single precision: one
product with the labelled rows, and no variance. Of a mixture it is the heaviest component's,
as elsewhere where thousands of steps are taken. Whatever is lost by this costs a little width:
means over a pool mend an answer whatever predictions they are of.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.process import AbstractProcess

BLOCK = 1 << 14  # rows that go through the program at once, ...
PART = 1 << 10  # ... so many at a time that their covariances stay in the processor's cache


@dataclass(frozen=True)
class PlainPredictor:
    """A function of encoded rows that other processes can be given."""

    belief: Any

    @staticmethod
    def of(belief: Any) -> "PlainPredictor":
        heaviest = getattr(belief, "heaviest", belief)
        if not isinstance(heaviest, AbstractProcess) or heaviest.seen is None:
            return PlainPredictor(belief)
        return PlainPredictor(_Plain.of(heaviest))

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Expected labels of rows, as many at a time as one program takes."""
        parts = [np.zeros(0)]
        kind = np.float32 if isinstance(self.belief, _Plain) else float
        for start in range(0, len(x), BLOCK):
            some = x[start : start + BLOCK]
            whole = np.pad(some, ((0, BLOCK - len(some)), (0, 0)), mode="edge").astype(kind)
            parts.append(np.asarray(_outcome(self.belief, whole), float)[: len(some)])
        return np.concatenate(parts)


class _Plain(eqx.Module):
    """A posterior mean in single precision."""

    process: AbstractProcess
    weight: jax.Array  # of each labelled row's covariance

    @staticmethod
    def of(process: AbstractProcess) -> "_Plain":
        seen = process.seen
        assert seen is not None
        factor, residual = np.asarray(seen.factor), np.asarray(seen.residual)
        weight = np.asarray(seen.gain) * np.linalg.solve(factor.T, residual)
        single = lambda leaf: leaf.astype(np.float32) if eqx.is_inexact_array(leaf) else leaf
        return _Plain(jax.tree.map(single, process), jnp.asarray(weight, jnp.float32))

    def outcome(self, x: jax.Array) -> tuple[jax.Array, None]:
        process = self.process
        assert process.seen is not None
        covariance = process.kernel(process.kernel.features(x), process.seen.features)
        mean = process.prior_mean(x).astype(jnp.float32) + covariance @ self.weight
        return process.likelihood.mean(mean), None


@eqx.filter_jit
def _outcome(belief: Any, x: Any) -> jax.Array:
    parts = jnp.reshape(x, (-1, PART, x.shape[1]))
    return jax.lax.map(lambda rows: belief.outcome(rows)[0], parts).reshape(-1)
