"""How well scores put ones before zeros: the area under the ROC curve, average precision.

With weights w that sum to one, P = Σ w y, and K = 1, ½ or 0 as one score is above, at or below
another,

    AUC = Σ_ij w_i y_i w_j (1 − y_j) K(s_i, s_j) / (P (1 − P))
    AP  = Σ_i w_i y_i (Σ_{s_j ≥ s_i} w_j y_j / Σ_{s_j ≥ s_i} w_j) / P.

Sums over pairs are cumulative sums along the scores, with ties taken together. A row is no pair
with itself: y_i (1 − y_i) counts as 0 and y_i y_i as y_i, as of labels 0 and 1, and so also
where y is a chance, or an estimate that weighs a label by one over its probability.
"""

from typing import Any, NamedTuple

import numpy as np

from labelwise.estimands.functional import BinaryFunctional, share_of


class _Along(NamedTuple):
    """Rows by their scores: the order, and where each row's score begins and ends in it."""

    order: Any
    begin: Any
    end: Any

    @staticmethod
    def of(score: Any) -> "_Along":
        xp = score.__array_namespace__()
        order = xp.argsort(score)
        ordered = score[order]
        left, right = (xp.searchsorted(ordered, score, side=side) for side in ("left", "right"))
        return _Along(order, left, right)

    def sums(self, values: Any) -> Any:
        """Sums of the first 0, 1, ... rows in order, over the last axis."""
        xp = values.__array_namespace__()
        return xp.concatenate(
            [xp.zeros_like(values[..., :1]), xp.cumsum(values[..., self.order], axis=-1)],
            axis=-1,
        )

    def below(self, values: Any) -> Any:
        """Of each row, the sum over rows with a lower score, ties half."""
        sums = self.sums(values)
        return 0.5 * (sums[..., self.begin] + sums[..., self.end])

    def at_least(self, values: Any) -> Any:
        """Of each row, the sum over rows whose score is as high or higher."""
        sums = self.sums(values)
        return sums[..., -1:] - sums[..., self.begin]

    def at_most(self, values: Any) -> Any:
        """Of each row, the sum over rows whose score is as low or lower."""
        return self.sums(values)[..., self.end]


def _auc(y: Any, weight: Any, score: Any) -> Any:
    ones, zeros = weight * y, weight * (1.0 - y)
    share = ones.sum(axis=-1)
    below = _Along.of(score).below(zeros) - 0.5 * zeros
    return share_of((ones * below).sum(axis=-1), share * (1.0 - share))


def _auc_slope(y: np.ndarray, weight: np.ndarray, score: Any) -> np.ndarray:
    along, ones, zeros = _Along.of(score), weight * y, weight * (1.0 - y)
    share = float(ones.sum())
    # A label that turns from 0 to 1 is above the zeros below it, and no longer below the ones
    # above.
    above = share - along.below(ones) - 0.5 * ones
    pairs = along.below(zeros) - 0.5 * zeros - above
    whole = share * (1.0 - share)
    return (pairs - _auc(y, weight, score) * (1.0 - 2.0 * share)) / whole


def _average_precision(y: Any, weight: Any, score: Any) -> Any:
    along, ones = _Along.of(score), weight * y
    found = along.at_least(ones) + weight - ones
    shares = _shares(found, along.at_least(weight))
    return share_of((ones * shares).sum(axis=-1), ones.sum(axis=-1))


def _average_precision_slope(y: np.ndarray, weight: np.ndarray, score: Any) -> np.ndarray:
    along, ones = _Along.of(score), weight * y
    called = along.at_least(weight)
    own = _shares(along.at_least(ones) + weight - 2.0 * ones, called)
    others = along.at_most(_shares(ones, called))  # whose precision the row is a part of
    return (own + others - _average_precision(y, weight, score)) / ones.sum()


def _shares(part: Any, whole: Any) -> Any:
    """Where nothing weighs, 0."""
    xp = whole.__array_namespace__()
    some = whole > 0.0
    return xp.where(some, part / xp.where(some, whole, 1.0), 0.0)


AUC = BinaryFunctional(_auc, _auc_slope)
AVERAGE_PRECISION = BinaryFunctional(_average_precision, _average_precision_slope)
