"""The paper's two theorems on gradient estimators, simulated: who errs less, and where.

A problem is a number of actions and a place of the policy: θ_i = 1/k ("low"), 1 - 1/k ("high")
or one half ("middle"), the others one half; or 1 - 1/k where the others share 1/k ("vertex"):
nearly all chance is on one action. For each k, number of samples N and temperature τ the mean
squared error is simulated and held to its closed form, or to an integral by many draws.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 7, app. C.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from experiments.theory_formulas import (
    BINARY_GRADIENT,
    Error,
    General,
    binary_score,
    binary_smooth,
    general_score,
    general_smooth,
)
from labelwise.cli.runs import Task

KS = (4, 10, 30, 100, 300)
SAMPLES = (1, 10, 100)
TEMPERATURES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0)
ESTIMATES = 40_000  # by one sample each; fewer by more, but as many samples
LEAST = 1000  # estimates, at any number of samples
INTEGRAL = 200_000  # draws for the general smoothed gradient's own mean and variance
PLACES = ("low", "high", "middle", "vertex")
ACTIONS = (2, 3, 10)
NAMES = [
    "binary/low",
    "binary/high",
    *(
        f"{kind}-{m}/{place}"
        for m in ACTIONS
        for kind in ("linear", "curved")
        for place in PLACES
    ),
]
ESTIMATORS = ("score", "score-baseline", *(f"smooth {tau:g}" for tau in TEMPERATURES))


def config() -> dict[str, Any]:
    return {
        "experiment": "theory",
        "rounds": len(KS) * (len(SAMPLES) * len(ESTIMATORS) - 1) - 1,
        "ks": KS,
        "samples": SAMPLES,
        "estimates": ESTIMATES,
        "least": LEAST,
        "integral": INTEGRAL,
        "temperatures": TEMPERATURES,
        "places": PLACES,
        "actions": ACTIONS,
    }


def make_general(name: str, k: int) -> General:
    kind, place = name.split("/")
    word, m = kind.split("-")
    theta = np.full(int(m), 1.0 / (k * (int(m) - 1)) if place == "vertex" else 0.5)
    high = 1.0 - 1.0 / k
    theta[0] = {"low": 1.0 / k, "high": high, "middle": 0.5, "vertex": high}[place]
    return General(np.linspace(-1.0, 1.0, int(m)), theta, 0, word == "curved")


def work(task: Task) -> list[dict[str, Any]]:
    """One problem; a row for each k, N and estimator."""
    rng = np.random.default_rng([task.seed, NAMES.index(task.policy)])
    began, rows = time.perf_counter(), []
    for found in _grid(task.policy, rng):
        rows.append({"policy": task.policy, "seed": task.seed, "round": len(rows), **found})
    return [row | {"seconds": round(time.perf_counter() - began, 3)} for row in rows]


def _grid(name: str, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for k in KS:
        problem = Binary.of(name, k) if name.startswith("binary") else make_general(name, k)
        for estimator in ESTIMATORS:
            exact = _exact(problem, estimator, rng)
            for samples in SAMPLES:
                if estimator == "score-baseline" and samples < 2:
                    continue  # there are no others to take it from
                errors = _errors(problem, estimator, samples, rng)
                yield {
                    "k": k,
                    "estimator": estimator,
                    "samples": samples,
                    "gradient": problem.gradient,
                    "bias": exact.bias if exact else np.nan,
                    "formula": exact.mse(samples) if exact else np.nan,
                    "formula_error": exact.doubt(samples) if exact else np.nan,
                    "mse": np.mean(errors**2),
                    "standard_error": np.std(errors**2, ddof=1) / np.sqrt(len(errors)),
                }


class Binary:
    """A = -1 with probability θ, else 1."""

    gradient = BINARY_GRADIENT

    def __init__(self, theta: float):
        self.theta = theta

    @staticmethod
    def of(name: str, k: int) -> "Binary":
        return Binary(1.0 / k if name.endswith("low") else 1.0 - 1.0 / k)


def _exact(problem: Binary | General, estimator: str, rng) -> Error | None:
    """Bias and variance of one sample; of a leave-one-out baseline, which has none, nothing."""
    if estimator == "score-baseline":
        return None
    binary = isinstance(problem, Binary)
    if estimator == "score":
        return binary_score(problem.theta) if binary else general_score(problem)
    tau = float(estimator.split()[1])
    if binary:
        return binary_smooth(problem.theta, tau)
    noise = rng.gumbel(size=(INTEGRAL, len(problem.theta)))
    return Error.of_draws(general_smooth(problem, tau, noise) - problem.gradient)


def _errors(problem, estimator: str, samples: int, rng) -> np.ndarray:
    """Of estimates by `samples` each."""
    shape = (max(ESTIMATES // samples, LEAST), samples)
    if estimator.startswith("score"):
        costs, scores = _draw_scores(problem, shape, rng)
        if estimator == "score-baseline":
            costs = costs - (costs.sum(axis=1, keepdims=True) - costs) / (samples - 1)
        each = costs * scores
    else:
        each = _draw_smooth(problem, float(estimator.split()[1]), shape, rng)
    return each.mean(axis=1) - problem.gradient


def _draw_scores(problem, shape, rng):
    if isinstance(problem, Binary):
        low = rng.uniform(size=shape) < problem.theta
        scores = np.where(low, 1.0 / problem.theta, -1.0 / (1.0 - problem.theta))
        return np.where(low, -1.0, 1.0), scores
    which = rng.choice(len(problem.theta), size=shape, p=problem.law)
    return problem.worth(problem.actions)[which], problem.scores[which]


def _draw_smooth(problem, tau: float, shape, rng) -> np.ndarray:
    if isinstance(problem, Binary):
        away = (rng.uniform(size=shape) - problem.theta) / (2.0 * tau)
        return -1.0 / (2.0 * tau * np.cosh(np.clip(away, -300.0, 300.0)) ** 2)
    noise = rng.gumbel(size=(shape[0] * shape[1], len(problem.theta)))
    return general_smooth(problem, tau, noise).reshape(shape)


def best_temperature(rows: pd.DataFrame) -> pd.DataFrame:
    """τ̃: of each problem, k and N the temperature with the least error, and that error."""
    smooth = rows[rows["estimator"].str.startswith("smooth")]
    least = smooth.groupby(["policy", "k", "samples"])["mse"].idxmin()
    return smooth.loc[least]
