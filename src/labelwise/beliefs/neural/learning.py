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
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, Scalar

from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.neural.base import Weights, squared_length
from labelwise.beliefs.neural.bootstrap import Bootstrap, Resampling, mark_rows
from labelwise.beliefs.neural.model import Model
from labelwise.errors import InvalidInput
from labelwise.inputs import as_count, as_scalar

Optimiser = Literal["adam", "sgd", "momentum"]
Gradient = Literal["auto", "unroll", "truncated", "forward", "implicit"]
Functions = Callable[[Weights], Float[Array, "indices n ..."]]
DataLoss = Callable[[Float[Array, "indices n ..."]], Scalar]
EPS_ROOT = 1e-16
MOMENTUM = 0.9


class Learning(eqx.Module):
    """How a network learns; the defaults are those of the field's benchmark of such networks.

    `restart` learns from the initial weights at every conditioning, so that labels in turn
    teach the same as labels at once; else learning goes on from the present weights.
    `gradient` says how the outcome is differentiated: see `labelwise.beliefs.neural.gradients`.
    """

    learning_rate: Scalar
    decay: Scalar
    damping: Scalar  # of implicit gradients
    steps: int = eqx.field(static=True)
    optimiser: Optimiser = eqx.field(static=True)
    decay_rule: Literal["network", "fixed"] = eqx.field(static=True)
    indices: int = eqx.field(static=True)  # a step
    batch: int | None = eqx.field(static=True)
    bootstrap: Bootstrap = eqx.field(static=True)
    label_noise: float = eqx.field(static=True)
    holdout: float = eqx.field(static=True)
    clip: float | None = eqx.field(static=True)
    restart: bool = eqx.field(static=True)
    gradient: Gradient = eqx.field(static=True)
    last: int = eqx.field(static=True)

    def __init__(
        self,
        *,
        steps: int = 1000,
        learning_rate: Any = 1e-3,
        optimiser: Optimiser = "adam",
        decay: Any = 1.0,
        decay_rule: Literal["network", "fixed"] = "network",
        indices: int = 1,
        batch: int | None = None,
        bootstrap: Bootstrap = "none",
        label_noise: float = 0.0,
        holdout: float = 0.0,
        clip: float | None = None,
        restart: bool = True,
        gradient: Gradient = "auto",
        last: int = 10,
        damping: Any = 1e-3,
    ):
        self.steps = as_count("steps", steps, least=0)
        self.learning_rate = as_scalar("learning_rate", learning_rate, low=0.0, strict=True)
        self.optimiser = _one_of("optimiser", optimiser, Optimiser)
        self.decay = as_scalar("decay", decay, low=0.0)
        self.decay_rule = _one_of("decay_rule", decay_rule, Literal["network", "fixed"])
        self.indices = as_count("indices", indices)
        self.batch = None if batch is None else as_count("batch", batch)
        self.bootstrap = _one_of("bootstrap", bootstrap, Bootstrap)
        self.label_noise = _number("label_noise", label_noise)
        self.holdout = _number("holdout", holdout)
        self.clip = None if clip is None else _number("clip", clip, strict=True)
        self.restart = restart
        self.gradient = _one_of("gradient", gradient, Gradient)
        self.last = as_count("last", last, least=0)
        self.damping = as_scalar("damping", damping, low=0.0)
        if self.holdout >= 1.0:
            raise InvalidInput.must("holdout", "be below 1", f"it is {self.holdout:g}")

    @property
    def optax(self) -> optax.GradientTransformation:
        rate: Any = self.learning_rate
        if self.optimiser == "adam":
            step = optax.adam(rate, eps_root=EPS_ROOT)
        else:
            momentum = MOMENTUM if self.optimiser == "momentum" else None
            step = optax.sgd(rate, momentum=momentum)
        return step if self.clip is None else optax.chain(_clip(self.clip), step)


def _one_of(name: str, value: Any, options: Any) -> Any:
    if value not in get_args(options):
        raise InvalidInput.must(
            name, f"be one of {', '.join(get_args(options))}", f"it is {value!r}"
        )
    return value


def _number(name: str, value: Any, strict: bool = False) -> float:
    """A plain number at or (`strict`) above 0: no array, which may be traced."""
    number = float(value)
    if number > 0.0 or (number == 0.0 and not strict):
        return number
    raise InvalidInput.must(
        name, f"be {'greater than' if strict else 'at least'} 0", f"it is {number:g}"
    )


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
        return Progress(weights, self.learning.optax.init(weights), best)

    def step(self, progress: Progress, number: Any) -> Progress:
        """One step down the slope."""
        key = jax.random.fold_in(self.key, number)
        slope = self.slope(progress.weights, key, number)
        updates, state = self.learning.optax.update(slope, progress.state, progress.weights)
        weights = optax.apply_updates(progress.weights, updates)
        return Progress(weights, state, self._best(progress.best, weights))

    def loss(self, weights: Weights, key: PRNGKeyArray, number: Any = 0) -> Scalar:
        """What is made small, on the rows and indices of one step."""
        functions, data_loss = self.parts(key, number)
        return data_loss(functions(weights)) + self.penalty(weights)

    def slope(self, weights: Weights, key: PRNGKeyArray, number: Any = 0) -> Weights:
        """Where learning goes, with the sign changed."""
        functions, data_loss = self.parts(key, number)

        def loss(own):
            shielded = self.model.network.shielded(own, weights)
            return data_loss(functions(shielded)) + self.penalty(own)

        return jax.grad(loss)(weights)

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
        chance = jax.random.uniform(epoch, weight.shape)
        order = jnp.argsort(jnp.where(weight > 0.0, chance, 2.0))
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


def learn(lesson: TrainingProblem, weights: Weights, steps: int | None = None) -> Weights:
    """All steps, or the first few, in one loop."""
    return lesson.end(advance(lesson, lesson.begin(weights), 0, _count(lesson, steps)))


def _count(lesson: TrainingProblem, steps: int | None) -> int:
    return lesson.learning.steps if steps is None else steps


def advance(lesson: TrainingProblem, progress: Progress, first: Any, count: int) -> Progress:
    """Some steps, numbered from `first`."""
    one = lambda progress, number: (lesson.step(progress, number), None)
    return jax.lax.scan(one, progress, first + jnp.arange(count))[0]
