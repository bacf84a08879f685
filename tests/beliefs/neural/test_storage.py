"""A belief that was saved is the same belief: it draws and learns as before."""

import jax
import numpy as np
import pytest

from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.neural.registry import NAMES, neural_belief
from labelwise.beliefs.neural.storage import load_belief, save_belief
from labelwise.errors import InvalidInput
from tests.conformance.cases import labels_for, rows

X, AT = rows(0, 6), rows(1, 4)
LABELS = {"dropout": "binary", "ensemble-plus": 3, "epinet": "binary"}


def make(name):
    kind = LABELS.get(name, "regression")
    options = {"bootstrap": "bernoulli"} if name == "hypermodel" else {}
    mean = ConstantMean(0.0 if kind == 3 else 0.4)
    return neural_belief(
        name, 2, labels=kind, noise=0.2, mean=mean, steps=2, hidden=(4,), seed=3, **options
    )


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_is_what_was_written(name, tmp_path):
    belief = make(name)
    y = np.arange(6.0) % 3 if LABELS.get(name) == 3 else labels_for(belief, 1, 6)
    known = belief.condition(X, y)
    save_belief(tmp_path / "belief.npz", known)
    again = load_belief(tmp_path / "belief.npz")
    key = jax.random.key(0)
    np.testing.assert_array_equal(again.sample(key, AT, 5), known.sample(key, AT, 5))
    more = (AT[:2], y[:2])
    np.testing.assert_array_equal(
        again.condition(*more).panel(AT), known.condition(*more).panel(AT)
    )


def test_a_belief_before_any_label_has_none_after(tmp_path):
    belief = make("ensemble")
    save_belief(tmp_path / "belief.npz", belief)
    again = load_belief(tmp_path / "belief.npz")
    assert again.labelled is None
    np.testing.assert_array_equal(again.panel(AT), belief.panel(AT))


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
    np.savez(tmp_path / "later.npz", header=np.array('{"format": 2}'))
    with pytest.raises(InvalidInput, match="has format 2"):
        load_belief(tmp_path / "later.npz")
