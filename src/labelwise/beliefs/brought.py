"""A belief that somebody brings: joint draws of what each row's label is expected to be.

Whatever model they come from, draws have a mean and a covariance between rows. The Gaussian
belief with the same moments learns from labels in closed form [1], so that every policy plans
with it. A row is its own draws: x has one column a draw. Of 0/1 labels a draw is the chance of
a 1, and enters by its log-odds.

[1] Evensen (2003), The ensemble Kalman filter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.optimize

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.fields import check_known
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import AbstractKernel
from labelwise.beliefs.means import AbstractMean
from labelwise.errors import InvalidInput
from labelwise.inputs import as_scalar

EDGE = 1e-3  # chances keep this far from 0 and 1: a draw may be sure, its belief is not
FEWEST = 2  # draws that have a spread
LEAST, MOST = 1e-4, 10.0  # of the labels' spread around the draws' mean, the noise's share


class DrawsKernel(AbstractKernel):
    """The covariance of draws; rows are compared by how far each draw lies off their mean."""

    odds: bool = eqx.field(static=True)

    def __call__(self, x, other):
        return x @ other.T

    def diagonal(self, x):
        return jnp.sum(x**2, axis=1)

    def features(self, x):
        functions = _functions(x, self.odds)
        away = functions - functions.mean(axis=1)[:, None]
        return away / np.sqrt(x.shape[1] - 1.0)


class DrawsMean(AbstractMean):
    """The mean of the draws."""

    odds: bool = eqx.field(static=True)

    def __call__(self, x):
        return _functions(x, self.odds).mean(axis=1)


def _functions(x, odds: bool):
    """Draws as the belief's functions have them."""
    if not odds:
        return x
    chance = jnp.clip(x, EDGE, 1.0 - EDGE)
    return jnp.log(chance) - jnp.log1p(-chance)


@dataclass(frozen=True)
class DrawsPrior:
    """Such a belief before any label, as plain values."""

    noise: float
    binary: bool

    def describe(self) -> dict[str, Any]:
        labels = "binary" if self.binary else "regression"
        return {"draws": True, "labels": labels, "noise": self.noise, "at_bound": []}

    def build(self) -> GaussianProcess | GaussianProcessClassifier:
        kernel, mean = DrawsKernel(self.binary), DrawsMean(self.binary)
        if self.binary:
            return GaussianProcessClassifier(kernel, mean)
        return GaussianProcess(kernel, self.noise, mean)

    @staticmethod
    def of(stored: Mapping[str, Any]) -> "DrawsPrior":
        return DrawsPrior(stored["noise"], stored["labels"] == "binary")


def check_draws(given: Mapping[str, Any], features: int, binary: bool) -> dict[str, Any]:
    """Options of such a belief, complete: of numbers the variance of a label, if known."""
    check_known("The belief", given, ("noise",))
    noise = given.get("noise")
    if noise is not None and binary:
        raise InvalidInput(
            "Labels that are 0 or 1 have no noise of their own", "leave it out", where="noise"
        )
    if features < FEWEST:
        raise InvalidInput(
            f"{features} draw has no spread", f"give {FEWEST} or more", where="draws"
        )
    known = {} if noise is None else {"noise": float(as_scalar("noise", noise))}
    if noise is not None and known["noise"] <= 0.0:
        raise InvalidInput.must("noise", "be positive", f"it is {noise!r}")
    return {**known, "labels": "binary" if binary else "regression"}


def fit_draws(options: Mapping[str, Any], x: Any, y: Any) -> DrawsPrior:
    """The prior, with the noise that the labels make likeliest unless it is given."""
    if options["labels"] == "binary":
        return DrawsPrior(0.0, binary=True)
    if "noise" in options:
        return DrawsPrior(options["noise"], binary=False)
    return DrawsPrior(_noise(np.asarray(x), np.asarray(y)), binary=False)


def _noise(x: np.ndarray, y: np.ndarray) -> float:
    """By the evidence, along the directions in which labels are uncorrelated."""
    mean = x.mean(axis=1)
    away = (x - mean[:, None]) / np.sqrt(x.shape[1] - 1.0)
    values, vectors = np.linalg.eigh(away @ away.T)
    seen, scale = (vectors.T @ (y - mean)) ** 2, float(np.mean((y - mean) ** 2)) or 1.0

    def surprise(log: float) -> float:
        variance = np.maximum(values, 0.0) + scale * np.exp(log)
        return float(np.sum(np.log(variance) + seen / variance))

    bounds = (np.log(LEAST), np.log(MOST))
    found = scipy.optimize.minimize_scalar(surprise, bounds=bounds, method="bounded")
    return scale * float(np.exp(found.x))
