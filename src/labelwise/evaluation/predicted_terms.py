"""What labels of pool rows would say of each question, row by row, as the belief foresees it.

Recorded with every batch before its labels are known, these predictions are what later turns
drawn labels into an answer that does not rest on the belief.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from labelwise.estimands.predictive import predict_moments, spread_along
from labelwise.estimands.terms import TERMS, Terms, compared
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.posterior import Posterior
from labelwise.evaluation.question import Quantity

EFFECT_TERMS = 2  # the outcome if untreated, and if treated


class Foreseen(NamedTuple):
    """Of every pool row: the terms of all questions, and how far off they may be together."""

    terms: np.ndarray  # terms × pool
    spread: np.ndarray  # pool
    each: tuple[np.ndarray, ...]  # of each question, how far off its part may be
    along: tuple[np.ndarray, ...]  # of each question, its part itself


def is_effect(question: Quantity) -> bool:
    return question.entry.needs == "treatment"


def terms_of(question: Quantity) -> Terms:
    """What the question averages over rows."""
    found = TERMS[question.name]
    return found if question.versus is None else compared(found)


def count_terms(question: Quantity) -> int:
    return EFFECT_TERMS if is_effect(question) else terms_of(question).count


def pool_predictions(arrays: Arrays, question: Quantity):
    """What the model says of pool rows; of two models, a pair."""
    names = [one for one in (question.prediction, question.versus) if one is not None]
    found = tuple(arrays.pool_predictions[name] for name in names)
    if question.versus is not None:
        return found
    return found[0] if found else None


def known_terms(arrays: Arrays, question: Quantity, labels: np.ndarray) -> np.ndarray:
    """Terms of pool rows from their labels; NaN where there is none."""
    found = terms_of(question).stack(
        jnp.asarray(labels), pool_predictions(arrays, question), question.threshold
    )
    return np.where(np.isnan(labels)[None, :], np.nan, np.asarray(found))


def foresee(
    analysis: Posterior, questions: Sequence[Quantity], masses: Sequence[np.ndarray]
) -> Foreseen:
    """Predictions for some questions; `masses` are the pool rows' shares in each."""
    pairs = list(zip(questions, masses, strict=True))
    found = [_foresee(analysis, question, mass) for question, mass in pairs]
    spreads = [spread for _, spread, _ in found]
    weighed = [mass * spread for mass, spread in zip(masses, spreads, strict=True)]
    # Each question counts alike, whatever its unit.
    parts = [spread / max(float(spread.sum()), 1e-300) for spread in weighed]
    return Foreseen(
        terms=np.concatenate([terms for terms, _, _ in found]),
        spread=np.sqrt(np.mean(np.square(parts), axis=0)),
        each=tuple(spreads),
        along=tuple(along for _, _, along in found),
    )


def _foresee(
    analysis: Posterior, question: Quantity, mass: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Terms, and along the question's slope their spread and mean."""
    if is_effect(question):
        return _foresee_effect(analysis)
    terms, x = terms_of(question), jnp.asarray(analysis.arrays.pool)
    prediction = pool_predictions(analysis.arrays, question)
    cut = question.threshold
    found, covariance = predict_moments(analysis.belief, x, terms, prediction, cut)
    means = np.asarray(found) @ mass / mass.sum()
    slope = np.nan_to_num(np.asarray(terms.slope(means)), posinf=0.0, neginf=0.0)
    spread = np.asarray(spread_along(covariance, jnp.asarray(slope)))
    return np.asarray(found), spread, slope @ np.asarray(found)


def _foresee_effect(analysis: Posterior) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcomes on both arms; how far off an effect may be, by the chance of each arm."""
    mean, variance = analysis.belief.outcome(analysis.arms)
    label = analysis.belief.likelihood.variance(mean)
    arms = np.asarray(mean).reshape(2, -1)
    off = np.asarray(variance + label).reshape(2, -1)
    chance = np.asarray(analysis.arrays.chance)
    return arms, np.sqrt(off[0] / (1.0 - chance) + off[1] / chance), arms[1] - arms[0]
