"""A problem with known labels, on which a policy can be tried."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Scalar

from labelwise.beliefs.base import AbstractBelief
from labelwise.errors import InvalidInput
from labelwise.estimands.base import AbstractEstimand
from labelwise.inputs import as_jax, as_matrix, as_scalar, as_vector, check_same_features
from labelwise.types import Batch, Pool


class Problem(eqx.Module):
    """Initial labels, a pool whose labels are known but hidden, and what is to be known."""

    prior: AbstractBelief  # before any label
    x: Float[Array, "labelled dim"]  # the rows labelled at the start ...
    y: Float[Array, " labelled"]  # ... and their labels
    pool: Pool
    # Revealed row by row as they are bought; where chance decides on treatments and both
    # outcomes are known, each row untreated and treated.
    labels: Float[Array, "*arms pool"]
    estimand: AbstractEstimand
    truth: Scalar  # the value of the estimand that estimates are held to
    name: str = eqx.field(static=True)
    truth_is: str = eqx.field(static=True)  # which quantity `truth` is, in words
    # How each pool row was treated, where chance has decided but is revealed with the label.
    treatment: Float[Array, " pool"] | None = None

    def __check_init__(self):
        size, dim = self.pool.x.shape
        as_matrix("problem x", self.x)
        as_vector("problem y", self.y, self.x.shape[0], "problem x")
        self._check_labels(size)
        as_scalar("problem truth", self.truth)
        check_same_features("problem x", self.x, "pool x", dim)
        check_same_features("target x", self.estimand.x, "pool x", dim)

    def _check_labels(self, size):
        if self.pool.assignment is None or self.treatment is not None:
            as_vector("problem labels", self.labels, size, "pool x")
            return
        if self.labels.shape != (2, size):
            raise InvalidInput(
                "Where chance decides on treatments, problem labels must hold each pool "
                f"row's label untreated and treated, 2 by {size}",
                f"their shape is {self.labels.shape}",
                where="problem labels",
            )

    @property
    def belief(self) -> AbstractBelief:
        """The belief given the initial labels: where planning starts."""
        return self.prior.condition(self.x, self.y)

    def reveal(self, batch: Batch) -> tuple[Float[Array, "k dim"], Float[Array, " k"]]:
        """The rows of a batch as they came to be treated, and their labels."""
        rows, assignment = np.asarray(batch.indices), self.pool.assignment
        x, labels = np.asarray(self.pool.x)[rows], np.asarray(self.labels)
        if assignment is None:
            return as_jax(x), as_jax(labels[rows])
        if self.treatment is not None:
            x[:, assignment.column] = np.asarray(self.treatment)[rows]
            return as_jax(x), as_jax(labels[rows])
        treated = np.asarray(batch.treatment)
        x[:, assignment.column] = treated
        return as_jax(x), as_jax(labels[treated.astype(int), rows])
