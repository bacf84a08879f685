"""Does the belief hold up? Each batch's labels against what was predicted of them.

The prediction was written down when the batch was asked, before any of its labels came, so
this is a test on fresh data, batch after batch.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

LEVEL = 0.9  # of the predictive intervals that labels should fall into
ALARM = 0.01  # a surprise rarer than this contradicts the belief


@dataclass(frozen=True)
class Check:
    """One batch: how its labels compare with their prediction."""

    round: int
    labels: int
    inside: float  # share of labels in their 90 % predictive interval
    score: float  # mean squared standardised error; 1 is expected
    surprise: float  # chance of labels this far off, jointly, if the belief is right

    @property
    def contradicted(self) -> bool:
        return self.surprise < ALARM

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"contradicted": self.contradicted}


def check_round(number: int, content: Mapping[str, Any], labels: Mapping[int, float]):
    """Compare a batch with the labels that have come of it; None if there are none."""
    from scipy.stats import chi2, norm

    plan = content["plan"]
    known = [place for place, row in enumerate(plan["rows"]) if row in labels]
    if not known:
        return None
    mean = np.array([plan["reasons"][place]["mean"] for place in known])
    std = np.array([plan["reasons"][place]["std"] for place in known])
    error = np.array([labels[plan["rows"][place]] for place in known]) - mean
    z = error / std
    if plan["covariance"] is None:
        distance = float(np.sum(z**2))
    else:
        covariance = np.array(plan["covariance"])[np.ix_(known, known)]
        distance = float(error @ np.linalg.solve(covariance, error))
    # Too large a distance contradicts the belief; too small a one only wastes labels.
    return Check(
        round=number,
        labels=len(known),
        inside=float(np.mean(np.abs(z) <= norm.ppf(0.5 + LEVEL / 2.0))),
        score=float(np.mean(z**2)),
        surprise=float(chi2.sf(distance, len(known))),
    )
