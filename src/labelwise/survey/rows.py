"""What the average of all draws' estimates makes of each row.

The mean of the Ê_k of `aipw` is a sum over rows: a row's own label counts with a share of its
own, what each round predicted of it with others, and all of them add up to one. Whatever is a
function of all labels together is estimated by the function of these mixtures.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labelwise.survey.aipw import usable_draws
from labelwise.survey.draws import DrawRecord, RoundDraws


@dataclass(frozen=True)
class RowShares:
    """Of each row: the share of its own label, and of each round's prediction."""

    own: np.ndarray  # N; above 1 where a rare draw stands for many rows
    rounds: np.ndarray  # rounds × N

    def mix(self, labels: Any, predictions: Any) -> np.ndarray:
        """A row's own number where it counts, and the rounds' predictions of it."""
        each = zip(self.rounds, predictions, strict=True)
        predicted = sum(share * number for share, number in each)
        return np.where(self.own == 0.0, 0.0, labels) * self.own + predicted


def row_shares(record: DrawRecord) -> RowShares:
    """Shares in the mean of all usable estimates; there must be one."""
    usable = usable_draws(record)
    shares = [_of_round(record, *pair) for pair in zip(record.rounds, usable, strict=True)]
    count = sum(int(use.sum()) for use in usable)
    return RowShares(
        own=np.sum([own for own, _ in shares], axis=0) / count,
        rounds=np.array([predicted for _, predicted in shares]) / count,
    )


def _of_round(record: DrawRecord, round_: RoundDraws, use: np.ndarray):
    """Sums over a round's usable draws."""
    draws, rows = int(use.sum()), round_.rows
    own = np.where(round_.open, 0.0, float(draws))
    after = draws - np.cumsum(use)  # draws for which the row is no longer open
    own[rows] = after + use / np.where(round_.drawn, round_.probabilities, 1.0)
    own = np.where(record.known, own, 0.0)
    return own, draws - own


def linear_record(
    record: DrawRecord,
    labels: np.ndarray,
    of_labels: Callable[[np.ndarray], np.ndarray],
    of_terms: Callable[[np.ndarray], np.ndarray],
) -> DrawRecord:
    """The record with one term, a function of labels, and of the terms predicted of them."""
    known = record.known
    terms = np.where(known, of_labels(np.where(known, labels, 0.0)), np.nan)
    rounds = tuple(
        replace(round_, predictions=of_terms(round_.predictions)[None, :])
        for round_ in record.rounds
    )
    return replace(record, terms=terms[None, :], rounds=rounds)
