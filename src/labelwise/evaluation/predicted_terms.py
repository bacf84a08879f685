"""What labels of pool rows would say of each question, row by row, as the belief foresees it.

Recorded with every batch before its labels are known, these predictions are what later turns
drawn labels into an answer that does not rest on the belief.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from labelwise.estimands.own import check_finite
from labelwise.estimands.predictive import Asked, predict_moments, spread_along
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.functional_answer import foresee_functional, functional_of
from labelwise.evaluation.posterior import Posterior
from labelwise.evaluation.question import Quantity
from labelwise.inputs import as_jax


class Foreseen(NamedTuple):
    """Of every pool row: the terms of all questions, and how far off they may be together."""

    terms: np.ndarray  # terms × pool
    spread: np.ndarray  # pool
    each: tuple[np.ndarray, ...]  # of each question, how far off its part may be
    along: tuple[np.ndarray, ...]  # of each question, its part itself


def pool_predictions(arrays: Arrays, question: Quantity):
    """What the model says of pool rows; of two models, a pair."""
    return _predictions(arrays.pool_predictions, question)


def target_predictions(arrays: Arrays, question: Quantity):
    """The same of the target's rows."""
    return _predictions(arrays.predictions, question)


def _predictions(columns: Mapping[str, np.ndarray], question: Quantity):
    each = tuple(columns[name] for name in question.models)
    if question.versus is not None:
        return each
    return each[0] if each else None


def known_terms(arrays: Arrays, question: Quantity, labels: np.ndarray) -> np.ndarray:
    """Terms of pool rows from their labels; NaN where there is none."""
    metric, known = question.averaged, ~np.isnan(labels)
    prediction = pool_predictions(arrays, question)
    terms = metric.stack(labels, prediction, question.threshold)
    if ":" in question.name:
        check_finite(metric, terms[0][known], labels[known])
    return np.where(known[None, :], terms, np.nan)


def foresee(
    analysis: Posterior, questions: Sequence[Quantity], masses: Sequence[np.ndarray]
) -> Foreseen:
    """Predictions for some questions; `masses` are the pool rows' shares in each."""
    pairs = zip(questions, masses, _moments(analysis, questions), strict=True)
    each = [_foresee(analysis, *one) for one in pairs]
    terms, spreads, along = zip(*each, strict=True)
    weighed = [mass * spread for mass, spread in zip(masses, spreads, strict=True)]
    # Each question counts alike, whatever its unit.
    parts = [spread / max(float(spread.sum()), 1e-300) for spread in weighed]
    return Foreseen(
        terms=np.concatenate(terms),
        spread=np.sqrt(np.mean(np.square(parts), axis=0)),
        each=spreads,
        along=along,
    )


def _moments(analysis: Posterior, questions: Sequence[Quantity]) -> Sequence[Any]:
    """Of the terms of each question, from one pass over the pool; none of an effect."""
    if questions[0].metric.is_effect:
        return [None] * len(questions)
    arrays = analysis.arrays
    asked = [
        Asked(one.averaged, pool_predictions(arrays, one), one.threshold) for one in questions
    ]
    given = jax.tree.map(
        lambda leaf: as_jax(leaf) if isinstance(leaf, np.ndarray) else leaf, asked
    )
    return predict_moments(analysis.belief, as_jax(arrays.pool), given)


def _foresee(
    analysis: Posterior, question: Quantity, mass: np.ndarray, moments: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Terms, and along the question's slope their spread and mean."""
    metric, functional = question.averaged, functional_of(question)
    if metric.is_effect:
        return _foresee_effect(analysis)
    terms = np.asarray(moments[0])
    if functional is not None:
        given = pool_predictions(analysis.arrays, question)
        return foresee_functional(functional, terms, moments[1], mass, given)
    slope = metric.slope(terms @ mass / mass.sum())
    slope = np.nan_to_num(slope, posinf=0.0, neginf=0.0)
    return terms, spread_along(moments[1], slope), slope @ terms


def _foresee_effect(analysis: Posterior) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcomes on both arms; how far off an effect may be, by the chance of each arm."""
    mean, variance = analysis.belief.outcome(analysis.arms)
    label = analysis.belief.likelihood.variance(mean)
    arms = np.asarray(mean).reshape(2, -1)
    off = np.asarray(variance + label).reshape(2, -1)
    chance = np.asarray(analysis.arrays.chance)
    return arms, np.sqrt(off[0] / (1.0 - chance) + off[1] / chance), arms[1] - arms[0]
