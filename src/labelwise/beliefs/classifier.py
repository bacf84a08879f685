"""The Gaussian-process classifier: a belief about the chance that a label is 1.

The function is Gaussian before any label; 0/1 labels make it something else, which Laplace's
approximation takes for Gaussian again. A weight multiplies a label's log-likelihood: 0 absent,
1 seen, in between a part of a label.

The approximation is made anew from all labels at each conditioning, so that labels that come
in turn teach the same as labels that come at once.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Scalar

from labelwise.beliefs import laplace
from labelwise.beliefs.kernels import AbstractKernel
from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.means import AbstractMean, as_mean
from labelwise.beliefs.process import AbstractProcess, Seen
from labelwise.errors import NumericalError
from labelwise.inputs import check_is, is_traced
from labelwise.likelihoods import BernoulliLikelihood, Link


class GaussianProcessClassifier(AbstractProcess):
    """f ~ GP(mean, kernel), a label y is 1 with chance link⁻¹(f(x)), else 0."""

    kernel: AbstractKernel
    prior_mean: AbstractMean
    link: Link = eqx.field(static=True)
    labelled: Labelled | None
    seen: Seen | None  # the labels as readings, by Laplace's approximation
    log_evidence: Scalar

    def __init__(
        self, kernel: AbstractKernel, mean: AbstractMean | None = None, link: Link = "logit"
    ):
        check_is("kernel", kernel, AbstractKernel)
        self.kernel = kernel
        self.prior_mean = as_mean(mean)
        self.link = BernoulliLikelihood(link).link  # refuses an unknown one
        self.labelled = None
        self.seen = None
        self.log_evidence = jnp.zeros(())

    @property
    def likelihood(self) -> BernoulliLikelihood:
        return BernoulliLikelihood(self.link)

    def condition(self, x: Any, y: Any, weight: Any = None) -> "GaussianProcessClassifier":
        labelled = self.as_labelled(x, y, weight).after(self.labelled)
        seen, evidence = _approximate(self.kernel, self.prior_mean, self.likelihood, labelled)
        if not is_traced(seen) and not bool(jnp.isfinite(seen.residual).all()):
            raise NumericalError(
                "The posterior is not finite: the kernel's variance or the mean is too large",
                "bring them to the scale of log-odds, where 10 is next to certain",
                where="kernel",
            )
        return eqx.tree_at(
            lambda belief: (belief.labelled, belief.seen, belief.log_evidence),
            self,
            (labelled, seen, evidence),
            is_leaf=lambda leaf: leaf is None,
        )


def log_evidence(
    belief: GaussianProcessClassifier,
    x: Float[Array, "n dim"],
    y: Float[Array, " n"],
    mask: Bool[Array, " n"] | None = None,
) -> Scalar:
    """Laplace's log p(y | x) under a prior, rows with a False mask left out."""
    weight = jnp.ones(x.shape[0]) if mask is None else mask.astype(float)
    labelled = Labelled(x, y, weight)
    return _approximate(belief.kernel, belief.prior_mean, belief.likelihood, labelled)[1]


@jax.jit  # called eagerly, the search for the mode would be compiled anew at every call
def _approximate(kernel, mean, likelihood, labelled) -> tuple[Seen, Scalar]:
    features = kernel.features(labelled.x)
    posterior = laplace.Approximation(
        likelihood,
        kernel(features, features),
        mean(labelled.x),
        labelled.y,
        labelled.weight,
    )
    mode = posterior.find_mode()
    readings = posterior.read(mode)
    seen = Seen(features, readings.gain, readings.factor, readings.residual)
    return seen, laplace.log_evidence(posterior, mode, readings)
