"""The arrays that a measurement is made of, checked."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands.metrics import Metric
from labelwise.tables.numbers import as_numbers
from labelwise.tables.text import name_rows
from labelwise.tables.words import Vocabulary, are_words, usual_pair, words_in

FEWEST = 10  # labels from which on probabilities tell what they are of


@dataclass(frozen=True)
class Given:
    """Labels, predictions and how much each label counts."""

    y: np.ndarray
    prediction: np.ndarray
    pool: np.ndarray | None  # None: the labelled rows speak for themselves
    weight: np.ndarray  # of each label: one over its probability, as a share of equal ones

    @property
    def population(self) -> tuple[np.ndarray, np.ndarray]:
        """Predictions of rows that stand for all, and how much each counts."""
        if self.pool is None:
            return self.prediction, self.weight
        return self.pool, np.ones(len(self.pool))

    @staticmethod
    def of(metric: Metric, y, prediction, pool, probabilities) -> "Given":
        if metric.is_effect:
            raise InvalidInput(
                f"{metric.name!r} needs treatments", "make a campaign", where="metric"
            )
        y = _labels(y, metric)
        given = np.zeros(len(y)) if prediction is None else _vector("prediction", prediction)
        if prediction is None and metric.needs == "prediction":
            raise InvalidInput(
                f"{metric.name!r} needs predictions", "give prediction", where="prediction"
            )
        _check_length("prediction", given, y)
        pool = None if pool is None else _vector("pool_prediction", pool)
        for name, values in (("prediction", given), ("pool_prediction", pool)):
            _check_chances(name, values, metric)
        return Given(y, given, pool, _weights(probabilities, y, pool))


def _labels(y: Any, metric: Metric) -> np.ndarray:
    """Numbers; yes and no, true and false are 1 and 0."""
    cells = np.asarray(y, object).ravel().tolist() if np.ndim(y) == 1 else []
    pair = usual_pair(words_in(cells)) if cells and are_words(cells) else None
    y = _vector("y", y) if pair is None else Vocabulary(pair).codes(cells, "y", "y")
    _check_finite("y", y)
    if len(y) < 2:
        raise InvalidInput("One label tells no interval", "give two or more", where="y")
    binary = bool(np.isin(y, (0.0, 1.0)).all())
    if metric.labels == "binary" and not binary:
        strange = y[(y != 0.0) & (y != 1.0)][0]
        raise InvalidInput(
            f"{metric.name} is of labels that are 0 or 1, and some are {strange:g}",
            "say which counts as 1 (as y == 4), or make a campaign of several classes",
            where="y",
        )
    if metric.labels == "numbers" and binary:
        raise InvalidInput(
            f"{metric.name} is of labels that are numbers, but these are 0 or 1",
            "use accuracy or brier",
            where="y",
        )
    return y


def _weights(probabilities: Any, y: np.ndarray, pool: np.ndarray | None) -> np.ndarray:
    if probabilities is None:
        return np.ones(len(y))
    chance = _vector("probabilities", probabilities)
    _check_length("probabilities", chance, y)
    if not ((chance > 0.0) & (chance <= 1.0)).all():
        raise InvalidInput.must("probabilities", "be above 0 and at most 1", "some are not")
    weight = 1.0 / chance
    if pool is None:
        return weight / weight.mean()
    # Of draws, one over the probability is on average the number of rows; of rows that are in
    # a sample, that over the number of labels.
    share = float(weight.mean()) / len(pool)
    if len(y) >= FEWEST and share < 1.0 / np.sqrt(len(y)):
        raise InvalidInput(
            f"probabilities of a draw sum to 1 over all {len(pool)} rows, and these are "
            f"{1.0 / share:.3g} times as large",
            f"if they are of being among the {len(y)} labelled rows, divide them by {len(y)}",
            where="probabilities",
        )
    return weight / len(pool)


def _vector(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values, float)
    except (TypeError, ValueError):
        array = np.asarray(values, object)
        held = next((one for one in array.ravel() if np.isnan(as_numbers([one])[0])), values)
        remedy = "give 1 for one class and 0 for others, as labels == 'yes'"
        what = f"{name} must hold numbers, and holds {str(held)[:40]!r}"
        raise InvalidInput(what, remedy, where=name) from None
    if array.ndim != 1:
        raise InvalidInput.must(name, "be one list of numbers", f"its shape is {array.shape}")
    _check_finite(name, array)
    return array


def _check_finite(name: str, values: np.ndarray) -> None:
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise InvalidInput(
            f"{name} has no number in {name_rows(wrong + 1)}",
            "leave out rows without one, everywhere alike",
            where=name,
        )


def _check_chances(name: str, values: np.ndarray | None, metric: Metric) -> None:
    if values is None or not metric.probability or not len(values):
        return
    if values.min() < 0.0 or values.max() > 1.0:
        raise InvalidInput.must(
            name,
            f"hold probabilities for {metric.name}",
            f"it ranges from {values.min():g} to {values.max():g}",
        )


def _check_length(name: str, values: np.ndarray, y: np.ndarray) -> None:
    if len(values) != len(y):
        raise InvalidInput.must(
            name, f"have {len(y)} numbers, as y has", f"it has {len(values)}"
        )
