"""The exact Gaussian process, with labels that may count in part.

Seeing more rows extends the Cholesky factor of the readings; nothing is refitted.

A weight a between 0 (absent) and 1 (seen) turns a label into a noisier reading:

    "paper"      gain a,   noise (1 - a²) k(x, x) + σ², the label itself not scaled
    "precision"  gain √a,  noise σ², the label scaled by √a (noise σ²/a on the label)

The first is Algorithm 3 of [1]: a reading of variance a² k + (1 - a²) k + σ² has the kept
diagonal k + σ² and off-diagonals a_i a_j k_ij. Being a plain reading, it conditions a
posterior as well as a prior, with a_i² V_ii + (1 - a_i²) k_ii + σ² on the diagonal.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling.
"""

from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Scalar

from labelwise.beliefs.base import AbstractGaussianBelief, Reading
from labelwise.beliefs.kernels import AbstractKernel
from labelwise.beliefs.means import AbstractMean, as_mean
from labelwise.beliefs.process import AbstractProcess, Embedding, Seen
from labelwise.errors import InvalidInput, NumericalError
from labelwise.inputs import as_scalar, check_is, is_traced
from labelwise.numerics import add_diagonal, cholesky, safe_root, solve_lower
from labelwise.tables.text import name_rows

Weighting = Literal["paper", "precision"]

# Noise below this share of the kernel's variance cannot tell two equal rows apart.
NO_NOISE = 1e-12


class GaussianProcess(AbstractProcess, AbstractGaussianBelief[Embedding]):
    """f ~ GP(mean, kernel), labels y = f(x) + N(0, noise)."""

    kernel: AbstractKernel
    noise: Scalar  # variance, not standard deviation
    prior_mean: AbstractMean
    weighting: Weighting = eqx.field(static=True)
    seen: Seen | None

    def __init__(
        self,
        kernel: AbstractKernel,
        noise: Any,
        mean: AbstractMean | None = None,
        weighting: Weighting = "paper",
    ):
        if weighting not in ("paper", "precision"):
            raise InvalidInput.must(
                "weighting", "be 'paper' or 'precision'", f"it is {weighting!r}"
            )
        check_is("kernel", kernel, AbstractKernel)
        self.kernel = kernel
        self.noise = as_scalar("noise", noise, low=0.0)
        self.prior_mean = as_mean(mean)
        self.weighting = weighting
        self.seen = None
        if weighting == "precision" and not is_traced(self.noise) and self.noise == 0:
            raise InvalidInput(
                "Precision weighting divides the noise by the weight, so it needs noise > 0",
                "give noise, or use weighting='paper'",
                where="noise",
            )

    def condition(self, x: Any, y: Any, weight: Any = None) -> "GaussianProcess":
        new = self.as_labelled(x, y, weight)
        x, y, weight = new.x, new.y, new.weight
        self._check_distinct(x, weight)
        seen = self._extend(x, y, weight)
        if not is_traced(seen) and not bool(jnp.isfinite(seen.factor).all()):
            raise _singular(*self._with_seen(x, weight))
        return eqx.tree_at(
            lambda belief: belief.seen, self, seen, is_leaf=lambda leaf: leaf is None
        )

    @property
    def log_evidence(self):
        if self.seen is None:
            return jnp.zeros(())
        weight = self.seen.gain if self.weighting == "paper" else self.seen.gain**2
        spread = jnp.diagonal(self.seen.factor)
        each = -0.5 * self.seen.residual**2 - jnp.log(spread) - 0.5 * np.log(2.0 * np.pi)
        return weight @ each

    def read(self, rows, weight):
        if self.weighting == "precision":
            root = safe_root(weight)
            return Reading(root, jnp.full_like(weight, self.noise), root)
        noise = (1.0 - weight**2) * self.kernel.diagonal(rows.features) + self.noise
        return Reading(weight, noise, jnp.ones_like(weight))

    def _extend(self, x, y, weight) -> Seen:
        """Append rows to the factor: [[L, 0], [B, D]] with D Dᵀ the rows' own remainder."""
        new = self.embed(x)
        reading = self.read(new, weight)
        below = reading.gain[:, None] * new.whitened
        spread = self.kernel(new.features, new.features)
        spread = spread * reading.gain[:, None] * reading.gain[None, :]
        own = cholesky(add_diagonal(spread - below @ below.T, reading.noise))
        surprise = reading.label_scale * (y - new.prior_mean)
        if self.seen is None:
            return Seen(new.features, reading.gain, own, solve_lower(own, surprise))
        old = self.seen
        beside = jnp.zeros((old.gain.shape[0], x.shape[0]))
        return Seen(
            features=jnp.concatenate([old.features, new.features]),
            gain=jnp.concatenate([old.gain, reading.gain]),
            factor=jnp.block([[old.factor, beside], [below, own]]),
            residual=jnp.concatenate(
                [old.residual, solve_lower(own, surprise - below @ old.residual)]
            ),
        )

    def _check_distinct(self, x, weight):
        """Without noise two labels of one row contradict each other, whatever the jitter."""
        if is_traced(x, weight, self):
            return
        scale = self.kernel.diagonal(self.kernel.features(x)).max(initial=0.0)
        if self.noise > NO_NOISE * scale:
            return
        everything, counts = self._with_seen(x, weight)
        present = np.flatnonzero(counts > 0)
        _, group = np.unique(everything[present], axis=0, return_inverse=True)
        sizes = np.bincount(group.ravel())
        if (sizes > 1).any():
            twins = present[group.ravel() == np.argmax(sizes > 1)]
            raise NumericalError(
                f"The kernel matrix is singular: labelled {name_rows(twins)} are equal and "
                "the noise is 0",
                "give noise > 0, or keep one of them",
                where="noise",
            )

    def _with_seen(self, x, weight):
        """Features of all rows, those seen before first, and how much each counts."""
        features = self.kernel.features(x)
        if self.seen is None:
            return np.asarray(features), np.asarray(weight)
        return (
            np.concatenate([self.seen.features, features]),
            np.concatenate([self.seen.gain, weight]),
        )


def _singular(rows, counts) -> NumericalError:
    present = np.flatnonzero(counts > 0)
    distance = np.linalg.norm(rows[present][:, None] - rows[present][None, :], axis=-1)
    np.fill_diagonal(distance, np.inf)
    closest = np.unravel_index(np.argmin(distance), distance.shape)
    return NumericalError(
        "The kernel matrix is singular even with jitter",
        f"the closest labelled {name_rows(present[list(closest)])} lie {distance[closest]:.1e} "
        "apart: raise the noise, or keep one of them",
        where="noise",
    )
