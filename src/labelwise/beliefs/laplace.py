"""Laplace's approximation: the posterior of a Gaussian process whose labels are not Gaussian.

Around its mode the log posterior of the function at the labelled rows is replaced by the
parabola that touches it. Each label then acts as a plain reading of the function, with gain
√W and noise 1, where W is how fast the slope of its log-likelihood falls. In these terms
Newton's step towards the mode is plain conditioning on such readings, by way of the matrix
B = I + W^½ K W^½, whose eigenvalues are at least 1 whatever W and K are. [1, section 3.4]

The log-likelihood must be concave in f, which holds for 0/1 labels with either link.

[1] Rasmussen, Williams (2006), Gaussian Processes for Machine Learning.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Scalar

from labelwise.likelihoods import AbstractLikelihood
from labelwise.numerics import add_diagonal, safe_root, solve_lower

MOST_STEPS = 100
TOLERANCE = 1e-9  # on the slope of the log posterior; one more step squares what is left
HALVINGS = 30  # of a step: beyond, what it changes is rounding
ROUNDING = 1e-10  # relative, of the log posterior, with room to spare


class Readings(eqx.Module):
    """Labels as plain readings: gain · (f - m) + N(0, 1)."""

    gain: Float[Array, " n"]
    factor: Float[Array, "n n"]  # L, lower Cholesky factor of B
    residual: Float[Array, " n"]  # L⁻¹ readings

    def pull(self) -> Float[Array, " n"]:
        """K⁻¹ (E[f] - m): how hard each label pulls at the function."""
        whitened = jax.scipy.linalg.solve_triangular(
            self.factor, self.residual, lower=True, trans="T"
        )
        return self.gain * whitened


class Approximation(eqx.Module):
    """The log posterior of the function at the labelled rows, up to a constant.

    A point is given by its pull a: the function there is f = m + K a.
    """

    likelihood: AbstractLikelihood
    covariance: Float[Array, "n n"]  # K
    mean: Float[Array, " n"]  # m
    y: Float[Array, " n"]
    weight: Float[Array, " n"]

    def log_prob(self, pull: Float[Array, " n"]) -> Scalar:
        """log p(y | f) + log p(f), each label by its weight."""
        return self._log_prob(pull, self.covariance @ pull)

    def slope(self, pull: Float[Array, " n"]) -> Float[Array, " n"]:
        """Of the log posterior in f: zero at the mode."""
        return self._derivatives(self.covariance @ pull)[0] - pull

    def read(self, pull: Float[Array, " n"]) -> Readings:
        """The readings that have the same slope and curvature as the labels, at this point."""
        shift = self.covariance @ pull
        slope, curvature = self._derivatives(shift)
        gain = safe_root(curvature)
        spread = gain[:, None] * self.covariance * gain[None, :]
        # No jitter: the eigenvalues are at least 1.
        factor = jnp.linalg.cholesky(add_diagonal(spread, 1.0), symmetrize_input=False)
        return Readings(gain, factor, solve_lower(factor, gain * shift + slope / gain))

    def find_mode(self, start: Float[Array, " n"] | None = None) -> Float[Array, " n"]:
        """The pull at the mode, differentiable in all that the posterior is made of.

        Newton's map has derivative 0 at the point that it leaves unmoved, so one step from
        there moves with the weights and the kernel exactly as the mode does.
        """
        start = jnp.zeros_like(self.y) if start is None else start
        top = jax.lax.stop_gradient(self)._climb(jax.lax.stop_gradient(start))
        return self.read(top).pull()

    def _log_prob(self, pull, shift):
        fit = self.likelihood.log_prob(self.y, self.mean + shift)
        return self.weight @ fit - 0.5 * pull @ shift

    def _derivatives(self, shift):
        """Slope and curvature (its fall) of each label's weighted log-likelihood."""
        slope = jax.grad(self.likelihood.log_prob, argnums=1)
        fall = jax.vmap(jax.grad(slope, argnums=1))
        f = self.mean + shift
        curvature = -fall(self.y, f)
        return (
            self.weight * jax.vmap(slope)(self.y, f),
            self.weight * jnp.maximum(curvature, 0.0),  # rounding can leave it just below
        )

    def _climb(self, start):
        def unfinished(state):
            pull, count = state
            steep = jnp.max(jnp.abs(self.slope(pull)), initial=0.0) > TOLERANCE
            return steep & (count < MOST_STEPS)

        def step(state):
            pull, count = state
            return self._line_search(pull, self.read(pull).pull()), count + 1

        return jax.lax.while_loop(unfinished, step, (start, 0))[0]

    def _line_search(self, pull, newton):
        """The best of halved Newton steps; of those as good but for rounding, the longest.

        The log posterior is concave, so that some of them rise. Far from the mode the full
        step may fall: a label that the function contradicts has next to no curvature.
        """
        shares = 0.5 ** jnp.arange(HALVINGS)
        step = newton - pull
        shift, climb = self.covariance @ pull, self.covariance @ step
        value = jax.vmap(lambda s: self._log_prob(pull + s * step, shift + s * climb))(shares)
        enough = value.max() - ROUNDING * (1.0 + jnp.abs(value.max()))
        return pull + shares[jnp.argmax(value >= enough)] * step


def log_evidence(
    posterior: Approximation, mode: Float[Array, " n"], readings: Readings
) -> Scalar:
    """Laplace's approximation of log p(y | x), from the mode and the readings there.

    [1, eq. 3.32]
    """
    volume = jnp.sum(jnp.log(jnp.diagonal(readings.factor)))
    return posterior.log_prob(mode) - volume
