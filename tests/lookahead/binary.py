"""Small problems with 0/1 labels, and what a batch truly teaches there, by brute force.

The truth is taken under the same Gaussian law of the function that planning starts from: every
outcome of the batch's labels is summed over, by a large sample that planning knows nothing of.
"""

from functools import cache
from itertools import product

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from scipy.special import expit

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.kernels import RBF
from labelwise.estimands.named import Recall
from tests.lookahead.problems import conditioned

DRAWS = 40_000


@cache
def binary_problem(seed: int, pool: int = 4, target: int = 3):
    """A classifier with five labels, the recall of some scores, and a pool."""
    rng = np.random.default_rng(100 + seed)
    prior = GaussianProcessClassifier(RBF(rng.uniform(0.7, 1.3, 2), 4.0))
    x = rng.normal(size=(5, 2))
    labels = (x[:, 0] + 0.5 * rng.normal(size=5) > 0).astype(float)
    belief = conditioned(prior, x, labels)
    scores = np.linspace(0.1, 0.9, target)
    estimand = Recall(rng.normal(size=(target, 2)), scores, mass=rng.uniform(0.5, 2.0, target))
    return belief, estimand, jnp.asarray(rng.normal(size=(pool, 2)))


@eqx.filter_jit
def moments(belief, x):
    return belief.mean(x), belief.covariance(x)


class Truth:
    """H(S) of recall by a large sample of the function and all outcomes of the labels."""

    def __init__(self, belief, estimand, pool_x, seed: int = 0):
        x = np.concatenate([estimand.x, pool_x])
        mean, covariance = map(np.asarray, moments(belief, jnp.asarray(x)))
        root = np.linalg.cholesky(covariance + 1e-10 * np.eye(len(x)))
        normal = np.random.default_rng(seed).normal(size=(DRAWS, len(x)))
        chances = expit(mean + normal @ root.T)
        target = len(estimand.x)
        at_target, self.chances = chances[:, :target], chances[:, target:]
        whole = np.asarray(estimand.mass)
        part = whole * (np.asarray(estimand.prediction) >= float(estimand.threshold))
        self.values = (at_target @ part) / (at_target @ whole)

    def variance(self, rows=()) -> float:
        """The expected variance after the labels of these rows."""
        total = 0.0
        for labels in product([0, 1], repeat=len(rows)):
            chances = self.chances[:, list(rows)]
            weight = np.prod(np.where(labels, chances, 1.0 - chances), axis=1)
            mean = np.average(self.values, weights=weight)
            total += weight.mean() * np.average((self.values - mean) ** 2, weights=weight)
        return total

    def gain(self, rows) -> float:
        return self.variance() - self.variance(rows)
