"""Several things to know at once: metrics, groups, models, planned for together.

Each part's variance is divided by what it is at present, so that parts in different units
can be added, or the worst of them looked at.
"""

from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from labelwise.errors import InvalidInput
from labelwise.estimands.base import AbstractEstimand, same_rows
from labelwise.inputs import as_jax, as_vector, check_is, is_traced

Combine = Literal["sum", "worst"]

# A little of the mean keeps rows apart that leave the worst part as it is.
TIE_BREAK = 0.01


class Several(AbstractEstimand):
    """Estimands on one target, to be planned for jointly. Its value is a vector."""

    x: Float[Array, "target dim"]
    mass: Float[Array, " target"]
    parts: tuple[AbstractEstimand, ...]
    weights: Float[Array, " parts"]
    combine: Combine = eqx.field(static=True)

    def __init__(self, parts: Sequence[Any], weights: Any = None, combine: Combine = "sum"):
        if not parts:
            raise InvalidInput(
                "Several estimands need at least one part", "give a list of them", where="parts"
            )
        for part in parts:
            check_is("part", part, AbstractEstimand)
            if isinstance(part, Several):
                raise InvalidInput(
                    "A part is itself several estimands", "list them one by one", where="part"
                )
            if not same_rows(part, parts[0]):
                raise InvalidInput(
                    "Estimands that are planned jointly must be on the same target rows",
                    "build them from one x, and restrict groups by where",
                    where="part",
                )
        if combine not in ("sum", "worst"):
            raise InvalidInput.must("combine", "be 'sum' or 'worst'", f"it is {combine!r}")
        self.parts = tuple(parts)
        self.x = parts[0].x
        self.mass = _mean([part.mass for part in parts])
        weights = np.ones(len(parts)) if weights is None else weights
        self.weights = as_vector("weights", weights, len(parts), "the list of estimands")
        self.combine = combine
        _check_weights(self.weights)

    def value(self, f, likelihood):
        return jnp.stack([part.value(f, likelihood) for part in self.parts])


def _check_weights(weights: Any) -> None:
    if is_traced(weights):
        return
    numbers = np.asarray(weights)
    if (numbers < 0).any() or not (numbers > 0).any():
        raise InvalidInput(
            "weights must not be negative, and some must be positive",
            "give each part its share",
            where="weights",
        )


def _mean(masses: Sequence[Any]) -> Any:
    if is_traced(*masses):
        return jnp.stack(masses).mean(axis=0)
    return as_jax(np.mean([np.asarray(mass) for mass in masses], axis=0))


class Scalarisation(eqx.Module):
    """From the variances of the parts to the one number that a plan makes small."""

    weights: Float[Array, " parts"]  # one over the present variance, times the user's weight
    worst: bool = eqx.field(static=True)

    def total(self, variances: Float[Array, "parts ..."]) -> Float[Array, "..."]:
        """What is left to be reduced."""
        shape = (-1, *(1 for _ in variances.shape[1:]))
        scaled = self.weights.reshape(shape) * variances
        if not self.worst:
            return scaled.sum(axis=0)
        return scaled.max(axis=0) + TIE_BREAK * scaled.mean(axis=0)


def parts_of(estimand: AbstractEstimand) -> tuple[AbstractEstimand, ...]:
    """The estimands that a plan is for."""
    return estimand.parts if isinstance(estimand, Several) else (estimand,)


def scalarisation_of(
    estimand: AbstractEstimand, variances: Float[Array, " parts"]
) -> Scalarisation:
    """The aim, given the parts' present variances; of one estimand, its variance itself."""
    if not isinstance(estimand, Several):
        return Scalarisation(jnp.ones(1), worst=False)
    certain = variances <= 0.0  # nothing left to reduce: it must not decide
    scale = jnp.where(certain, 0.0, 1.0 / jnp.where(certain, 1.0, variances))
    return Scalarisation(estimand.weights * scale, worst=estimand.combine == "worst")
