"""Does the belief hold up? Each batch's labels against what was predicted of them.

The prediction was written down when the batch was asked, before any of its labels came, so
this is a test on fresh data, batch after batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from labelwise.evaluation.round import Round
from labelwise.evaluation.state import State

LEVEL = 0.9  # of the predictive intervals that labels should fall into
IMAGINED = 2000  # batches of 0/1 labels, to hold those that came to
ALARM = 0.01  # a surprise rarer than this contradicts the belief


@dataclass(frozen=True)
class Check:
    """One batch: how its labels compare with their prediction."""

    round: int
    labels: int
    inside: float  # share of labels in their 90 % predictive interval
    score: float  # mean squared standardised error; 1 is expected
    surprise: float  # probability of labels this far off, jointly, if the belief is right

    @property
    def contradicted(self) -> bool:
        return self.surprise < ALARM

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"contradicted": self.contradicted}


def check_rounds(rounds: Sequence[Round], state: State, called: Any = None) -> list[Check]:
    """All batches of which labels have come.

    Of several classes, `called` is what the model calls each row: the label is whether it is
    right.
    """
    came: dict[int | None, dict[int, float]] = {}
    for row, label in state.labels.items():
        label = label if called is None else float(label == called[row])
        came.setdefault(state.batches[row], {})[row] = label
    checks = (check_round(one, came.get(one.number, {})) for one in rounds)
    return [one for one in checks if one is not None]


def check_round(round_: Round, labels: Mapping[int, float]) -> Check | None:
    """Compare a batch with the labels that have come of it; None if there are none.

    Nor is there anything to compare with where nothing was expected of the batch.
    """
    from scipy.special import chdtrc, ndtri

    plan = round_.plan
    places = [place for place, row in enumerate(plan.rows) if row in labels]
    if not places or not plan.reasons:
        return None
    mean, std = np.array([(plan.reasons[at].mean, plan.reasons[at].std) for at in places]).T
    came = np.array([labels[plan.rows[place]] for place in places])
    error = came - mean
    z = error / std
    inside = np.abs(z) <= ndtri(0.5 + LEVEL / 2.0)
    if plan.chances is not None:
        probabilities = np.array(plan.chances)[:, places]
        surprise = _surprise_of_binary(probabilities, came, round_.number)
        # Of a 0/1 label the interval holds both values unless one is next to certain.
        inside = np.where(came == 1.0, mean, 1.0 - mean) >= 0.5 - LEVEL / 2.0
    elif plan.covariance is None:
        surprise = float(chdtrc(len(places), np.sum(z**2)))
    else:
        covariance = np.array(plan.covariance)[np.ix_(places, places)]
        # Too large a distance contradicts the belief; too small a one only wastes labels.
        distance = error @ np.linalg.solve(covariance, error)
        surprise = float(chdtrc(len(places), distance))
    score = float(np.mean(z**2))
    return Check(round_.number, len(places), float(np.mean(inside)), score, surprise)


def _surprise_of_binary(probabilities: np.ndarray, came: np.ndarray, seed: int) -> float:
    """How probable labels as unlikely as these are, by imagining others from the belief.

    `probabilities` of a 1 have a row for each function drawn from the belief.
    """
    rng = np.random.default_rng(seed)
    functions = probabilities[rng.integers(len(probabilities), size=IMAGINED)]
    imagined = (rng.uniform(size=functions.shape) < functions).astype(float)
    likely = lambda labels: _log_mean_likelihood(probabilities, labels)
    return float((1 + np.sum(likely(imagined) <= likely(came[None, :]))) / (1 + IMAGINED))


def _log_mean_likelihood(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Average over draws how likely each row of labels is, and take the log."""
    inside = np.clip(probabilities, 1e-6, 1.0 - 1e-6)
    logs = labels @ np.log(inside).T + (1.0 - labels) @ np.log1p(-inside).T
    return np.logaddexp.reduce(logs, axis=1)
