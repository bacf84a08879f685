"""Several priors at once, each with the weight that labels give it.

Hyper-parameters fitted to one corner of the population must not be taken as known: elsewhere
the function may vary faster, or more. A mixture keeps some of the values that the labels allow.
Each component learns from labels as it would alone, and is weighed by how well it foresaw them:

    weight_m ∝ prior weight_m · p(labels | component m)

so uncertainty about hyper-parameters, the noise among them, enters every answer, and shrinks
as labels come.

Components are one belief whose arrays have a further axis in front. They are gone through one
after another: together they would take no less time on a CPU, and more memory.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Scalar

from labelwise.beliefs.base import AbstractBelief
from labelwise.beliefs.process import AbstractProcess
from labelwise.errors import InvalidInput, NumericalError
from labelwise.inputs import as_jax, as_vector, check_is, is_traced
from labelwise.likelihoods import AbstractLikelihood


class Mixture(AbstractBelief):
    """A belief that one of its components is right, without knowing which."""

    components: Any  # an `AbstractProcess` with a further axis in front of every array
    log_prior: Float[Array, " components"]  # log-weights before any label, up to a constant

    @staticmethod
    def of(components: list[Any], log_prior: Any = None) -> "Mixture":
        """Mix beliefs of one kind, equally unless log-weights are given."""
        for component in components:
            check_is("component", component, AbstractProcess)
        if not components or any(not _alike(each, components[0]) for each in components):
            raise InvalidInput(
                "A mixture needs one or more beliefs of the same kind, with parameters of "
                "the same shapes, given the same labels",
                "give such ones",
                where="components",
            )
        stacked = jax.tree.map(_stack, *components)
        count = len(components)
        log_prior = np.zeros(count) if log_prior is None else log_prior
        return Mixture(stacked, as_vector("log_prior", log_prior, count, "the list of beliefs"))

    @property
    def size(self) -> int:
        """How many components there are."""
        return self.log_prior.shape[0]

    @property
    def log_weight(self) -> Float[Array, " components"]:
        """Log-weights, given all labels seen."""
        evidence = jax.vmap(lambda component: component.log_evidence)(self.components)
        return jax.nn.log_softmax(self.log_prior + evidence)

    @property
    def weight(self) -> Float[Array, " components"]:
        return jnp.exp(self.log_weight)

    @property
    def likelihood(self) -> AbstractLikelihood:
        """The law of a label, with the noise that it has on average over the components."""
        laws = jax.vmap(lambda component: component.likelihood)(self.components)
        return jax.tree.map(lambda leaf: self.weight @ leaf, laws)

    def component(self, index: Int[Array, ""] | int) -> AbstractProcess:
        """One of the components, alone."""
        return jax.tree.map(lambda leaf: leaf[index], self.components)

    @property
    def heaviest(self) -> AbstractProcess:
        return self.component(jnp.argmax(self.log_weight))

    @property
    def latent(self):
        """One component: thousands of steps through all would take long."""
        return self.heaviest

    @property
    def planned(self):
        return self

    @property
    def is_gaussian(self):
        return self.components.is_gaussian

    @property
    def has_number_labels(self):
        return self.components.has_number_labels

    def few(self, count):
        if count >= self.size:
            return self
        rows = jax.lax.top_k(self.log_weight, count)[1]
        some = jax.tree.map(lambda leaf: leaf[rows], self.components)
        return Mixture(some, self.log_prior[rows])

    def each(self, function):
        return jax.lax.map(function, self.components)

    def average(self, function):
        return jnp.tensordot(self.weight, self.each(function), axes=1)

    def total_moments(self, function):
        mean, variance = self.each(function)
        total = total_variance(self.weight, mean, variance)
        return jnp.tensordot(self.weight, mean, axes=1), total

    def condition(self, x: Any, y: Any, weight: Any = None) -> "Mixture":
        # Checked here: what a loop over components takes in is traced, and passes unchecked.
        new = self.component(0).as_labelled(x, y, weight)
        learn = lambda component: component.condition(new.x, new.y, new.weight)
        after = Mixture(self.each(learn), self.log_prior)
        if not is_traced(after) and not bool(jnp.isfinite(after.log_weight).all()):
            raise NumericalError(
                "The mixture broke down: a component finds the labels impossible to rounding",
                "bring features and labels to ordinary scales, or raise the noise",
                where="y",
            )
        return after

    def sample(self, key, x, draws):
        return self.draw(key, draws, lambda component, key, n: component.sample(key, x, n))

    def sample_labels(self, key, x, draws):
        return self.draw(
            key, draws, lambda component, key, n: component.sample_labels(key, x, n)
        )

    def draw(self, key, draws, function):
        """Draws, as many from each component as its weight says, in random order.

        `function` makes some draws, the same number at every call, from one component and a
        key. A component is called as often as it needs: twice as often as there are
        components is enough for all of them, whatever they weigh, and calls that none needs
        are left out.
        """
        pick_key, order_key, draw_key = jax.random.split(key, 3)
        chosen = pick(self.weight, draws, jax.random.uniform(pick_key))
        each, calls = -(-draws // self.size), min(draws, 2 * self.size)
        count = jnp.bincount(chosen, length=self.size)
        needed = -(-count // each)
        whose = jnp.repeat(jnp.arange(self.size), needed, total_repeat_length=calls)
        keys = jax.random.split(draw_key, calls)
        made = _map_some(
            lambda at: function(self.component(at[0]), at[1], each), (whose, keys), needed.sum()
        )
        # The draws of a component follow one another from its first call on.
        nth = jnp.arange(draws) - (jnp.cumsum(count) - count)[chosen]
        places = each * (jnp.cumsum(needed) - needed)[chosen] + nth
        flat = made.reshape(calls * each, *made.shape[2:])
        return flat[jax.random.permutation(order_key, places)]

    def mean(self, x: Any) -> Float[Array, " n"]:
        """Mean of the function at the rows of `x`."""
        return self.average(lambda component: component.mean(x))

    def variance(self, x: Any) -> Float[Array, " n"]:
        """Variance of the function, that between components included."""
        of = lambda component: (component.mean(x), component.variance(x))
        return self.total_moments(of)[1]

    def covariance(self, x: Any, other: Any = None) -> Float[Array, "n m"]:
        """Covariance of the function, that between components included."""

        def of(component):
            rows = component.embed(x)
            others = rows if other is None else component.embed(other)
            within = component.covariance_at(rows, others)
            return component.mean_at(rows), component.mean_at(others), within

        here, there, within = self.each(of)
        here = here - (self.weight @ here)[None, :]
        there = there - (self.weight @ there)[None, :]
        between = jnp.einsum("c,cn,cm->nm", self.weight, here, there)
        return jnp.einsum("c,cnm->nm", self.weight, within) + between

    def outcome(self, x: Any) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """Mean and variance of the expected label at the rows of `x`."""
        return self.total_moments(lambda component: component.outcome(x))


def _map_some(function, over, count: Scalar):
    """What a function makes of the first `count` of its arguments, and nothing of the rest."""
    function = jax.jit(function)  # traced once, for its shape and its value
    first = jax.tree.map(lambda leaf: leaf[0], over)
    empty = lambda _: jnp.zeros_like(jax.eval_shape(function, first))
    places = jnp.arange(jax.tree.leaves(over)[0].shape[0])
    of = lambda at: jax.lax.cond(at[0] < count, function, empty, at[1])
    return jax.lax.map(of, (places, over))


def _stack(*leaves: Any) -> Array:
    return jnp.stack(leaves) if is_traced(leaves) else as_jax(np.stack(leaves))


def _alike(belief: Any, other: Any) -> bool:
    """Whether two beliefs differ in their numbers only."""
    shapes = lambda belief: [jnp.shape(leaf) for leaf in jax.tree.leaves(belief)]
    return jax.tree.structure(belief) == jax.tree.structure(other) and shapes(belief) == shapes(
        other
    )


def total_variance(
    weight: Float[Array, " components"],
    mean: Float[Array, "components ..."],
    variance: Float[Array, "components ..."],
) -> Float[Array, "..."]:
    """The mean of variances and the variance of means."""
    centre = jnp.tensordot(weight[None, :], mean, axes=1)
    return jnp.tensordot(weight, variance + (mean - centre) ** 2, axes=1)


def pick(weight: Float[Array, " n"], count: int, start: Scalar) -> Int[Array, " {count}"]:
    """Places in proportion to weights that sum to one, by steps of one size."""
    steps = (jnp.arange(count) + start) / count
    places = jnp.searchsorted(jnp.cumsum(weight), steps, side="right")
    return jnp.minimum(places, weight.shape[0] - 1)
