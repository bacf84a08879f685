"""Fitting what a network takes as given: the scale of labels, their mean and their noise.

The network itself learns when it is conditioned. Its noise is what its functions miss, on rows
it did not learn from, beyond what they disagree by.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from labelwise.beliefs.means import AbstractMean, ConstantMean, PredictorMean
from labelwise.beliefs.neural.belief import NeuralBelief, Report
from labelwise.beliefs.neural.registry import Kind, as_law, neural_belief, split_options
from labelwise.errors import InvalidInput
from labelwise.inputs import as_matrix, as_scalar, as_vector

FEW = 20  # with fewer labels the noise is not estimated
USUAL_NOISE = 0.1  # share of the labels' variance it then has
LEAST_NOISE = 0.01  # and never less than this share
HELD_OUT = 4  # one row in so many is held out


@dataclass(frozen=True)
class NeuralPrior:
    """A neural belief before any label, as plain values: to be stored, and built again."""

    neural: str  # its name
    features: int
    labels: Kind
    noise: float
    mean: AbstractMean
    spread: float
    seed: int
    options: dict[str, Any]

    def build(self) -> NeuralBelief:
        return neural_belief(
            self.neural,
            self.features,
            labels=self.labels,
            noise=self.noise,
            mean=self.mean,
            spread=self.spread,
            seed=self.seed,
            **self.options,
        )


def fit_neural(
    name: str,
    x: Any,
    y: Any,
    *,
    labels: Kind = "regression",
    noise: Any = None,
    predictor_column: int | None = None,
    seed: int = 0,
    report: Report | None = None,
    **options: Any,
) -> NeuralPrior:
    """The prior that suits these labels; condition what it builds on them.

    Without `noise` it is estimated, which takes one more round of learning.
    """
    split_options(name, options)  # refuses those that do not exist
    x = as_matrix("x", x)
    y = as_vector("y", y, x.shape[0], "x")
    as_law(labels).check("y", y)
    labels = "binary" if labels == 2 else labels
    _check_rows(x, predictor_column)
    numbers, rows = np.asarray(y), np.asarray(x)
    mean = _mean(rows, numbers, labels, predictor_column)
    spread = _spread(numbers, np.asarray(mean(x))) if labels == "regression" else 1.0
    given = USUAL_NOISE * spread**2
    if noise is not None:
        given = float(as_scalar("noise", noise, low=0.0))
    prior = NeuralPrior(
        neural=name,
        features=x.shape[1],
        labels=labels,
        noise=given if labels == "regression" else 0.0,
        mean=mean,
        spread=spread,
        seed=seed,
        options=options,
    )
    if noise is not None or labels != "regression" or len(numbers) < FEW:
        return prior
    return replace(prior, noise=_noise(prior, rows, numbers, report))


def _noise(prior: NeuralPrior, x: np.ndarray, y: np.ndarray, report: Report | None) -> float:
    order = np.random.default_rng(prior.seed).permutation(len(y))
    out = order[::HELD_OUT]
    weight = np.ones(len(y))
    weight[out] = 0.0
    belief = prior.build().learn(x, y, weight, report)
    missed = (y[out] - np.asarray(belief.mean(x[out]))) ** 2
    left = float(missed.mean() - np.asarray(belief.variance(x[out])).mean())
    return float(np.clip(left, LEAST_NOISE * prior.spread**2, prior.spread**2))


def _mean(x, y, labels: Kind, column: int | None) -> AbstractMean:
    """A constant, or of numbers a line in the predictor, by least squares."""
    if labels == "binary":
        chance = (y.sum() + 1.0) / (len(y) + 2.0)
        return ConstantMean(float(np.log(chance / (1.0 - chance))))
    if labels != "regression":
        return ConstantMean(0.0)
    if column is None or np.ptp(x[:, column]) <= 1e-9:
        return ConstantMean(float(y.mean()))
    slope, intercept = np.polyfit(x[:, column], y, 1)
    return PredictorMean(column, float(intercept), float(slope))


def _spread(y: np.ndarray, mean: np.ndarray) -> float:
    """Of labels around the mean; if that is but rounding, of labels, and if that is too, 1."""
    least = 1e-9 * float(np.abs(y).max())
    return next((one for one in (float((y - mean).std()), float(y.std())) if one > least), 1.0)


def _check_rows(x: Float[Array, "n features"], column: int | None) -> None:
    rows, features = x.shape
    if rows == 0:
        raise InvalidInput("Fitting needs labelled rows", "there are none", where="x")
    if column is not None and not -features <= column < features:
        raise InvalidInput.must(
            "predictor_column", f"be a column of x (0 to {features - 1})", f"it is {column}"
        )
