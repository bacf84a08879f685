"""A problem with known labels, on which a policy can be tried."""

import equinox as eqx
from jaxtyping import Array, Float, Scalar

from labelwise.beliefs.base import AbstractGaussianBelief
from labelwise.estimands.base import AbstractEstimand
from labelwise.types import Pool


class Problem(eqx.Module):
    """Initial labels, a pool whose labels are known but hidden, and what is to be known."""

    prior: AbstractGaussianBelief  # before any label
    x: Float[Array, "labelled dim"]  # the rows labelled at the start ...
    y: Float[Array, " labelled"]  # ... and their labels
    pool: Pool
    labels: Float[Array, " pool"]  # revealed row by row as they are bought
    estimand: AbstractEstimand
    truth: Scalar  # the value of the estimand that estimates are held to
    name: str = eqx.field(static=True)
    truth_is: str = eqx.field(static=True)  # which quantity `truth` is, in words

    @property
    def belief(self) -> AbstractGaussianBelief:
        """The belief given the initial labels: where planning starts."""
        return self.prior.condition(self.x, self.y)
