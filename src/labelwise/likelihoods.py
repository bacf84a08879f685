"""What a label is, given the function: the law p(y | f) that beliefs and estimands share.

A belief is about the function f; what is observed, and what an estimand is about, are labels.
Continuous labels are the function plus Gaussian noise; 0/1 labels are 1 with a chance that
rises with the function.
"""

import abc
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, Scalar

from labelwise.errors import InvalidInput
from labelwise.inputs import as_count, is_traced
from labelwise.numerics import safe_root
from labelwise.tables.text import name_rows

Link = Literal["logit", "probit"]

NODES = 64  # of Gauss-Hermite quadrature: right to 1e-5 up to a standard deviation of 4


class AbstractLikelihood(eqx.Module):
    """Labels that are independent given the function. All methods work elementwise."""

    @property
    @abc.abstractmethod
    def support(self) -> tuple[float, ...] | None:
        """The values of a label, if few."""

    def check(self, name: str, y: Float[Array, " n"]) -> None:
        """Refuse labels that this law cannot give."""
        if self.support is None or is_traced(y):
            return
        other = np.flatnonzero(~np.isin(np.asarray(y), self.support))
        if other.size:
            *most, last = (f"{value:g}" for value in self.support)
            raise InvalidInput.must(
                name,
                f"hold {', '.join(most)} or {last}",
                f"{name_rows(other)} {'holds' if other.size == 1 else 'hold'} "
                f"{float(y[other[0]]):g}",
            )

    @abc.abstractmethod
    def mean(self, f: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """The expected label: the outcome, or the chance of a 1."""

    @abc.abstractmethod
    def variance(self, f: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """The variance of a label."""

    @abc.abstractmethod
    def log_prob(self, y: Float[Array, "*n"], f: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """log p(y | f)."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, f: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """A label for each function value."""

    @abc.abstractmethod
    def absolute_error(
        self, f: Float[Array, "*n"], prediction: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The expected distance of a label from a prediction."""

    @abc.abstractmethod
    def outcome_moments(
        self, mean: Float[Array, "*n"], variance: Float[Array, "*n"]
    ) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
        """Mean and variance of the expected label if f ~ N(mean, variance)."""

    @abc.abstractmethod
    def reading_noise(
        self, mean: Float[Array, "*n"], variance: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """Variance of a Gaussian reading of f that is expected to tell as much as a label.

        One over the mean Fisher information of a label about f, if f ~ N(mean, variance).
        """


class GaussianLikelihood(AbstractLikelihood):
    """y = f + N(0, noise)."""

    noise: Scalar

    @property
    def support(self):
        return None

    def mean(self, f):
        return f

    def variance(self, f):
        return jnp.full_like(f, self.noise)

    def log_prob(self, y, f):
        return jax.scipy.stats.norm.logpdf(y, f, jnp.sqrt(self.noise))

    def sample(self, key, f):
        return f + jnp.sqrt(self.noise) * jax.random.normal(key, f.shape)

    def absolute_error(self, f, prediction):
        """The mean of a folded normal."""
        distance, spread = f - prediction, jnp.sqrt(self.noise)
        ratio = distance / jnp.maximum(spread, 1e-150)
        inside = 2.0 * jax.scipy.stats.norm.cdf(ratio) - 1.0
        return distance * inside + 2.0 * spread * jax.scipy.stats.norm.pdf(ratio)

    def outcome_moments(self, mean, variance):
        return mean, variance

    def reading_noise(self, mean, variance):
        return jnp.full_like(mean, self.noise)


class BernoulliLikelihood(AbstractLikelihood):
    """y is 1 with chance link⁻¹(f), else 0."""

    link: Link = eqx.field(default="logit", static=True)

    @property
    def support(self):
        return (0.0, 1.0)

    def __check_init__(self):
        if self.link not in ("logit", "probit"):
            raise InvalidInput.must("link", "be 'logit' or 'probit'", f"it is {self.link!r}")

    def mean(self, f):
        return jax.nn.sigmoid(f) if self.link == "logit" else jax.scipy.stats.norm.cdf(f)

    def variance(self, f):
        chance = self.mean(f)
        return chance * (1.0 - chance)

    def log_prob(self, y, f):
        """y may lie between 0 and 1: it then stands for labels that are 1 in that share."""
        log = jax.nn.log_sigmoid if self.link == "logit" else jax.scipy.stats.norm.logcdf
        return y * log(f) + (1.0 - y) * log(-f)

    def sample(self, key, f):
        return jax.random.bernoulli(key, self.mean(f)).astype(f.dtype)

    def absolute_error(self, f, prediction):
        chance = self.mean(f)
        return chance * jnp.abs(1.0 - prediction) + (1.0 - chance) * jnp.abs(prediction)

    def outcome_moments(self, mean, variance):
        functions, weights = _at_nodes(mean, variance)
        chances = self.mean(functions)
        first = chances @ weights
        return first, (chances - first[..., None]) ** 2 @ weights

    def reading_noise(self, mean, variance):
        functions, weights = _at_nodes(mean, variance)
        return 1.0 / jnp.maximum(self.information(functions) @ weights, 1e-12)

    def chances(self, f: Float[Array, "*n"]) -> Float[Array, "*n 2"]:
        """Of a 0 and of a 1."""
        return jnp.stack([self.mean(-f), self.mean(f)], axis=-1)

    def inverse(self, chance: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """The function value that has this chance of a 1."""
        inside = jnp.clip(chance, 1e-12, 1.0 - 1e-12)
        if self.link == "logit":
            return jnp.log(inside) - jnp.log1p(-inside)
        return jax.scipy.stats.norm.ppf(inside)

    def information(self, f: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """The Fisher information of a label about f."""
        chance = self.mean(f)
        if self.link == "logit":
            return chance * (1.0 - chance)
        log_density = jax.scipy.stats.norm.logpdf(f)
        log_both = jax.scipy.stats.norm.logcdf(f) + jax.scipy.stats.norm.logcdf(-f)
        return jnp.exp(2.0 * log_density - log_both)


class CategoricalLikelihood(AbstractLikelihood):
    """y is one of `classes` numbers from 0, with chances softmax(f): f has one a class.

    A class is a name, not a number: it has no mean, and metrics that need one are refused.
    """

    classes: int = eqx.field(static=True)

    def __check_init__(self):
        if as_count("classes", self.classes) < 3:
            raise InvalidInput(
                f"Labels of {self.classes} classes are 0 and 1",
                "use labels='binary'",
                where="classes",
            )

    @property
    def support(self) -> tuple[float, ...]:
        return tuple(float(number) for number in range(self.classes))

    def chances(self, f: Float[Array, "*n classes"]) -> Float[Array, "*n classes"]:
        return jax.nn.softmax(f)

    def log_prob(self, y: Any, f: Any) -> Any:
        """log p(y | f); both may be broadcast."""
        return jnp.sum(
            jax.nn.one_hot(y.astype(int), self.classes) * jax.nn.log_softmax(f), axis=-1
        )

    def sample(self, key: Any, f: Any) -> Any:
        return jax.random.categorical(key, f).astype(f.dtype)

    def _no_mean(self, *_: Any, **__: Any) -> Any:
        raise InvalidInput(
            "Labels of several classes have no mean",
            "use MulticlassAccuracy or another metric of classes",
            where="labels",
        )

    mean = variance = absolute_error = outcome_moments = reading_noise = _no_mean


def _at_nodes(mean, variance):
    """Values of f at the nodes of a quadrature over N(mean, variance), and its weights."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    nodes = jnp.asarray(nodes).reshape(*(1 for _ in mean.shape), NODES)
    spread = safe_root(variance)[..., None]
    return mean[..., None] + spread * nodes, jnp.asarray(weights / weights.sum())
