"""Gains from draws, for any belief and any estimand.

Some joint draws of the function at target and pool stand for the belief. In each of a number
of worlds one draw is the truth: it writes the labels of every pool row. Seeing some of these
labels gives every other draw a weight, its likelihood; the weighted variance of the estimand
is what would be left of the uncertainty, and its mean over worlds estimates H(S). Draws and
worlds are fixed for the round, so batches are compared under common random numbers, and every
candidate of a greedy step is scored by a few matrix products.

Labels with few values are summed over exactly, for the row under consideration. Continuous
labels are read with a little more noise than they have, so that enough draws keep a weight.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 4.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from labelwise.beliefs.base import AbstractBelief
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.combine import Scalarisation, scalarisation_of
from labelwise.estimands.moments import values_of
from labelwise.likelihoods import AbstractLikelihood
from labelwise.lookahead.scorers.base import AbstractBatchScorer
from labelwise.types import EXCLUDED, Pool

DRAWS = 2000
WORLDS = 64
# Continuous labels are read with this share of the row's variance as additional noise.
BROADENING = 0.1
LEAST_CHANCE = 1e-9


class Weighed(eqx.Module):
    """Places for a batch, and what the label of each says of every draw, in every world."""

    rows: Int[Array, " k"]
    filled: Bool[Array, " k"]
    evidence: Float[Array, "k worlds draws"]  # log-likelihoods

    def without(self, slot: Int[Array, ""]) -> "Weighed":
        return Weighed(self.rows, self.filled.at[slot].set(False), self.evidence)


class ParticleScorer(AbstractBatchScorer[Weighed]):
    """Draws that stand for a belief, and worlds of imagined labels."""

    values: Float[Array, "parts draws"]  # the estimand of each draw
    functions: Float[Array, "draws arms ..."]  # at the rows one may label
    chances: Float[Array, "classes draws arms"] | None  # of all classes but the first
    likelihood: AbstractLikelihood
    broadening: Float[Array, " arms"]  # variance added to continuous labels
    arm: Int[Array, "worlds pool"]  # the row that a unit is, in each world
    imagined: Float[Array, "worlds pool"]  # its label there
    base: Float[Array, "worlds draws"]  # log-weights before any label of the batch
    aim: Scalarisation

    def start(self, k):
        worlds, draws = self.base.shape
        return Weighed(jnp.zeros(k, int), jnp.zeros(k, bool), jnp.zeros((k, worlds, draws)))

    def put(self, state, slot, row):
        arm, label = self.arm[:, row], self.imagined[:, row]
        evidence = _log_prob(
            self.likelihood,
            label[:, None],
            jnp.swapaxes(self.functions[:, arm], 0, 1),
            self.broadening[arm][:, None],
        )
        return Weighed(
            state.rows.at[slot].set(row),
            state.filled.at[slot].set(True),
            state.evidence.at[slot].set(evidence),
        )

    def gains(self, state):
        log_weights = self._log_weights(state)
        so_far, every = jax.lax.map(self._in_world, (log_weights, self.arm, self.imagined))
        now = self.aim.total(self.values.var(axis=1, ddof=1))
        gain = now - self.aim.total(so_far.mean(axis=0))
        return gain, now - self.aim.total(every.mean(axis=0)) - gain

    def variances(self, state: Weighed) -> Float[Array, " parts"]:
        """Expected variance of each part once the labels in the places are known."""
        of_world = lambda logs: _weighted_variance(self.values, jax.nn.softmax(logs))
        return jax.lax.map(of_world, self._log_weights(state)).mean(axis=0)

    def effective(self, state: Weighed) -> Float[Array, ""]:
        """How many equally weighted draws those of a world are worth, on average."""
        weights = jax.nn.softmax(self._log_weights(state), axis=1)
        return jnp.mean(1.0 / jnp.sum(weights**2, axis=1))

    def _log_weights(self, state) -> Float[Array, "worlds draws"]:
        known = jnp.where(state.filled[:, None, None], state.evidence, 0.0)
        return self.base + known.sum(axis=0)

    def _in_world(self, world):
        """Variances left by the batch in one world, and with each row's label besides."""
        logs, arm, label = world
        weights = jax.nn.softmax(logs)
        left = _weighted_variance(self.values, weights)
        if self.chances is not None:
            return left, self._after_class(weights, self.chances[:, :, arm])
        evidence = _log_prob(
            self.likelihood,
            label[None, :],
            self.functions[:, arm],
            self.broadening[arm][None, :],
        )
        after = jax.nn.softmax(logs[:, None] + evidence, axis=0)
        return left, _weighted_variance(self.values, after)

    def _after_class(self, weights, chances) -> Float[Array, "parts pool"]:
        """E[g²] less the mean square of E[g | label], summed over all classes."""
        expected = jnp.einsum("d,cdp->cp", weights, chances)
        others = jnp.clip(expected, LEAST_CHANCE, None)
        first = jnp.clip(1.0 - expected.sum(axis=0), LEAST_CHANCE, None)
        centre = self.values @ weights
        away = self.values - centre[:, None]
        parts = jnp.einsum("jd,cdp->cjp", away * weights[None, :], chances)
        rest = parts.sum(axis=0)  # with a minus, the part of the first class
        square = away**2 @ weights
        explained = jnp.sum(parts**2 / others[:, None, :], axis=0) + rest**2 / first[None, :]
        return (square[:, None] - explained) / (1.0 - jnp.sum(weights**2))


