"""Drawing a batch from the pool: exact draws, their probabilities, and a soft relaxation.

A policy gives every pool row a logit θ. Adding Gumbel noise and keeping the k largest draws
k distinct rows, each next one with probability proportional to w = exp(θ) among those left.
REINFORCE needs the exact draw and its log-probability; Smoothed-Autodiff needs `soft_batch`,
which is differentiable in the logits.

Every function makes one draw; use `jax.vmap` for many.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, Algorithm 2.
[2] Kool, van Hoof, Welling (2019), Stochastic Beams and Where to Find Them.
[3] Xie, Ermon (2019), Reparameterizable Subset Sampling via Continuous Relaxations.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, Scalar, ScalarLike

from labelwise.errors import InvalidInput
from labelwise.types import EXCLUDED

SMALL = 6  # rows up to which the orders of a set are summed, by way of its subsets
NODES = 512  # of the quadrature for the probability of a larger set
TAIL = 40.0  # where the integrand has fallen by e^-40 it is left out
BISECTIONS = 60


def hard_batch(key: PRNGKeyArray, logits: Float[Array, " pool"], k: int) -> Int[Array, " {k}"]:
    """Draw k distinct rows, in the order drawn. [2]

    Keys are compared in 32 bits, where XLA's partial sort is some fifty times faster.
    """
    keys = _perturb(key, logits, k)
    return jax.lax.top_k((keys - keys.max()).astype(jnp.float32), k)[1]


def soft_batch(
    key: PRNGKeyArray, logits: Float[Array, " pool"], k: int, temperature: ScalarLike
) -> Float[Array, " pool"]:
    """Relax the draw to non-negative weights that sum to k. [1, 3]

    One key gives one noise: as `temperature` falls to 0 the weights tend to the indicator of
    `hard_batch(key, logits, k)`. Where rows compete closely a weight can exceed 1.
    """

    def draw_one(scores, _):
        log_weights = jax.nn.log_softmax(scores / temperature)
        return scores + _log_one_minus(log_weights), jnp.exp(log_weights)

    _, weights = jax.lax.scan(draw_one, _perturb(key, logits, k), length=k)
    return weights.sum(axis=0)


def sequence_log_prob(logits: Float[Array, " pool"], rows: Int[Array, " k"]) -> Scalar:
    """Log-probability that `hard_batch` draws these rows in this order."""

    def draw_one(left, row):
        return left.at[row].set(EXCLUDED), left[row] - jax.nn.logsumexp(left)

    return jax.lax.scan(draw_one, logits, rows)[1].sum()


def set_log_prob(logits: Float[Array, " pool"], rows: Int[Array, " k"]) -> Scalar:
    """Log-probability that `hard_batch` draws these rows in any order, for any k."""
    inside = logits[rows]
    outside = jax.nn.logsumexp(logits.at[rows].set(EXCLUDED))
    everything = outside < EXCLUDED / 2  # no row outside: the set is drawn for certain
    outside = jnp.where(everything, 0.0, outside)
    by = _by_subsets if rows.shape[0] <= SMALL else _by_quadrature
    return jnp.where(everything, 0.0, by(inside, outside))


def _by_subsets(inside: Float[Array, " k"], outside: Scalar) -> Scalar:
    """The sum over all orders, each subset T of the set reached once:

        P(T) = Σ_{i in T} P(T - i) w_i / (rate of all rows outside T - i).

    Every term is positive, so nothing cancels.
    """
    k = inside.shape[0]
    member = np.arange(2**k)[:, None] >> np.arange(k)[None, :] & 1 > 0  # of each subset
    running = jnp.where(member, EXCLUDED, inside[None, :])
    rate = jnp.logaddexp(outside, jax.nn.logsumexp(running, axis=1))
    log_prob = jnp.zeros(2**k)
    for size in range(1, k + 1):
        subsets = np.flatnonzero(member.sum(axis=1) == size)
        last = np.array([np.flatnonzero(member[subset]) for subset in subsets])
        rest = subsets[:, None] - 2**last
        ways = (log_prob - rate)[rest] + inside[last]
        log_prob = log_prob.at[subsets].set(jax.nn.logsumexp(ways, axis=1))
    return log_prob[-1]


def _by_quadrature(inside: Float[Array, " k"], outside: Scalar) -> Scalar:
    """The draw is a race of exponential clocks with rates w: the set wins if all its clocks
    ring before the first of the others, whose rate is their sum v. So

        P(S) = ∫ v e^(-v t) Π_{i in S} (1 - e^(-w_i t)) dt,

    a log-concave integrand in log t, summed by the trapezoid rule over the window where it is
    not negligible. The error falls exponentially in the number of nodes.
    """
    low, high = _window(*jax.lax.stop_gradient((inside, outside)))
    nodes = jnp.linspace(low, high, NODES)
    logs = jax.vmap(_log_integrand, in_axes=(0, None, None))(nodes, inside, outside)
    return jax.nn.logsumexp(logs) + jnp.log((high - low) / (NODES - 1))


def _log_integrand(log_time, inside, outside):
    """log of v t e^(-v t) Π (1 - e^(-w_i t)) at t = e^log_time."""
    ring = jax.vmap(_log_rung)(log_time + inside)
    return jnp.sum(ring) + log_time + outside - jnp.exp(log_time + outside)


def _log_rung(log_rate):
    """log(1 - exp(-e^log_rate)), exact at both ends."""
    small = log_rate < -30.0  # there 1 - e^-r = r to rounding
    rate = jnp.exp(jnp.clip(log_rate, -30.0, 6.0))  # and beyond e^6 it is 1
    return jnp.where(small, log_rate, jnp.log(-jnp.expm1(-rate)))


def _window(inside, outside):
    """The stretch of log-time that holds all but e^-TAIL of the integrand, by bisection."""
    height = lambda u: _log_integrand(u, inside, outside)
    slope = jax.grad(height)
    # Each factor rises or falls around its own 1/rate; beyond all of them nothing is left.
    start = -jnp.maximum(inside.max(), outside) - 2.0 * TAIL
    end = -jnp.minimum(inside.min(), outside) + 2.0 * TAIL
    peak = _bisect(lambda u: slope(u) > 0.0, start, end)
    floor = height(peak) - TAIL
    low = _bisect(lambda u: height(u) < floor, start, peak)
    high = _bisect(lambda u: height(u) > floor, peak, end)
    return low, high


def _bisect(before, low, high):
    """Where a condition that holds first and then fails changes."""

    def halve(_, bracket):
        low, high = bracket
        middle = 0.5 * (low + high)
        holds = before(middle)
        return jnp.where(holds, middle, low), jnp.where(holds, high, middle)

    low, high = jax.lax.fori_loop(0, BISECTIONS, halve, (low, high))
    return 0.5 * (low + high)


def _perturb(key, logits, k):
    if not 1 <= k <= logits.size:
        raise InvalidInput(
            f"Cannot draw k={k} rows from a pool of {logits.size}",
            "draw at least 1, and no more than there are",
            where="k",
        )
    return logits + jax.random.gumbel(key, logits.shape, logits.dtype)


def _log_one_minus(log_weights):
    """log(1 - w); for the heaviest row from the others' weights, where 1 - w may round to 0."""
    heaviest = jnp.arange(log_weights.size) == jnp.argmax(log_weights)
    others = jax.nn.logsumexp(jnp.where(heaviest, EXCLUDED, log_weights))
    light = jnp.where(heaviest, EXCLUDED, log_weights)  # no infinite slope where not used
    return jnp.where(heaviest, others, jnp.log1p(-jnp.exp(light)))
