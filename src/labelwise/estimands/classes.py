"""Metrics of labels that are one of several classes, from the chances of the classes.

A class is a number from 0; with two classes it is a 0/1 label.
"""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from labelwise.errors import InvalidInput
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.catalogue import LEAST_CHANCE
from labelwise.estimands.forms import TermsEstimand, chances_of
from labelwise.estimands.metrics import Metric
from labelwise.estimands.target import as_target
from labelwise.inputs import as_array, as_count, as_vector, is_traced


def _worth_of_class(y, worth, _):
    """Of each label the worth of its class, from one number a row and class."""
    xp = y.__array_namespace__()
    classes = y.astype(int)
    if y.ndim == 2:  # each row with labels that it may have
        return (xp.take_along_axis(worth, classes, axis=1),)
    return (xp.take_along_axis(worth, classes[:, None], axis=1)[:, 0],)


_SAME = Metric("accuracy", "accuracy", terms=lambda y, p, _: (y == p,))
_WORTH = Metric("worth", "mean worth", terms=_worth_of_class)


def of_classes(
    metric: Metric, classes: int, x: Any, prediction: Any, mass: Any = None, where: Any = None
) -> TermsEstimand:
    """The estimand of a metric of classes; `prediction` has an entry or a line a row."""
    return TermsEstimand(
        *as_target(x, mass, where), prediction, None, replace(metric, labels=classes)
    )


def ClassEstimand(x: Any, worth: Any, mass: Any = None, where: Any = None) -> TermsEstimand:
    """The mean worth of a row's class; `worth` has one number a row and class."""
    worth = _as_table("worth", worth, x)
    return of_classes(_WORTH, worth.shape[1], x, worth, mass, where)


def MulticlassAccuracy(
    x: Any, predicted: Any, classes: int, mass: Any = None, where: Any = None
) -> TermsEstimand:
    """The chance that the class predicted for a row is its class."""
    classes = as_count("classes", classes, least=2)
    predicted = as_vector("predicted", predicted, np.shape(x)[0], "the target")
    if not is_traced(predicted):
        known = np.isin(np.asarray(predicted), np.arange(classes))
        if not known.all():
            first = float(predicted[int(np.argmin(known))])
            raise InvalidInput.must(
                "predicted", f"hold classes from 0 to {classes - 1}", f"some hold {first:g}"
            )
    return of_classes(_SAME, classes, x, predicted, mass, where)


def MulticlassLogLoss(
    x: Any, chances: Any, mass: Any = None, where: Any = None
) -> TermsEstimand:
    """Minus the log of the chance that the predictor gave to a row's class.

    `chances` has one number a row and class, as the predictor gives them.
    """
    chances = _as_table("chances", chances, x)
    if not is_traced(chances):
        numbers = np.asarray(chances)
        if (numbers < 0.0).any() or np.abs(numbers.sum(axis=1) - 1.0).max(initial=0.0) > 1e-6:
            raise InvalidInput(
                "chances must not be negative, and sum to 1 in each row",
                "scale each row",
                where="chances",
            )
    return ClassEstimand(x, -jnp.log(jnp.clip(chances, LEAST_CHANCE, 1.0)), mass, where)


def ClassShare(
    x: Any, of: int, classes: int, mass: Any = None, where: Any = None
) -> TermsEstimand:
    """The share of one class in the population."""
    classes = as_count("classes", classes, least=2)
    if of not in range(classes):
        raise InvalidInput.must("of", f"be a class from 0 to {classes - 1}", f"it is {of}")
    return MulticlassAccuracy(x, np.full(np.shape(x)[0], float(of)), classes, mass, where)


def _as_table(name: str, table: Any, x: Any) -> Float[Array, "target classes"]:
    table, rows = as_array(name, table, 2), np.shape(x)[0]
    if table.shape[0] != rows:
        raise InvalidInput(
            f"{name} has {table.shape[0]} rows but the target has {rows}",
            "give one a row",
            where=name,
        )
    return table


class EveryChance(AbstractEstimand):
    """All chances of all rows, each times the root of its row's mass: a long vector.

    The sum of its variances is the mean variance of the chances over the target.
    """

    x: Float[Array, "target dim"]
    mass: Float[Array, " target"]

    def value(self, f, likelihood):
        return (jnp.sqrt(self.mass)[:, None] * chances_of(likelihood, f)).ravel()