def make_particles(
    key: PRNGKeyArray,
    belief: AbstractBelief,
    estimand: AbstractEstimand,
    pool: Pool,
    draws: int = DRAWS,
    worlds: int = WORLDS,
) -> ParticleScorer:
    """Draw functions at target and pool, and imagine labels; pending rows' are known there."""
    function_key, author_key, label_key, arm_key = jax.random.split(key, 4)
    target, arms, out = estimand.x.shape[0], pool.arms, pool.pending
    pending_x = pool.x[jnp.maximum(out, 0)]
    everywhere = jnp.concatenate([estimand.x, arms, pending_x])
    functions = belief.representatives(function_key, everywhere, draws)
    draws = functions.shape[0]
    values = jnp.atleast_2d(values_of(estimand, functions[:, :target], belief.likelihood).T)
    values = values - values.mean(axis=1, keepdims=True)  # lest large means cost digits
    broadening = _broadening(belief.likelihood, functions)
    author = jax.random.choice(author_key, draws, (worlds,), replace=worlds > draws)
    imagined = _imagine(label_key, belief.likelihood, functions[author], broadening)
    parts = lambda array, axis: jnp.split(array, [target, target + arms.shape[0]], axis)
    _, at_arms, at_pending = parts(functions, 1)
    _, label_arms, label_pending = parts(imagined, 1)
    _, broad_arms, broad_pending = parts(broadening, 0)
    arm = _arms(arm_key, pool, worlds)
    said = _log_prob(
        belief.likelihood,
        label_pending[:, None, :],
        at_pending[None],
        broad_pending[None, None, :],
    )
    base = jnp.sum(jnp.where(out[None, None, :] >= 0, said, 0.0), axis=2)
    return ParticleScorer(
        values=values,
        functions=at_arms,
        chances=_chances(belief.likelihood, at_arms),
        likelihood=belief.likelihood,
        broadening=broad_arms,
        arm=arm,
        imagined=jnp.take_along_axis(label_arms, arm, axis=1),
        # The draw that wrote a world's labels would vouch for itself.
        base=base.at[jnp.arange(worlds), author].set(EXCLUDED),
        aim=scalarisation_of(estimand, values.var(axis=1, ddof=1)),
    )


def _broadening(likelihood: AbstractLikelihood, functions) -> Float[Array, " n"]:
    if likelihood.support is not None:
        return jnp.zeros(functions.shape[1])
    return BROADENING * functions.var(axis=0)


def _chances(likelihood: Any, functions) -> Float[Array, "classes draws arms"] | None:
    if likelihood.support is None:
        return None
    return jnp.moveaxis(likelihood.chances(functions)[..., 1:], -1, 0)


def _arms(key, pool: Pool, worlds: int) -> Int[Array, "worlds pool"]:
    rows = jnp.arange(pool.size)[None, :]
    if pool.assignment is None:
        return jnp.broadcast_to(rows, (worlds, pool.size))
    treated = jax.random.uniform(key, (worlds, pool.size)) < pool.assignment.chance[None, :]
    return rows + pool.size * treated


def _imagine(key, likelihood, functions, broadening):
    if likelihood.support is not None:
        return likelihood.sample(key, functions)
    spread = jnp.sqrt(likelihood.variance(functions) + broadening[None, :])
    return functions + spread * jax.random.normal(key, functions.shape)


def _log_prob(likelihood: Any, y, f, broadening):
    if likelihood.support is not None:
        return likelihood.log_prob(y, f)
    variance = likelihood.variance(f) + broadening
    return -0.5 * (y - f) ** 2 / jnp.maximum(variance, 1e-300)


def _weighted_variance(values, weights):
    """Of each part, under weights that sum to one over draws; unbiased for equal weights."""
    mean = jnp.tensordot(values, weights, axes=1)
    square = jnp.tensordot(values**2, weights, axes=1)
    spare = jnp.maximum(1.0 - jnp.sum(weights**2, axis=0), 1e-12)
    lost = spare if mean.ndim == 1 else spare[None, :]
    return jnp.maximum(square - mean**2, 0.0) / lost
