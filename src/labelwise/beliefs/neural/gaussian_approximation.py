"""A neural belief as plans see it: a Gaussian process with its mean and covariance.

The functions of a network at some rows have a mean and a covariance; the Gaussian belief that
has the same is open to exact lookahead. Conditioning it on labels weighs the functions that are
there, which learning anew would replace by others: a plan made on it is as good as the network
is in agreement with itself.

[1] Evensen (2003), The ensemble Kalman filter.
"""

from typing import Any

import jax.numpy as jnp

from labelwise.beliefs.base import AbstractLatentBelief
from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import AbstractKernel
from labelwise.beliefs.means import AbstractMean
from labelwise.likelihoods import BernoulliLikelihood, GaussianLikelihood


class PanelKernel(AbstractKernel):
    """The covariance of the functions of a panel; features are how far each lies off."""

    belief: Any  # a `NeuralBelief`

    def __call__(self, x, other):
        return x @ other.T

    def diagonal(self, x):
        return jnp.sum(x**2, axis=1)

    def features(self, x):
        functions = self.belief.panel(x)
        away = functions - functions.mean(axis=0)[None, :]
        return away.T / jnp.sqrt(functions.shape[0])


class PanelMean(AbstractMean):
    """The mean of the functions of a panel."""

    belief: Any

    def __call__(self, x):
        return self.belief.mean(x)


def as_gaussian(belief: Any) -> AbstractLatentBelief | None:
    """The Gaussian belief with the same moments; None where functions are not numbers."""
    kernel, mean = PanelKernel(belief), PanelMean(belief)
    if isinstance(belief.likelihood, GaussianLikelihood):
        return GaussianProcess(kernel, belief.likelihood.noise, mean)
    if isinstance(belief.likelihood, BernoulliLikelihood):
        return GaussianProcessClassifier(kernel, mean, belief.likelihood.link)
    return None
