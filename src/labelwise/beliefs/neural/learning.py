"""Learning from weighted labels by gradient steps: one loop for every network.

A step draws indices (for an ensemble, all of its members) and rows (all of them, unless there
are more than `batch`) and moves the weights down the slope of

    Σ_i w_i ℓ_i / Σ_i w_i + decay · ‖weights‖².

With the sum of the weights below it, a row of weight 0 is as if it were absent, and one of
weight 2 as if it stood there twice. All draws come from one key: the outcome is a function of
the rows, their labels and their weights alone.

Adam divides by the root of a mean square, whose slope is infinite at 0: where a gradient is
exactly zero (a unit that never fires) derivatives of the outcome would be NaN. `EPS_ROOT` under
the root mends it, and is too small to be seen otherwise.

[1] Osband, Wen, Asghari, Dwaracherla, Ibrahimi, Lu, Van Roy (2023), Epistemic neural networks,
    algorithm 1.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, Scalar

from labelwise.beliefs.fields import check_known, choice, count, number, scalar
from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.neural.base import Weights, squared_length
from labelwise.beliefs.neural.bootstrap import Bootstrap, Resampling, mark_rows
from labelwise.beliefs.neural.model import Model
from labelwise.errors import InvalidInput

Optimiser = Literal["adam", "sgd", "momentum"]
DecayRule = Literal["network", "fixed"]
Gradient = Literal["auto", "unroll", "truncated", "forward", "implicit"]
Functions = Callable[[Weights], Float[Array, "indices n ..."]]
DataLoss = Callable[[Float[Array, "indices n ..."]], Scalar]
EPS_ROOT = 1e-16
MOMENTUM = 0.9
PARTS = ("descent", "differentiation")  # of learning


class Descent(eqx.Module):
    """How a step follows the slope."""

    learning_rate: Scalar = scalar("learning_rate", 1e-3, strict=True)
    optimiser: Optimiser = choice("optimiser", Optimiser, "adam")
    clip: float | None = number("clip", None, strict=True)  # of the slope's length

    @property
    def optax(self) -> optax.GradientTransformation:
        rate: Any = self.learning_rate
        if self.optimiser == "adam":
            step = optax.adam(rate, eps_root=EPS_ROOT)
        else:
            momentum = MOMENTUM if self.optimiser == "momentum" else None
            step = optax.sgd(rate, momentum=momentum)
        return step if self.clip is None else optax.chain(_clip(self.clip), step)


class Differentiation(eqx.Module):
    """How the outcome of learning is differentiated: see `gradients` beside."""

    gradient: Gradient = choice("gradient", Gradient, "auto")
    last: int = count("last", 10, least=0)  # steps, of truncated gradients
    damping: Scalar = scalar("damping", 1e-3)  # of implicit gradients


class Learning(eqx.Module):
    """How a network learns; the defaults are those of the field's benchmark of such networks.

    `restart` learns from the initial weights at every conditioning, so that labels in turn
    teach the same as labels at once; else learning goes on from the present weights. Options
    of `Descent` and `Differentiation` may stand among the others.
    """

    descent: Descent = eqx.field(default_factory=Descent)
    decay: Scalar = scalar("decay", 1.0)
    differentiation: Differentiation = eqx.field(default_factory=Differentiation)
    steps: int = count("steps", 1000, least=0)
    decay_rule: DecayRule = choice("decay_rule", DecayRule, "network")
    indices: int = count("indices", 1)  # a step
    batch: int | None = count("batch", None)
    bootstrap: Bootstrap = choice("bootstrap", Bootstrap, "none")
    label_noise: float = number("label_noise", 0.0)
    holdout: float = number("holdout", 0.0)
    restart: bool = eqx.field(static=True, default=True)

    def __init__(
        self,
        descent: Descent | None = None,
        differentiation: Differentiation | None = None,
        **options: Any,
    ):
        check_known("Learning", options, Learning.option_names())
        self.descent = _part(descent or Descent(), options)
        self.differentiation = _part(differentiation or Differentiation(), options)
        for field in fields(Learning):
            if field.name not in PARTS:
                setattr(self, field.name, options.pop(field.name, field.default))

    def __check_init__(self):
        if self.holdout >= 1.0:
            raise InvalidInput.must("holdout", "be below 1", f"it is {self.holdout:g}")

    @staticmethod
    def option_names() -> set[str]:
        """All that can be chosen, of the parts as well."""
        every = (*fields(Learning), *fields(Descent), *fields(Differentiation))
        return {field.name for field in every} - {*PARTS}


def _part(part: Any, options: dict[str, Any]) -> Any:
    """A part with its options among these, which are taken out."""
    names = [field.name for field in fields(part) if field.name in options]
    return replace(part, **{name: options.pop(name) for name in names})


def _clip(most: float) -> optax.GradientTransformation:
    """Bound the length of the whole gradient; a length of 0 has a slope here."""

    def update(updates, state, params=None):
        length = jnp.sqrt(squared_length(updates) + 1e-24)
        scale = jnp.minimum(1.0, most / length)
        return jax.tree.map(lambda leaf: leaf * scale.astype(leaf.dtype), updates), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)


class Progress(NamedTuple):
    """Where learning stands."""

    weights: Weights
    state: Any  # of the optimiser
    best: tuple[Scalar, Weights] | None  # least loss on the rows held out, and where


class TrainingProblem(eqx.Module):
    """All that learning needs to know: model, rows, and how to learn from them."""

    model: Model
    learning: Learning
    labelled: Labelled
    resampling: Resampling | None
    key: PRNGKeyArray

    @staticmethod
    def of(
        model: Model, learning: Learning, labelled: Labelled, key: PRNGKeyArray
    ) -> "TrainingProblem":
        row_key, step_key = jax.random.split(key)
        kind, noise = learning.bootstrap, learning.label_noise
        resampling = Resampling.of(row_key, model.network, kind, noise, labelled.x)
        return TrainingProblem(model, learning, labelled, resampling, step_key)

    def begin(self, weights: Weights) -> Progress:
        best = (jnp.asarray(jnp.inf), weights) if self.learning.holdout else None
        return Progress(weights, self.learning.descent.optax.init(weights), best)

    def step(self, progress: Progress, number: Any) -> Progress:
        """One step down the slope."""
        key = jax.random.fold_in(self.key, number)
        slope = self.slope(progress.weights, key, number)
        updates, state = self.learning.descent.optax.update(
            slope, progress.state, progress.weights
        )
        weights = optax.apply_updates(progress.weights, updates)
        return Progress(weights, state, self._best(progress.best, weights))

    def loss(
        self, weights: Weights, key: PRNGKeyArray, number: Any = 0, still: Weights = None
    ) -> Scalar:
        """What is made small, on the rows and indices of one step.

        With `still` weights no slope passes through what the network shields.
        """
        functions, data_loss = self.parts(key, number)
        seen = weights if still is None else self.model.network.shielded(weights, still)
        return data_loss(functions(seen)) + self.penalty(weights)

    def slope(self, weights: Weights, key: PRNGKeyArray, number: Any = 0) -> Weights:
        """Where learning goes, with the sign changed."""
        return jax.grad(self.loss)(weights, key, number, weights)

    def penalty(self, weights: Weights) -> Scalar:
        """The decay of the weights."""
        strength, network = self.learning.decay, self.model.network
        if self.learning.decay_rule == "network":
            strength = network.decay(strength, _total(self._weight))
        return strength * squared_length(weights)

    def parts(self, key: PRNGKeyArray, number: Any = 0) -> tuple[Functions, DataLoss]:
        """From weights to functions at the rows of one step, and from these to a loss."""
        labelled, resampling = self._rows(number)
        return self._parts(key, labelled, resampling)

    def end(self, progress: Progress) -> Weights:
        return progress.weights if progress.best is None else progress.best[1]

    def _parts(self, key, labelled: Labelled, resampling) -> tuple[Functions, DataLoss]:
        network, indices = self.model.network, None
        if network.size is None:
            indices = network.draw(key, self.learning.indices)
        names = jnp.arange(network.size) if network.size is not None else indices
        y, weight = _resampled(labelled, resampling, names)

        def data_loss(functions):
            losses = (self.model.losses(functions, y) * weight).sum(axis=1)
            return network.reduce(losses) / _total(labelled.weight)

        return lambda weights: self.model.functions(weights, labelled.x, indices), data_loss

    @property
    def _weight(self) -> Float[Array, " n"]:
        """Of rows to learn from: those held out are absent."""
        if not self.learning.holdout:
            return self.labelled.weight
        return jnp.where(self._held_out, 0.0, self.labelled.weight)

    @property
    def _held_out(self):
        share = mark_rows(self.labelled.x).astype(float) / 2.0**32
        return share < self.learning.holdout

    def _rows(self, number) -> tuple[Labelled, Resampling | None]:
        learning, x = self.learning, self.labelled.x
        labelled = Labelled(x, self.labelled.y, self._weight)
        if learning.batch is None or learning.batch >= x.shape[0]:
            return labelled, self.resampling
        rows = self._batch(number, labelled.weight)
        some = jax.tree.map(lambda leaf: leaf[rows], labelled)
        return some, None if self.resampling is None else self.resampling.take(rows)

    def _batch(self, number, weight):
        """The next rows of a shuffled table, shuffled anew when it ends; absent rows last."""
        size = self.learning.batch
        assert size is not None
        present = jnp.maximum((weight > 0.0).sum(), 1)
        epoch = jax.random.fold_in(self._aside(0), number * size // present)
        place = jax.random.uniform(epoch, weight.shape)
        order = jnp.argsort(jnp.where(weight > 0.0, place, 2.0))
        return order[(number * size + jnp.arange(size)) % present]

    def _aside(self, number: int) -> PRNGKeyArray:
        """A key that no step has: steps have those of small numbers."""
        return jax.random.fold_in(self.key, 2**32 - 1 - number)

    def _best(self, best, weights):
        if best is None:
            return None
        labelled = Labelled(
            self.labelled.x,
            self.labelled.y,
            jnp.where(self._held_out, self.labelled.weight, 0.0),
        )
        key = self._aside(1)
        functions, data_loss = self._parts(key, labelled, None)
        loss = jax.lax.stop_gradient(data_loss(functions(weights)))
        # With no row held out there is nothing to judge by: the last weights are kept.
        better = (loss < best[0]) | (labelled.weight.sum() == 0.0)
        keep = lambda new, old: jnp.where(better, new, old)
        return jnp.minimum(loss, best[0]), jax.tree.map(keep, weights, best[1])


def _total(weight: Float[Array, " n"]) -> Scalar:
    """At least 1: less than one label tells less than a label."""
    return jnp.maximum(weight.sum(), 1.0)


def _resampled(labelled: Labelled, resampling: Resampling | None, indices):
    """Labels and weights as each index sees them."""
    shape = (indices.shape[0], labelled.y.shape[0])
    y = jnp.broadcast_to(labelled.y, shape)
    weight = jnp.broadcast_to(labelled.weight, shape)
    if resampling is None:
        return y, weight
    factor, shift = resampling.at(indices)
    return y + shift, weight * factor


def learn(problem: TrainingProblem, weights: Weights, steps: int | None = None) -> Weights:
    """All steps, or the first few, in one loop."""
    steps = problem.learning.steps if steps is None else steps
    return problem.end(advance(problem, problem.begin(weights), 0, steps))


def advance(problem: TrainingProblem, progress: Progress, first: Any, steps: int) -> Progress:
    """Some steps, numbered from `first`."""
    step = lambda progress, number: (problem.step(progress, number), None)
    return jax.lax.scan(step, progress, first + jnp.arange(steps))[0]
