"""Does a belief mean what it says? Reliability of chances, and how often intervals hold.

A rank is the share of what a belief expects that lies below what came. If the belief is right,
ranks are uniform: a central interval of level 90 % holds the label as often as its rank lies
between 5 and 95 %. Labels are judged one by one, and by their mean over many rows: an answer
about a population is such a mean, and errors that rows share show there.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from labelwise.errors import InvalidInput
from labelwise.inputs import as_matrix

LEVELS = (0.5, 0.8, 0.9, 0.95)
BINS = 10
DRAWS = 1000


@dataclass(frozen=True)
class Reliability:
    """0/1 labels by their predicted chance, in bins with as many labels each."""

    predicted: np.ndarray  # mean chance of a 1, by bin
    observed: np.ndarray  # share of ones
    labels: np.ndarray  # how many
    error: float  # mean distance of the two, over labels (expected calibration error)
    expected: float  # what the error would be, on average, if the chances were right


def reliability(chance: np.ndarray, y: np.ndarray, bins: int = BINS) -> Reliability:
    """Hold predicted chances of a 1 to 0/1 labels.

    Even right chances leave an error, since labels are drawn: `expected` says how much.
    """
    if len(chance) != len(y) or len(y) == 0:
        raise InvalidInput(
            f"There are {len(chance)} chances and {len(y)} labels",
            "give one a label",
            where="y",
        )
    order = np.argsort(chance, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    mean = lambda values: np.array([values[part].mean() for part in parts])
    count = np.array([len(part) for part in parts])
    variance = np.array([(chance * (1.0 - chance))[part].sum() for part in parts])
    predicted, observed = mean(chance), mean(np.asarray(y, float))
    error = float(count @ np.abs(predicted - observed) / len(y))
    # The mean distance of a normal number from its mean is √(2/π) standard deviations.
    expected = float(np.sqrt(2.0 / np.pi) * np.sqrt(variance).sum() / len(y))
    return Reliability(predicted, observed, count, error, expected)


def label_draws(key: PRNGKeyArray, belief: Any, x: Any, draws: int = DRAWS) -> np.ndarray:
    """Joint draws of labels, a row a draw."""
    return np.asarray(_labels(key, belief, as_matrix("x", x), draws))


def label_ranks(
    key: PRNGKeyArray, belief: Any, x: Any, y: np.ndarray, draws: int = DRAWS
) -> np.ndarray:
    """Of every label, the share of labels that the belief expects below it.

    Of those expected to equal it (0/1 labels) half count as below.
    """
    return _rank(label_draws(key, belief, x, draws), np.asarray(y)[None, :])


def mean_label_rank(
    key: PRNGKeyArray, belief: Any, x: Any, y: np.ndarray, draws: int = DRAWS
) -> float:
    """The rank of the mean label of some rows, among means that the belief expects."""
    return mean_rank(label_draws(key, belief, x, draws), np.asarray(y))


def mean_rank(labels: np.ndarray, y: np.ndarray) -> float:
    """The same, from draws of labels."""
    return float(_rank(labels.mean(axis=1), y.mean()))


def held_levels(ranks: np.ndarray, levels: tuple[float, ...] = LEVELS) -> dict[float, float]:
    """How often the central interval of each level held."""
    away = 2.0 * np.abs(np.asarray(ranks) - 0.5)
    return {level: float(np.mean(away <= level)) for level in levels}


def _rank(expected: np.ndarray, came: Any) -> Any:
    return np.mean(expected < came, axis=0) + 0.5 * np.mean(expected == came, axis=0)


@eqx.filter_jit
def _labels(key, belief, x, draws) -> Float[Array, "draws n"]:
    return belief.sample_labels(key, x, draws)
