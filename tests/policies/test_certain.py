"""A belief that is sure of everything has nothing to plan by."""

import jax
import numpy as np

from labelwise.beliefs.neural.registry import neural_belief
from labelwise.estimands.moments import sampled_moments
from labelwise.estimands.named import MeanSquaredError
from labelwise.policies.lookahead import Lookahead
from labelwise.types import Pool
from tests.conformance.cases import numbers, rows


def test_to_a_belief_that_is_sure_all_rows_are_alike():
    """A single network has nothing to plan by: chance takes rows, and says so."""
    sure = neural_belief("mlp", 2, noise=0.1, hidden=(4,), steps=2)
    known = sure.condition(rows(0, 6), numbers(1, 6))
    aim = MeanSquaredError(rows(3, 5))
    batch = Lookahead().propose(jax.random.key(0), known, aim, Pool(rows(7, 8)), 2)
    assert np.asarray(batch.drawn).all()
    assert float(sampled_moments(jax.random.key(0), known, aim, 10).variance) == 0.0
