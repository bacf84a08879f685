"""The paper's toy setting for networks: clusters on a line, labelled at first in one of them.

20 labelled rows, a pool of 10, a target of 252, and an ensemble with prior functions that
learns by 50 steps of Adam from its initial weights. Two of the five anchors coincide.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, appendix B.
"""

from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.neural.belief import NeuralBelief
from labelwise.beliefs.neural.registry import neural_belief
from labelwise.datasets.synthetic import Sample
from labelwise.estimands.base import QuadraticEstimand
from labelwise.estimands.named import MeanSquaredError
from labelwise.types import Pool

ANCHORS = np.array([[0.0], [1.0], [1.0], [-2.0], [2.0]])
INITIAL = Sample((20, 0, 0, 0, 0), 0.01)
POOL = Sample((2,) * 5, 0.002)
TARGET = Sample((50, 100, 100, 1, 1), 0.01)
LEVEL, NOISE = 0.83, 0.1  # standard deviations: of the function, of labels around it
K, TEMPERATURE = 2, 0.1

ENSEMBLE: dict[str, Any] = {
    "members": 10,
    "hidden": (50, 50),
    "prior_scale": 100.0,
    "law": "uniform",
    "prior_law": "xavier",
    "decay": 0.1,
    "steps": 50,
    "learning_rate": 0.1,
}


class Toy(eqx.Module):
    """First labels, the rows one may label, and the mean square that is to be known."""

    x: jax.Array
    y: jax.Array
    pool: Pool
    estimand: QuadraticEstimand


def make_toy(seed: int) -> Toy:
    rng = np.random.default_rng(seed)
    x, pool, target = (part.draw(rng, ANCHORS) for part in (INITIAL, POOL, TARGET))
    # The first rows lie so close together that the function has one value at all of them.
    y = LEVEL * rng.normal() + NOISE * rng.normal(size=len(x))
    return Toy(jnp.asarray(x), jnp.asarray(y), Pool(pool), MeanSquaredError(target))


def make_belief(toy: Toy, seed: int, **options: Any) -> NeuralBelief:
    """The ensemble after the first labels; `options` change what the paper has."""
    options = {**ENSEMBLE, **options}
    prior = cast(NeuralBelief, neural_belief("ensemble-plus", 1, seed=seed, **options))
    return prior.condition(toy.x, toy.y)
