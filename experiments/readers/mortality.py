"""Intensive-care patients labelled at first in one cluster: the paper's real problem.

A random forest learns who dies in hospital. Its ten most important features are the rows of
a regression, and a forest on those ten gives the labels: the probability of death, with no
noise added. K-means finds 51 clusters; the initial labels come from one of them, the pool and
the target from all patients that are left. The predictor under evaluation is a ridge
regression that has seen the initial labels only.

The paper is silent on much of this. Missing values become the median. Features get mean 0
and standard deviation 1 over the whole table, without its labels, and end at 5, where a few
extreme patients would otherwise have clusters of their own. A label is the prediction of
the trees that did not see the row: the others know its outcome by heart, and in-sample
predictions are little more than the outcome itself. (Those trees differ from row to row, so
a label is nearly, not quite, a function of the row.)

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, appendix B.2.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pandas as pd

from labelwise.beliefs.base import AbstractGaussianBelief
from labelwise.diagnostics.clusters import label_clusters
from labelwise.errors import InvalidInput
from labelwise.estimands.named import MeanSquaredError
from labelwise.likelihoods import GaussianLikelihood
from labelwise.simulation.problem import Problem
from labelwise.types import Pool

TREES, FEATURES, CLUSTERS = 100, 10, 51
EDGE = 5.0  # standard deviations at which features end
SEED = 0  # of forest and clusters: one cohort for all draws


@dataclass(frozen=True)
class Cohort:
    """Patients as rows of a regression, with the cluster of each."""

    x: np.ndarray
    y: np.ndarray  # probability of death
    clusters: np.ndarray
    features: dict[str, float]  # names of x's columns, with their importance


@dataclass(frozen=True)
class Sizes:
    """How many rows are labelled at first, may be labelled, and define the estimand."""

    initial: int = 100
    pool: int = 500
    target: int = 285


def make_cohort(
    table: pd.DataFrame, outcome: str, features: int = FEATURES, clusters: int = CLUSTERS
) -> Cohort:
    """From a table of patients, some values missing, and a column with 0 or 1."""
    died = table[outcome].to_numpy()
    if set(np.unique(died)) != {0, 1}:
        raise InvalidInput(
            f"The column {outcome} must hold 0 and 1, and both", "code it so", where=outcome
        )
    inputs = _as_numbers(table.drop(columns=outcome))
    if not 1 <= features <= inputs.shape[1] or not 1 <= clusters <= len(inputs):
        raise InvalidInput(
            f"The table has {inputs.shape[1]} features and {len(inputs)} rows",
            f"it cannot give {features} features and {clusters} clusters",
            where="features",
        )
    importance = pd.Series(
        _grow(inputs, died).feature_importances_, index=inputs.columns
    ).nlargest(features)
    chosen = inputs[importance.index]
    x = _standardise(chosen.to_numpy())
    return Cohort(
        x=x,
        y=_grow(chosen, died).oob_decision_function_[:, 1],
        clusters=label_clusters(x, clusters, SEED),
        features={str(name): float(value) for name, value in importance.items()},
    )


def draw_mortality(
    cohort: Cohort,
    prior: AbstractGaussianBelief,
    seed: int,
    sizes: Sizes | None = None,
    zero: bool = False,
) -> Problem:
    """Initial labels from one cluster that has enough rows; pool and target from the rest.

    The predictor is a regression on the initial labels or, as in the paper, 0 everywhere.
    """
    sizes = Sizes() if sizes is None else sizes
    initial, pool, target = _draw_rows(cohort.clusters, seed, sizes)
    predict = fit_predictor(cohort.x[initial], cohort.y[initial])
    prediction = np.zeros(len(target)) if zero else predict(cohort.x[target])
    estimand = MeanSquaredError(cohort.x[target], prediction)
    return Problem(
        prior=prior,
        x=jnp.asarray(cohort.x[initial]),
        y=jnp.asarray(cohort.y[initial]),
        pool=Pool(cohort.x[pool]),
        labels=jnp.asarray(cohort.y[pool]),
        estimand=estimand,
        truth=estimand.value(jnp.asarray(cohort.y[target]), GaussianLikelihood(jnp.zeros(()))),
        name=f"mortality/{seed}",
        truth_is="realised mean loss over the target",
    )


def fit_predictor(x: np.ndarray, y: np.ndarray):
    """A ridge regression; what it predicts is a probability, so it stays within 0 and 1."""
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=1.0).fit(x, y)
    return lambda rows: np.clip(model.predict(rows), 0.0, 1.0)


def _draw_rows(clusters: np.ndarray, seed: int, sizes: Sizes):
    rng = np.random.default_rng(seed)
    counts = np.bincount(clusters)
    large = np.flatnonzero(counts >= sizes.initial)
    if large.size == 0 or len(clusters) < sizes.initial + sizes.pool + sizes.target:
        raise InvalidInput(
            f"{len(clusters)} rows, at most {counts.max()} in a cluster, cannot give {sizes}",
            "ask for fewer",
            where="sizes",
        )
    home = np.flatnonzero(clusters == rng.choice(large))
    initial = rng.choice(home, sizes.initial, replace=False)
    others = np.setdiff1d(np.arange(len(clusters)), initial)
    rest = rng.choice(others, sizes.pool + sizes.target, replace=False)
    return initial, rest[: sizes.pool], rest[sizes.pool :]


def _as_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Texts as one column a value, missing numbers as the median (0 where there is none)."""
    table = pd.get_dummies(table).astype(float)
    return table.fillna(table.median()).fillna(0.0)


def _grow(inputs: pd.DataFrame, died: np.ndarray):
    from sklearn.ensemble import RandomForestClassifier  # slow to load

    forest = RandomForestClassifier(TREES, criterion="gini", oob_score=True, random_state=SEED)
    return forest.fit(inputs.to_numpy(), died)


def _standardise(x: np.ndarray) -> np.ndarray:
    spread = x.std(axis=0)
    return np.clip((x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0), -EDGE, EDGE)
