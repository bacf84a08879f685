"""Functions that see the same labels differently: random weights of rows, or random shifts.

Weights have mean 1. They are drawn from the row's own features and the index, so they stay the
same while learning, in whatever order rows come, and for labels that are only imagined.

[1] Osband, Wen, Asghari, Dwaracherla, Ibrahimi, Lu, Van Roy (2023), Epistemic neural networks.
"""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from labelwise.beliefs.neural.base import AbstractNetwork
from labelwise.errors import InvalidInput

# "bernoulli": 0 or 2; "exponential": Exp(1); "poisson": Poisson(1); "uniform": U(0, 2).
Bootstrap = Literal["none", "bernoulli", "exponential", "poisson", "uniform"]
GAUSSIAN = ("none", "bernoulli", "exponential")  # those that a Gaussian index can make


class Resampling(eqx.Module):
    """What makes rows count differently by index."""

    kind: Bootstrap = eqx.field(static=True)
    noise: float = eqx.field(static=True)  # standard deviation of shifts of labels
    scale: float | None = eqx.field(static=True)  # of a Gaussian index; None for others
    rows: Any  # one a row: a key, or two directions of a Gaussian index
    table: Any  # of a finite number of indices, weights and shifts of all, made once

    @staticmethod
    def of(
        key: PRNGKeyArray,
        network: AbstractNetwork,
        kind: Bootstrap,
        noise: float,
        x: Float[Array, "n features"],
    ) -> "Resampling | None":
        """None where all indices see rows alike."""
        if kind == "none" and noise == 0.0:
            return None
        keys = jax.vmap(lambda mark: jax.random.fold_in(key, mark))(mark_rows(x))
        gaussian = network.gaussian_index
        if gaussian is not None:
            dimensions, scale = gaussian
            directions = jax.vmap(lambda key: jax.random.normal(key, (2, dimensions)))(keys)
            return Resampling(kind, noise, scale, directions, None)
        by_row = Resampling(kind, noise, None, jax.random.key_data(keys), None)
        if network.size is None:
            return by_row
        table = by_row.at(jnp.arange(network.size))
        return Resampling(kind, noise, None, None, tuple(part.T for part in table))

    def take(self, rows: Any) -> "Resampling":
        """That of some of the rows."""
        return jax.tree.map(lambda leaf: leaf[rows], self)

    def at(self, indices: Any) -> tuple[Float[Array, "indices n"], Float[Array, "indices n"]]:
        """How much each row counts for each index, and what is added to its label."""
        if self.table is not None:
            return self.table[0].T, self.table[1].T
        of = self._of_name if self.scale is None else self._of_gaussian
        return jax.vmap(of)(indices)

    def _of_name(self, index):
        """For an index that is the number of a member, or the words of a mask's key."""

        def of_row(key):
            key = jax.random.wrap_key_data(key)
            for word in jnp.atleast_1d(index):
                key = jax.random.fold_in(key, word)
            shift = self.noise * jax.random.normal(jax.random.fold_in(key, 1))
            return _draw(self.kind, key), shift

        return jax.vmap(of_row)(self.rows)

    def _of_gaussian(self, index):
        """The index sees each row along directions of the row's own."""
        assert self.scale is not None
        along = self.rows @ index / self.scale  # N(0, D) or so, twice a row
        unit = self.rows[:, 0] / jnp.linalg.norm(self.rows[:, 0], axis=1, keepdims=True)
        shift = self.noise * unit @ index / self.scale
        if self.kind == "none":
            return jnp.ones(along.shape[0]), shift
        if self.kind == "bernoulli":
            return 1.0 + jnp.sign(along[:, 0]), shift
        # Half the sum of two squared standard normals is Exp(1).
        return 0.5 * jnp.sum(along**2, axis=1) / self.rows.shape[2], shift


def check_bootstrap(kind: Bootstrap, network: AbstractNetwork) -> None:
    """Refuse a kind that the network's index cannot make."""
    if network.gaussian_index is not None and kind not in GAUSSIAN:
        raise InvalidInput(
            f"A network with a Gaussian index has no {kind!r} bootstrap",
            f"use one of {', '.join(GAUSSIAN)}",
            where="bootstrap",
        )


def mark_rows(x: Float[Array, "n features"]) -> Array:
    """A 32-bit mark of each row's features: equal rows have equal marks."""
    # -0 and 0 are the same; adding 0 would make them so, but compilers leave that sum out.
    plain = jnp.where(x == 0.0, 0.0, jax.lax.stop_gradient(x))
    words = jax.lax.bitcast_convert_type(plain, jnp.uint32)
    words = words.reshape(x.shape[0], -1)
    mark = jnp.full(x.shape[0], words.shape[1], jnp.uint32)
    return jax.lax.scan(lambda mark, word: (_mix(mark ^ word), None), mark, words.T)[0]


def _mix(word: Array) -> Array:
    """Every bit depends on every other: those of round numbers differ in their first alone."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        word = (word ^ (word >> shift)) * jnp.uint32(factor)
    return word ^ (word >> 16)


def _draw(kind: Bootstrap, key):
    if kind == "none":
        return jnp.ones(())
    if kind == "bernoulli":
        return 2.0 * jax.random.bernoulli(key)
    if kind == "exponential":
        return jax.random.exponential(key)
    if kind == "poisson":
        return jax.random.poisson(key, 1.0).astype(float)
    return jax.random.uniform(key, maxval=2.0)
