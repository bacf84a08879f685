"""A belief that was saved is the same belief: it draws and learns as before."""

import equinox as eqx
import jax
import numpy as np
import pytest

from labelwise.beliefs.files import load_belief, save_belief
from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.neural.registry import NAMES, neural_belief
from labelwise.errors import InvalidInput
from tests.marks import but_slow

RNG = np.random.default_rng(0)
X, AT = RNG.normal(size=(6, 2)), RNG.normal(size=(4, 2))
KINDS = {"dropout": "binary", "ensemble-plus": 3, "epinet": "binary"}
LABELS = {"regression": RNG.normal(size=6), "binary": np.arange(6.0) % 2, 3: np.arange(6.0) % 3}


def make(name):
    kind = KINDS.get(name, "regression")
    options = {"bootstrap": "bernoulli"} if name == "hypermodel" else {}
    mean = ConstantMean(0.0 if kind == 3 else 0.4)
    return neural_belief(
        name, 2, labels=kind, noise=0.2, mean=mean, steps=2, hidden=(4,), seed=3, **options
    )


@eqx.filter_jit
def learn(belief, y):
    return belief.condition(X, y)


@eqx.filter_jit
def doings(belief, key, y):
    """What it draws, and what it learns from two more labels."""
    return belief.sample(key, AT, 5), belief.condition(AT[:2], y[:2]).panel(AT)


@pytest.mark.parametrize("name", but_slow(NAMES, set(NAMES) - {"ensemble", "epinet"}))
def test_what_is_read_is_what_was_written(name, tmp_path):
    y = LABELS[KINDS.get(name, "regression")]
    known = learn(make(name), y)
    save_belief(tmp_path / "belief.npz", known)
    again = load_belief(tmp_path / "belief.npz")
    assert eqx.tree_equal(jax.tree.structure(again), jax.tree.structure(known))
    key = jax.random.key(0)
    for mine, theirs in zip(doings(again, key, y), doings(known, key, y), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_belief_before_any_label_has_none_after(tmp_path):
    belief = make("ensemble")
    save_belief(tmp_path / "belief.npz", belief)
    again = load_belief(tmp_path / "belief.npz")
    assert again.labelled is None
    panel = eqx.filter_jit(lambda belief: belief.panel(AT))
    np.testing.assert_array_equal(panel(again), panel(belief))


def test_files_that_hold_no_belief_are_refused_in_one_sentence(tmp_path):
    with pytest.raises(InvalidInput, match="There is no file"):
        load_belief(tmp_path / "nothing.npz")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(InvalidInput, match="does not hold a belief"):
        load_belief(tmp_path / "text.npz")
    # A pickle would run code when it is read.
    np.savez(tmp_path / "pickle.npz", header=np.array({"format": 1}, dtype=object))
    with pytest.raises(InvalidInput, match="does not hold a belief"):
        load_belief(tmp_path / "pickle.npz")
    np.savez(tmp_path / "later.npz", header=np.array('{"format": 3}'))
    with pytest.raises(InvalidInput, match="has format 3"):
        load_belief(tmp_path / "later.npz")
