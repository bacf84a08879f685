"""Weighted rows: 0 is absent, 1 is present, 2 is twice; their order does not matter."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.neural.learning import Learning, TrainingProblem, learn
from labelwise.beliefs.neural.model import Model
from labelwise.beliefs.neural.registry import as_law
from tests.beliefs.neural.reference import build, draw, key, stirred
from tests.marks import but_slow

RNG = np.random.default_rng(100)
X, Y = RNG.normal(size=(8, 2)), RNG.normal(size=8)
AT = RNG.normal(size=(3, 2))
WEIGHT = np.array([0.9, 0.2, 0.6, 0.5, 0.8, 0.35, 0.1, 0.7])
ORDER = RNG.permutation(8)
SOME = np.array([1, 4, 5, 7])
HERE = np.isin(np.arange(8), SOME)
TWICE = np.repeat(SOME, 2)

# Tables of eight rows, and of four.
CASES = {
    "all": (X, Y, np.ones(8)),
    "shuffled": (X[ORDER], Y[ORDER], np.ones(8)),
    "weighted": (X, Y, WEIGHT),
    "weighted, shuffled": (X[ORDER], Y[ORDER], WEIGHT[ORDER]),
    "absent": (X, np.where(HERE, Y, Y + 100.0), HERE.astype(float)),
    "halves": (X[TWICE], Y[TWICE], np.full(8, 0.5)),
    "repeated": (X[TWICE], Y[TWICE], np.ones(8)),
}
FEWER = {"subset": (X[SOME], Y[SOME], np.ones(4)), "twos": (X[SOME], Y[SOME], np.full(4, 2.0))}


NETWORKS = ("ensemble-plus", "dropout", "hypermodel", "epinet")
SLOW = {"dropout", "hypermodel"}


@eqx.filter_jit
def learnt(model, learning, start, indices, cases):
    """Functions after learning from each of some tables of the same length."""

    def one(x, y, weight):
        weights = learn(
            TrainingProblem.of(model, learning, Labelled(x, y, weight), key(101)), start
        )
        return model.functions(weights, jnp.asarray(AT), indices)

    return jax.vmap(one)(*cases)


@pytest.fixture(scope="module", params=but_slow(NETWORKS, SLOW))
def outcomes(request):
    network = build(request.param, 1, hidden=(5,))
    model = Model(network, as_law("regression"))
    # Masks draw weights in every step, which takes long to compile: see test_bootstrap.
    seen = (
        {} if request.param == "dropout" else {"bootstrap": "exponential", "label_noise": 0.3}
    )
    learning = Learning(steps=12, learning_rate=0.03, indices=4, **seen)
    indices = None if network.size else draw(network, key(101), 5)
    found = {}
    for cases in (CASES, FEWER):
        tables = [np.stack(part) for part in zip(*cases.values(), strict=True)]
        values = learnt(model, learning, stirred(network), indices, tables)
        found.update(zip(cases, np.asarray(values), strict=True))
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("shuffled", "all", id="the order of rows does not matter"),
        pytest.param("weighted, shuffled", "weighted", id="nor does that of weights"),
        pytest.param("absent", "subset", id="weight 0 is absence, 1 presence"),
        pytest.param("repeated", "twos", id="weight 2 is a row twice"),
        pytest.param("halves", "subset", id="two halves are a row"),
    ],
)
def test_weights_mean_how_often_a_row_is_there(outcomes, one, other):
    assert_allclose(outcomes[one], outcomes[other], rtol=0, atol=1e-12)


def test_what_is_different_teaches_different_things(outcomes):
    """Or the agreement above would say nothing."""
    for one, other in (("all", "weighted"), ("all", "subset"), ("subset", "twos")):
        assert np.abs(outcomes[one] - outcomes[other]).max() > 1e-3
