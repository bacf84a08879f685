"""A network as a model of labels: what its outputs say, and how wrong they are.

The function is the prior mean plus the network's output in units of the labels' spread: the
network learns what the mean leaves over, on a scale near 1. Two classes have two outputs, whose
difference is the function; more classes have a function for each.
"""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, Scalar

from labelwise.beliefs.means import AbstractMean, as_mean
from labelwise.beliefs.neural.base import AbstractNetwork, Weights
from labelwise.errors import InvalidInput
from labelwise.inputs import as_scalar
from labelwise.likelihoods import (
    AbstractLikelihood,
    BernoulliLikelihood,
    CategoricalLikelihood,
    GaussianLikelihood,
)


class Model(eqx.Module):
    """A network, the law of labels, and the scale between them."""

    network: AbstractNetwork
    likelihood: AbstractLikelihood
    prior_mean: AbstractMean
    spread: Scalar

    def __init__(
        self,
        network: AbstractNetwork,
        likelihood: AbstractLikelihood,
        mean: AbstractMean | None = None,
        spread: Any = 1.0,
    ):
        self.network, self.likelihood = network, likelihood
        self.prior_mean = as_mean(mean)
        self.spread = as_scalar("spread", spread, low=0.0, strict=True)
        needed = count_outputs(likelihood)
        if network.outputs != needed:
            raise InvalidInput(
                f"Such labels need a network with {needed} outputs",
                f"it has {network.outputs}",
                where="network",
            )

    @eqx.filter_jit
    def functions(
        self, weights: Weights, x: Float[Array, "n features"], indices: Any = None
    ) -> Float[Array, "indices n ..."]:
        """The functions of some indices at the rows; without `indices`, all there are."""
        precision = jax.tree.leaves(weights)[0].dtype
        cast = lambda leaf: leaf.astype(precision) if eqx.is_inexact_array(leaf) else leaf
        x_cast, indices = jax.tree.map(cast, (x, indices))
        outputs = self.network.each(weights, x_cast, indices).astype(float)
        if isinstance(self.likelihood, CategoricalLikelihood):
            return outputs
        if isinstance(self.likelihood, BernoulliLikelihood):
            return self.prior_mean(x)[None, :] + outputs[..., 1] - outputs[..., 0]
        return self.prior_mean(x)[None, :] + self.spread * outputs[..., 0]

    def losses(
        self, functions: Float[Array, "indices n ..."], y: Float[Array, "indices n"]
    ) -> Float[Array, "indices n"]:
        """The squared error in units of the spread, or minus the log-likelihood."""
        if isinstance(self.likelihood, GaussianLikelihood):
            return ((functions - y) / self.spread) ** 2
        return -self.likelihood.log_prob(y, functions)


def count_outputs(likelihood: AbstractLikelihood) -> int:
    """How many outputs a network has for labels of this law."""
    if isinstance(likelihood, CategoricalLikelihood):
        return likelihood.classes
    return 1 if isinstance(likelihood, GaussianLikelihood) else 2
