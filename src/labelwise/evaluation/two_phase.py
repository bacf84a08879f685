"""What it adds to an answer's uncertainty that the pool at hand is a sample of a larger one.

Let ψ_i be how far row i moves the number, so that its error for want of the other rows is that
of a mean of ψ over the sample. The sample is stratified, N_h rows giving n_h, so the first
phase has the variance

    V = Σ_h c_h S_h²,    c_h = (N_h / N)² (1/n_h − 1/N_h),

with S_h² the variance of ψ in stratum h: over the sample without bias what it is over the pool.
Not every row of the sample has a label. But Σ_h c_h S_h² = Σ_i a_i ψ_i² − Σ_h b_h T_h², with
T_h the sum of ψ over the sample's stratum; every draw gives an estimate of each of these sums
that is unbiased given all draws before it, as `survey.aipw` has it, and the product of two
draws' estimates of T_h is an unbiased one of T_h². docs/large-pools.md derives it.

Where the mean of some predictions over the whole pool is known (`labelwise refine`), the number
is mended by how far the sample is off in them, and ψ is what is left beyond them.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.special

from labelwise.estimands.metrics import Bounds
from labelwise.evaluation.answer import GRID, Answer
from labelwise.evaluation.question import Quantity
from labelwise.pools.first_phase import FirstPhase
from labelwise.survey.aipw import usable_draws
from labelwise.survey.draws import DrawRecord, RoundDraws
from labelwise.survey.variance_floor import WORTH


class Mended(NamedTuple):
    """Predictions of a question's terms, and their means over every row of the pool."""

    predictions: np.ndarray  # terms × sample
    means: np.ndarray  # terms


def can_mend(question: Quantity) -> bool:
    """Whether the answer is a function of a few means, which predictions mend."""
    metric = question.averaged
    whole = metric.functional is not None or metric.combination.settle is not None
    return not (whole or metric.is_effect or question.classes)


@dataclass(frozen=True)
class Influence:
    """How far rows of the sample move the number: ψ, from their terms."""

    phase: FirstPhase
    mass: np.ndarray  # of the sample's rows
    slope: np.ndarray  # of the number, by the mean of each term
    means: np.ndarray  # of the terms
    mended: Mended | None = None

    def of(self, terms: np.ndarray) -> np.ndarray:
        """ψ of every row; NaN where terms are."""
        total = self.mass.sum()
        weight = self.mass * self.phase.probability * (self.phase.total / total)
        along, middle = self.slope @ terms, float(self.slope @ self.means)
        if self.mended is not None:
            told = self.slope @ self.mended.predictions
            along, middle = along - told, middle - float(told @ self.mass / total)
        return weight * (along - middle)

    @property
    def shift(self) -> float:
        """From the number in the sample to that in the pool, where the latter is mended."""
        if self.mended is None:
            return 0.0
        inside = self.mended.predictions @ self.mass / self.mass.sum()
        return float(self.slope @ (self.mended.means - inside))


def phase_variance(record: DrawRecord, influence: Influence) -> float:
    """The variance that the first phase adds, from the draws; none if they say less than 0."""
    squares, sums = _draw_by_draw(record, influence)
    draws = len(squares)
    if draws < 2:
        return 0.0
    _, pairs = _factors(influence.phase)
    products = (sums.sum(axis=0) ** 2 - (sums**2).sum(axis=0)) / (draws * (draws - 1.0))
    return max(float(squares.mean() - pairs @ products), 0.0)


def foreseen_variance(influence: Influence, terms: np.ndarray, spread: np.ndarray) -> float:
    """The same before any draw, from terms as a belief expects them.

    `spread` is how far off they may be along the slope.
    """
    phase = influence.phase
    each, pairs = _factors(phase)
    psi = influence.of(terms)
    weight = influence.mass * phase.probability * (phase.total / influence.mass.sum())
    noise = (weight * spread) ** 2
    sums = np.bincount(phase.stratum, psi, len(phase.rows))
    noises = np.bincount(phase.stratum, noise, len(phase.rows))
    return max(float(each[phase.stratum] @ (psi**2 + noise) - pairs @ (sums**2 + noises)), 0.0)


