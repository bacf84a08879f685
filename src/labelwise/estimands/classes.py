"""Metrics of labels that are one of several classes, all linear in the chances of the classes.

Under 0/1 labels they are what they would be with two classes.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from labelwise.errors import InvalidInput
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.classification import LEAST_CHANCE
from labelwise.estimands.target import as_target
from labelwise.inputs import as_array, as_count, as_vector, is_traced


class ClassEstimand(AbstractEstimand):
    """g = Σ_i Σ_c table_ic · chance that row i is of class c."""

    x: Float[Array, "target dim"]
    mass: Float[Array, " target"]
    table: Float[Array, "target classes"]

    def __init__(self, x: Any, worth: Any, mass: Any = None, where: Any = None):
        """`worth` of each class at each row: rows × classes."""
        self.x, self.mass = as_target(x, mass, where)
        worth = _as_table("worth", worth, x)
        self.table = self.mass[:, None] * worth

    def value(self, f, likelihood):
        chances = chances_of(likelihood, f)
        if chances.shape[-1] != self.table.shape[1]:
            raise InvalidInput(
                f"The belief is about {chances.shape[-1]} classes but the estimand about "
                f"{self.table.shape[1]}",
                "give both the same",
                where="estimand",
            )
        return jnp.sum(self.table * chances)


class MulticlassAccuracy(ClassEstimand):
    """The chance that the class predicted for a row is its class."""

    def __init__(
        self, x: Any, predicted: Any, classes: int, mass: Any = None, where: Any = None
    ):
        super().__init__(x, _one_hot(x, predicted, classes), mass, where)


class MulticlassLogLoss(ClassEstimand):
    """Minus the log of the chance that the predictor gave to a row's class."""

    def __init__(self, x: Any, chances: Any, mass: Any = None, where: Any = None):
        """`chances`: rows × classes, as the predictor gives them."""
        given = _as_table("chances", chances, x)
        if not is_traced(given):
            _check_chances(np.asarray(given))
        worth = -jnp.log(jnp.clip(given, LEAST_CHANCE, 1.0))
        super().__init__(x, worth, mass, where)


class ClassShare(ClassEstimand):
    """The share of one class in the population."""

    def __init__(self, x: Any, of: int, classes: int, mass: Any = None, where: Any = None):
        classes = as_count("classes", classes, least=2)
        if of not in range(classes):
            raise InvalidInput.must("of", f"be a class from 0 to {classes - 1}", f"it is {of}")
        everywhere = np.full(np.shape(x)[0], float(of))
        super().__init__(x, _one_hot(x, everywhere, classes), mass, where)


def chances_of(
    likelihood: Any, f: Float[Array, "target ..."]
) -> Float[Array, "target classes"]:
    """The chance of each class at each row."""
    if likelihood.support is None:
        raise InvalidInput(
            "Metrics of classes need a belief about classes",
            "give it labels='binary', or how many classes there are",
            where="belief",
        )
    return likelihood.chances(f)


def _as_table(name: str, table: Any, x: Any) -> Float[Array, "target classes"]:
    table, rows = as_array(name, table, 2), np.shape(x)[0]
    if table.shape[0] != rows:
        raise InvalidInput(
            f"{name} has {table.shape[0]} rows but the target has {rows}",
            "give one a row",
            where=name,
        )
    return table


def _one_hot(x: Any, predicted: Any, classes: int) -> Float[Array, "target classes"]:
    classes = as_count("classes", classes, least=2)
    predicted = as_vector("predicted", predicted, np.shape(x)[0], "the target")
    if not is_traced(predicted):
        known = np.isin(np.asarray(predicted), np.arange(classes))
        if not known.all():
            first = float(predicted[int(np.argmin(known))])
            raise InvalidInput.must(
                "predicted", f"hold classes from 0 to {classes - 1}", f"some hold {first:g}"
            )
    return jax.nn.one_hot(predicted.astype(int), classes)


def _check_chances(chances: np.ndarray) -> None:
    wrong = (chances < 0.0).any() or np.abs(chances.sum(axis=1) - 1.0).max(initial=0.0) > 1e-6
    if wrong:
        raise InvalidInput(
            "chances must not be negative, and sum to 1 in each row",
            "scale each row",
            where="chances",
        )


class EveryChance(AbstractEstimand):
    """All chances of all rows, each times the root of its row's mass: a long vector.

    The sum of its variances is the mean variance of the chances over the target.
    """

    x: Float[Array, "target dim"]
    mass: Float[Array, " target"]

    def value(self, f, likelihood):
        return (jnp.sqrt(self.mass)[:, None] * chances_of(likelihood, f)).ravel()
