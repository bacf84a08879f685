"""A small target of 0/1 labels, and functions that give stated chances of a 1."""

import jax
import numpy as np

from labelwise.likelihoods import BernoulliLikelihood

SIZE = 12
RNG = np.random.default_rng(11)
X = RNG.normal(size=(SIZE, 2))
SCORE = RNG.uniform(0.05, 0.95, SIZE)
MASS = RNG.uniform(0.5, 2.0, SIZE)
WHERE = np.arange(SIZE) % 4 != 1
CHANCE = RNG.uniform(0.05, 0.95, SIZE)
LABELS = (RNG.uniform(size=SIZE) < 0.5).astype(float)
BERNOULLI = BernoulliLikelihood()


def function_of(chance):
    """f with these chances of a 1; at 0 and 1 so far out that the sigmoid is exact."""
    with np.errstate(divide="ignore"):
        return jax.device_put(
            np.clip(np.log(chance) - np.log1p(-np.asarray(chance)), -1e3, 1e3)
        )


def weights(mass, where):
    """Sample weights by hand: the mass within the group, one where none is given."""
    mass = np.ones(SIZE) if mass is None else mass
    return mass if where is None else mass * where
