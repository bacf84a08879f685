"""What a belief is: a distribution over the labelling function that labels sharpen.

A belief is frozen; `condition` returns another one. One draw is one function, evaluated
wherever it is asked for, so that draws at many rows are joint.
"""

import abc
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Scalar

from labelwise.likelihoods import AbstractLikelihood, GaussianLikelihood

Belief = TypeVar("Belief", bound="AbstractBelief")


class AbstractBelief(eqx.Module):
    """Every belief conditions on weighted labels and draws functions."""

    @property
    @abc.abstractmethod
    def likelihood(self) -> AbstractLikelihood:
        """What a label is, given the function."""

    @abc.abstractmethod
    def condition(
        self: Belief,
        x: Float[Array, "n dim"],
        y: Float[Array, " n"],
        weight: Float[Array, " n"] | None = None,
    ) -> Belief:
        """The belief after seeing these labels, differentiable in `weight`.

        Weight 1 means seen, 0 absent; between, the row counts in part.
        """

    @abc.abstractmethod
    def sample(
        self, key: PRNGKeyArray, x: Float[Array, "n dim"], draws: int
    ) -> Float[Array, "{draws} n ..."]:
        """Joint draws of the function at the rows of `x`; it may have a number a class."""

    @property
    def latent(self) -> "AbstractLatentBelief | None":
        """The Gaussian belief that stands for this one in plans, if there is one."""
        return None

    @property
    def planned(self) -> Any:
        """What lookahead plans with: all components, or the Gaussian belief of a network."""
        return self.latent

    @property
    def heaviest(self) -> "AbstractBelief":
        """The component that labels speak for most; a single belief itself."""
        return self

    @property
    def is_gaussian(self) -> bool:
        """Whether functions and labels are jointly Gaussian, in each component."""
        return False

    @property
    def has_number_labels(self) -> bool:
        """Whether labels are numbers, with Gaussian noise."""
        return isinstance(self.likelihood, GaussianLikelihood)

    @property
    def is_trained(self) -> bool:
        """Whether it learns from labels by gradient steps."""
        return False

    @property
    def certain(self) -> bool:
        """Whether it is sure of everything, so that no label could teach it how sure to be."""
        return False

    @property
    def weight(self) -> Float[Array, " components"]:
        """How much each component counts: a single belief wholly."""
        return jnp.ones(1)

    def few(self: Belief, count: int) -> Belief:
        """The heaviest components alone."""
        return self

    def each(self, function: Callable[[Any], Any]) -> Any:
        """A function of every component, results stacked."""
        return jax.tree.map(lambda leaf: leaf[None], function(self))

    def average(self, function: Callable[[Any], Array]) -> Array:
        """The mean over components of a function of each."""
        return function(self)

    def total_moments(self, function: Callable[[Any], tuple[Array, Array]]) -> Any:
        """Mean and variance of what has a mean and a variance in each component."""
        return function(self)

    def draw(
        self, key: PRNGKeyArray, draws: int, function: Callable[[Any, Any, int], Any]
    ) -> Float[Array, "some ..."]:
        """Draws that `function` makes of a component with a key, by the components' weights."""
        return function(self, key, draws)

    def representatives(
        self, key: PRNGKeyArray, x: Float[Array, "n dim"], draws: int
    ) -> Float[Array, "some n ..."]:
        """Functions that stand for the belief, all alike: draws, or all there are."""
        return self.sample(key, x, draws)

    def sample_labels(
        self, key: PRNGKeyArray, x: Float[Array, "n dim"], draws: int
    ) -> Float[Array, "{draws} n"]:
        """Joint draws of labels at the rows of `x`: labels of draws of the function."""
        function_key, label_key = jax.random.split(key)
        return self.likelihood.sample(label_key, self.sample(function_key, x, draws))


class AbstractEmbedding(eqx.Module):
    """Rows in the form in which a Gaussian belief computes their covariances cheaply."""

    @abc.abstractmethod
    def take(self, indices: Array) -> "AbstractEmbedding":
        """Some of the rows."""


Rows = TypeVar("Rows", bound=AbstractEmbedding)


class Reading(eqx.Module):
    """A softly weighted label, seen as a plain noisy reading of the function.

    Row i reads gain_i · (f_i - m_i) + N(0, noise_i), and a label y_i gives the reading
    label_scale_i · (y_i - m_i), with m the prior mean.
    """

    gain: Float[Array, " n"]
    noise: Float[Array, " n"]
    label_scale: Float[Array, " n"]


class AbstractLatentBelief(AbstractBelief, Generic[Rows]):
    """A belief whose function values are jointly Gaussian, whatever its labels are.

    `embed` does the work that depends on the labels seen, once for each table of rows;
    means and covariances then cost one product.
    """

    @property
    def latent(self):
        return self

    @abc.abstractmethod
    def embed(self, x: Float[Array, "n dim"]) -> Rows:
        """Prepare rows for `mean_at`, `variance_at` and `covariance_at`."""

    @abc.abstractmethod
    def mean_at(self, rows: Rows) -> Float[Array, " n"]:
        """Posterior mean of the function."""

    @abc.abstractmethod
    def variance_at(self, rows: Rows) -> Float[Array, " n"]:
        """Posterior variance of the function, label noise not included."""

    @abc.abstractmethod
    def covariance_at(self, rows: Rows, other: Rows) -> Float[Array, "n m"]:
        """Posterior covariance of the function between two tables of rows."""

    @abc.abstractmethod
    def prior_variance_at(self, rows: Rows) -> Float[Array, " n"]:
        """Variance of the function before any label: the scale that rounding is held to."""

    def mean(self, x: Any) -> Float[Array, " n"]:
        """Posterior mean of the function at the rows of `x`."""
        return self.mean_at(self.embed(x))

    def variance(self, x: Any) -> Float[Array, " n"]:
        """Posterior variance of the function at the rows of `x`, label noise not included."""
        return self.variance_at(self.embed(x))

    def covariance(self, x: Any, other: Any = None) -> Float[Array, "n m"]:
        """Posterior covariance of the function between rows of `x` and of `other` (or `x`)."""
        rows = self.embed(x)
        return self.covariance_at(rows, rows if other is None else self.embed(other))

    def outcome(self, x: Any) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """Mean and variance of the expected label at the rows of `x`."""
        rows = self.embed(x)
        return self.likelihood.outcome_moments(self.mean_at(rows), self.variance_at(rows))


class AbstractGaussianBelief(AbstractLatentBelief[Rows]):
    """A latent belief whose labels are Gaussian too: it opens exact lookahead."""

    noise: eqx.AbstractVar[Scalar]  # variance of a label given the function

    @property
    def is_gaussian(self):
        return True

    @property
    def has_number_labels(self):
        return True

    @property
    def likelihood(self) -> AbstractLikelihood:
        return GaussianLikelihood(self.noise)

    @abc.abstractmethod
    def shift_at(self, rows: Rows) -> Float[Array, " n"]:
        """How far labels have moved the mean: posterior minus prior mean."""

    @abc.abstractmethod
    def read(self, rows: Rows, weight: Float[Array, " n"]) -> Reading:
        """What a label of this weight at these rows amounts to."""