def with_foreseen(seen: float, foreseen: float, draws: int) -> float:
    """The variance seen, held to the one foreseen if that is more.

    After a few draws the one seen may be far too small, or 0. What was foreseen counts like
    some draws beside those that came, as it does for the spread of draws.
    """
    if seen >= foreseen:
        return seen
    return (draws * seen + WORTH * foreseen) / (draws + WORTH)


def _factors(phase: FirstPhase) -> tuple[np.ndarray, np.ndarray]:
    """Of each stratum, a (of a row's square) and b (of the square of the sum)."""
    rows, sizes = phase.rows.astype(float), phase.sizes.astype(float)
    some = sizes > 1
    safe = np.where(some, sizes, 2.0)
    left = (rows / phase.total) ** 2 * (1.0 / safe - 1.0 / np.maximum(rows, 1.0))
    each = np.where(some, left / (safe - 1.0), 0.0)
    return each, each / safe


def _draw_by_draw(record: DrawRecord, influence: Influence) -> tuple[np.ndarray, np.ndarray]:
    """Estimates of Σ a ψ², one a draw, and of every stratum's Σ ψ, draws × strata."""
    known = influence.of(np.where(record.known, record.terms, 0.0))
    each = _factors(influence.phase)[0][influence.phase.stratum]
    pairs = zip(record.rounds, usable_draws(record), strict=True)
    found = [
        _in_round(round_, use, known, record.known, influence, each) for round_, use in pairs
    ]
    squares = [np.zeros(0), *(square for square, _ in found)]
    sums = [np.zeros((0, len(influence.phase.rows))), *(sum_ for _, sum_ in found)]
    return np.concatenate(squares), np.concatenate(sums)


def _in_round(
    round_: RoundDraws,
    use: np.ndarray,
    known: np.ndarray,
    is_known: np.ndarray,
    influence: Influence,
    each: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The same of one round: rows no longer open count as they are, others as predicted."""
    stratum, count = influence.phase.stratum, len(influence.phase.rows)
    guess = influence.of(round_.predictions)
    true = np.where(is_known, known, guess)
    base, rows = np.where(round_.open, guess, true), round_.rows
    chance = np.where(round_.drawn, round_.probabilities, 1.0)
    square = each[rows] * (true[rows] ** 2 - guess[rows] ** 2)
    own = np.zeros((len(rows), count))
    own[np.arange(len(rows)), stratum[rows]] = true[rows] - guess[rows]
    before = lambda change: (
        np.zeros_like(change) if round_.together else np.cumsum(change, axis=0) - change
    )
    squares = each @ base**2 + before(square) + square / chance
    sums = np.bincount(stratum, base, count) + before(own) + own / chance[:, None]
    return squares[use], sums[use]


def of_whole(answer: Answer, variance: float, shift: float, bounds: Bounds) -> Answer:
    """The answer about the pool, from one about the sample.

    Every interval is stretched around the value as far as the standard deviation grows.
    """
    std = float(np.sqrt(answer.std**2 + variance))
    value = float(np.clip(answer.value + shift, *bounds))
    move = lambda ends: _stretched(np.asarray(ends), answer, std, shift, bounds)
    quantiles = move(answer.quantiles)
    if answer.std <= 0.0:  # all that is not known is the first phase's
        quantiles = np.clip(value + std * scipy.special.ndtri(GRID), *bounds)
    always = {level: move(ends).tolist() for level, ends in answer.anytime_at.items()}
    return replace(
        answer,
        value=value,
        std=std,
        quantiles=tuple(float(one) for one in quantiles),
        anytime=None if answer.anytime is None else tuple(move(answer.anytime).tolist()),
        anytime_at=always,
        first_phase=float(np.sqrt(variance)),
    )


def _stretched(
    ends: np.ndarray, answer: Answer, std: float, shift: float, bounds: Bounds
) -> np.ndarray:
    times = std / answer.std if answer.std > 0.0 else 1.0
    return np.clip(answer.value + (ends - answer.value) * times + shift, *bounds)
