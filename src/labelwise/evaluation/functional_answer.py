"""Numbers of all rows' labels together, such as AUC: by drawn rows, and in imagined pools."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from labelwise.estimands.functional import AbstractFunctional, AbstractInfluence
from labelwise.estimands.metrics import Metric
from labelwise.evaluation.question import Quantity
from labelwise.survey.draws import DrawRecord
from labelwise.survey.rows import linear_record, row_shares

AT_ONCE = 200  # draws whose labels are put together at a time


def functional_of(question: Quantity) -> AbstractFunctional | None:
    """None where the number is a function of a few means."""
    return question.averaged.functional


def linearise(
    functional: AbstractFunctional, record: DrawRecord, labels: np.ndarray, prediction: Any
) -> DrawRecord | None:
    """A record with one term, whose estimates have the functional's estimate as their mean.

    None where what is known so far has no such number, as labels that are all alike.
    """
    share, shares = record.labellable_mass / record.labellable_mass.sum(), row_shares(record)
    predicted = [round_.predictions for round_ in record.rounds]
    means = lambda of_labels, of_terms: shares.mix(
        of_labels(np.nan_to_num(labels)), [of_terms(terms) for terms in predicted]
    )
    found = functional.influence(means, share, prediction)
    offset = found.value - share @ means(found.of_labels, found.of_terms)
    if not np.isfinite(offset):
        return None
    moved = lambda of: lambda given: offset + of(given)
    return linear_record(record, labels, moved(found.of_labels), moved(found.of_terms))


def foresee_functional(
    functional: AbstractFunctional, terms: np.ndarray, covariance: Any, mass: np.ndarray, given
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The terms, how far a row's influence may be off, and the influence."""
    found = influence_of(functional, terms, mass, given)
    finite = lambda values: np.nan_to_num(values, posinf=0.0, neginf=0.0)
    spread = found.spread(terms, np.asarray(covariance))
    return terms, finite(spread), finite(found.of_terms(terms))


def influence_of(
    functional: AbstractFunctional, terms: np.ndarray, mass: np.ndarray, given: Any
) -> AbstractInfluence:
    """At what is predicted of rows."""
    return functional.influence(lambda _, of_terms: of_terms(terms), mass / mass.sum(), given)


def influence_of_known(
    functional: AbstractFunctional, labels: np.ndarray, mass: np.ndarray, given: Any
) -> AbstractInfluence:
    """At the labels that are known, NaN where they are not."""
    known = np.where(np.isnan(labels), 0.0, mass)
    y = np.nan_to_num(labels)
    return functional.influence(lambda of_labels, _: of_labels(y), known / known.sum(), given)


def functional_in_pool(
    metric: Metric,
    imagined: Any,
    labels: np.ndarray,
    mass: np.ndarray,
    prediction: Any,
    predicted: np.ndarray | None,
) -> np.ndarray:
    """The number in every imagined pool; `labels` are NaN where they are imagined.

    Where few rows stand for all, `predicted` are the terms of all pool rows.
    """
    functional, rows, known = metric.functional, imagined.rows, ~np.isnan(labels)
    assert functional is not None
    at = lambda rows: jax.tree.map(lambda column: column[rows], prediction)
    weight = mass[rows] * (mass[~known].sum() / max(float(mass[rows].sum()), 1e-300))
    seen = labels[known], mass[known], at(known)
    values = functional_values(functional, [(imagined.labels, weight, at(rows)), seen])
    if predicted is None or metric.labels != "binary" or not len(rows):
        return values
    chances = np.where(known, labels, predicted[0])
    few = functional_values(functional, [(chances[rows][None, None], weight, at(rows)), seen])
    return values + functional.value(chances, mass / mass.sum(), prediction) - few


def functional_values(
    functional: AbstractFunctional, parts: Sequence[tuple[Any, Any, Any]]
) -> np.ndarray:
    """The number in each draw, from parts of the rows: labels, weights and predictions.

    Labels are times × draws × rows, each time with a part of the weight; or rows, in all draws.
    """
    draws = max(np.shape(y)[1] for y, *_ in parts if np.ndim(y) == 3)
    weight = np.concatenate([np.tile(w, _times(y)) / _times(y) for y, w, _ in parts])
    prediction = jax.tree.map(
        lambda *each: np.concatenate(
            [np.tile(one, _times(y)) for one, (y, *_) in zip(each, parts, strict=True)]
        ),
        *(given for *_, given in parts),
    )
    found = []
    for start in range(0, draws, AT_ONCE):
        some = slice(start, min(start + AT_ONCE, draws))
        labels = np.concatenate([_flat(y, some) for y, *_ in parts], axis=1)
        found.append(functional.value(labels, weight / weight.sum(), prediction))
    return np.concatenate(found)


def _times(y: Any) -> int:
    return np.shape(y)[0] if np.ndim(y) == 3 else 1


def _flat(y: Any, some: slice) -> np.ndarray:
    """Labels of some draws, draws × (times · rows)."""
    if np.ndim(y) == 1:
        return np.broadcast_to(y, (some.stop - some.start, len(y)))
    return np.swapaxes(y[:, some], 0, 1).reshape(some.stop - some.start, -1)
