"""What no policy plans for: refused before any of them is asked."""

import numpy as np
import pytest

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.estimands.named import MeanSquaredError
from labelwise.policies.baselines import Random
from labelwise.policies.constraints import Spending
from labelwise.types import Pool

X = np.arange(24.0).reshape(12, 2)


def given():
    return {
        "key": 0,
        "belief": GaussianProcess(RBF(1.0, 1.0), 0.1),
        "estimand": MeanSquaredError(X[:8]),
        "pool": Pool(X),
        "k": 3,
    }


BAD = {
    "no pool": ("pool", {"pool": X}),
    "no estimand": ("estimand", {"estimand": "mse"}),
    "no belief": ("belief", {"belief": "gp"}),
    "no key": ("key", {"key": "seven"}),
    "an empty batch": ("k", {"k": 0}),
    "a batch larger than what is left": ("k", {"k": 13}),
    "a used-up pool": ("k", lambda: {"pool": Pool(X, np.zeros(12, bool))}),
    "other features than the target": ("pool x", lambda: {"pool": Pool(np.ones((12, 3)))}),
    "money without costs": ("pool cost", lambda: {"spending": Spending(limit=1.0)}),
    "money for no row": (
        "limit",
        lambda: {"pool": Pool(X, cost=np.full(12, 2.0)), "spending": Spending(limit=1.0)},
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_planned_for_is_refused(name, refused):
    where, changes = BAD[name]
    with refused(where=where):
        Random().propose(**(given() | (changes() if callable(changes) else changes)))
