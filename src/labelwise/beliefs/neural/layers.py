"""Plain fully connected layers, and the laws that their first values are drawn from.

[1] Glorot, Bengio (2010), Understanding the difficulty of training deep feedforward networks.
"""

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from labelwise.beliefs.fields import check_choice
from labelwise.errors import InvalidInput
from labelwise.inputs import as_count

Activation = Literal["relu", "tanh", "gelu"]
ACTIVATIONS = {"relu": jax.nn.relu, "tanh": jnp.tanh, "gelu": jax.nn.gelu}

# "truncated": normal of width 1/√inputs cut at two widths, biases 0.
# "uniform": weights and biases within ±1/√inputs.
# "xavier": uniform weights of variance 2/(inputs + outputs), biases 0. [1]
Law = Literal["truncated", "uniform", "xavier"]


class Layers(eqx.Module):
    """Weights and biases, first layer first."""

    weights: tuple[Float[Array, "..."], ...]
    biases: tuple[Float[Array, "..."], ...]


@eqx.filter_jit  # one program, however many layers
def draw_layers(
    key: PRNGKeyArray,
    units: Sequence[int],
    *,
    law: Law = "truncated",
    first_bias: bool = False,
) -> Layers:
    """First values; with `first_bias` those of the first layer are drawn as weights are.

    Biases that differ put the kinks of the functions at different places: with all at zero,
    every function of one input bends at the origin.
    """
    check_choice("law", law, Law)
    pairs = list(itertools.pairwise(units))
    weights, biases = [], []
    for number, (inputs, outputs) in enumerate(pairs):
        weight_key, bias_key = jax.random.split(jax.random.fold_in(key, number))
        weights.append(_draw(weight_key, law, (inputs, outputs), inputs, outputs))
        drawn = law == "uniform" or (first_bias and number == 0)
        own = (bias_key, law, (outputs,), inputs, outputs)
        biases.append(_draw(*own) if drawn else jnp.zeros(outputs))
    return Layers(tuple(weights), tuple(biases))


def _draw(key, law: Law, shape, inputs: int, outputs: int):
    if law == "truncated":
        return jax.random.truncated_normal(key, -2.0, 2.0, shape, float) / jnp.sqrt(inputs)
    reach = (6.0 / (inputs + outputs)) ** 0.5 if law == "xavier" else inputs**-0.5
    return jax.random.uniform(key, shape, float, -reach, reach)


def apply_layers(
    layers: Layers,
    x: Float[Array, "n inputs"],
    activation: Activation = "relu",
    masks: Sequence[Any] | None = None,
) -> Float[Array, "n outputs"]:
    """The network's output; `masks`, one for each hidden layer, multiply its units."""
    return last_hidden_and_output(layers, x, activation, masks)[1]


def last_hidden_and_output(
    layers: Layers, x: Any, activation: Activation = "relu", masks: Sequence[Any] | None = None
) -> tuple[Float[Array, "n units"], Float[Array, "n outputs"]]:
    """The last hidden layer, and the output."""
    hidden, last = x, len(layers.weights) - 1
    for number in range(last):
        inner = hidden @ layers.weights[number] + layers.biases[number][None, :]
        if masks is not None:
            inner = inner * masks[number][None, :]
        hidden = ACTIVATIONS[activation](inner)
    return hidden, hidden @ layers.weights[last] + layers.biases[last][None, :]


def check_sizes(name: str, units: Any) -> tuple[int, ...]:
    """Units of each hidden layer."""
    if not isinstance(units, Sequence) or isinstance(units, str):
        raise InvalidInput.must(name, "be a list, one number a layer", f"it is {units!r}")
    return tuple(as_count(name, number) for number in units)


def sizes(name: str, default: Sequence[int]) -> Any:
    """A field that holds the units of each hidden layer."""
    check = lambda units: check_sizes(name, units)
    return eqx.field(static=True, default=default, converter=check)
