"""Rows that were labelled, for beliefs that learn from all of them anew."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from labelwise.inputs import as_fractions, as_matrix, as_vector, check_same_features
from labelwise.likelihoods import AbstractLikelihood


class Labelled(eqx.Module):
    """Rows labelled so far, and how much each counts."""

    x: Float[Array, "labelled dim"]
    y: Float[Array, " labelled"]
    weight: Float[Array, " labelled"]

    @staticmethod
    def of(x: Any, y: Any, weight: Any, likelihood: AbstractLikelihood) -> "Labelled":
        """As arrays, checked; without weights all count fully."""
        x = as_matrix("x", x)
        y = as_vector("y", y, x.shape[0], "x")
        weight = jnp.ones(x.shape[0]) if weight is None else weight
        weight = as_fractions("weight", weight, x.shape[0], "x")
        likelihood.check("y", y)
        return Labelled(x, y, weight)

    def after(self, old: "Labelled | None") -> "Labelled":
        """These rows, after those labelled before."""
        if old is None:
            return self
        check_same_features("x", self.x, "the belief's labelled set", old.x.shape[1])
        return jax.tree.map(lambda old, new: jnp.concatenate([old, new]), old, self)
