"""What a network is to a belief: functions f(x, z), one for each value of an index z.

A function is drawn by drawing its index; held fixed over all rows, it makes draws joint. The
weights that learn are kept apart from the network: a network is its shape, and what it holds
that never learns (prior functions).

[1] Osband, Wen, Asghari, Dwaracherla, Ibrahimi, Lu, Van Roy (2023), Epistemic neural networks.
"""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Scalar

Weights = Any  # a tree of arrays
Index = Any  # one array, or for several indices one with a further axis in front


class AbstractNetwork(eqx.Module):
    """Functions of a row, indexed by z; `outputs` numbers each."""

    features: eqx.AbstractVar[int]
    outputs: eqx.AbstractVar[int]

    @property
    def size(self) -> int | None:
        """How many functions there are; None if there is one for each of a continuum."""
        return None

    @abc.abstractmethod
    def start(self, key: PRNGKeyArray) -> Weights:
        """Weights before any learning."""

    @abc.abstractmethod
    def draw(self, key: PRNGKeyArray, count: int) -> Index:
        """Some indices."""

    @abc.abstractmethod
    def evaluate(
        self, weights: Weights, x: Float[Array, "n features"], index: Index
    ) -> Float[Array, "n outputs"]:
        """The function of one index."""

    @abc.abstractmethod
    def decay(self, strength: Scalar, rows: Scalar) -> Scalar:
        """What the squared length of the weights is multiplied with, beside a mean loss."""

    def each(
        self, weights: Weights, x: Float[Array, "n features"], indices: Index = None
    ) -> Float[Array, "indices n outputs"]:
        """The functions of several indices; without them all, where there are few."""
        return jax.vmap(lambda index: self.evaluate(weights, x, index))(indices)

    def shielded(self, weights: Weights, still: Weights) -> Weights:
        """The weights, with what no slope of learning passes through taken from `still`.

        `still` has the same values. Stopping the slope itself would hide from what is
        differentiated through learning that those values depend on earlier steps.
        """
        return weights

    def reduce(self, losses: Float[Array, " indices"]) -> Scalar:
        """One loss from those of several indices."""
        return losses.mean()

    @property
    def gaussian_index(self) -> tuple[int, float] | None:
        """Dimensions of an index z ~ N(0, scale² I), and its scale; None for other laws."""
        return None


def squared_length(weights: Weights) -> Scalar:
    """Σ of all squares."""
    return sum((jnp.sum(leaf**2) for leaf in jax.tree.leaves(weights)), start=jnp.zeros(()))
