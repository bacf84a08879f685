"""The paper's smoothed recall g_τ(f; R), for comparison with the exact expectation. [1]

Each label is replaced by a softened draw, Y^τ = sigmoid((logit p + R¹ - R²) / τ), with Gumbel
noises R that are kept; recall is then a smooth function of the chances. As τ → 0 the labels
become Bernoulli(p). At τ > 0, E[Y^τ] is not p: it is drawn towards one half, the more so the
larger τ is, so that recall among rare ones is biased. `Recall` has neither noise nor bias.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, appendix A.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Scalar

from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.target import as_prediction, as_target
from labelwise.inputs import as_count, as_key, as_scalar

LEAST = 1e-12  # chances are kept this far from 0 and 1, so that their logit is finite


class SmoothedRecall(AbstractEstimand):
    """g_τ(f; R), averaged over some replicates of the noise R."""

    x: Float[Array, "target dim"]
    mass: Float[Array, " target"]
    positive: Float[Array, " target"]
    noise: Float[Array, "replicates target"]  # R¹ - R², logistic
    temperature: Scalar

    def __init__(
        self,
        x: Any,
        predictor: Any,
        threshold: Any = 0.5,
        *,
        temperature: Any = 0.1,
        key: Any = 0,
        replicates: Any = 1,
        mass: Any = None,
        where: Any = None,
    ):
        self.x, self.mass = as_target(x, mass, where)
        reached = as_prediction(predictor, x) >= as_scalar("threshold", threshold)
        self.positive = reached.astype(float)
        self.temperature = as_scalar("temperature", temperature, low=0.0, strict=True)
        shape = (2, as_count("replicates", replicates), self.x.shape[0])
        gumbel = jax.random.gumbel(as_key(key), shape, float)
        self.noise = gumbel[0] - gumbel[1]

    def value(self, f, likelihood):
        soft = self.soft_labels(f, likelihood)
        ones = soft @ self.mass
        none = ones < LEAST  # nobody to take a share of
        share = (soft * self.positive[None, :]) @ self.mass / jnp.where(none, 1.0, ones)
        return jnp.mean(jnp.where(none, 0.0, share))

    def soft_labels(self, f, likelihood) -> Float[Array, "replicates target"]:
        """Y^τ, one row a replicate."""
        chance = jnp.clip(likelihood.mean(f), LEAST, 1.0 - LEAST)
        logit = jnp.log(chance) - jnp.log1p(-chance)
        return jax.nn.sigmoid((logit[None, :] + self.noise) / self.temperature)
