"""A problem with known labels, on which a policy can be tried."""

import equinox as eqx
from jaxtyping import Array, Float, Scalar

from labelwise.beliefs.base import AbstractGaussianBelief
from labelwise.estimands.base import AbstractEstimand
from labelwise.inputs import as_matrix, as_scalar, as_vector, check_same_features
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

    def __check_init__(self):
        size, dim = self.pool.x.shape
        as_matrix("problem x", self.x)
        as_vector("problem y", self.y, self.x.shape[0], "problem x")
        as_vector("problem labels", self.labels, size, "pool x")
        as_scalar("problem truth", self.truth)
        check_same_features("problem x", self.x, "pool x", dim)
        check_same_features("target x", self.estimand.x, "pool x", dim)

    @property
    def belief(self) -> AbstractGaussianBelief:
        """The belief given the initial labels: where planning starts."""
        return self.prior.condition(self.x, self.y)
