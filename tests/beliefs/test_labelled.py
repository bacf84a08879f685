"""Labels that beliefs learn from: checked in one place, whatever the belief."""

import jax
import numpy as np
import pytest

from labelwise.beliefs.labelled import Labelled
from labelwise.likelihoods import BernoulliLikelihood, CategoricalLikelihood, GaussianLikelihood

X, Y = np.arange(12.0).reshape(6, 2), np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
GAUSSIAN = GaussianLikelihood(jax.device_put(np.float64(0.1)))


def changed(values, row, value):
    after = np.array(values)
    after[row] = value
    return after


BAD = {
    "a missing feature": ("x", (changed(X, (2, 0), np.nan), Y, None)),
    "one row's features": ("x", (X[0], Y, None)),
    "infinite labels": ("y", (X, changed(Y, [1, 4], np.inf), None)),
    "too few labels": ("y", (X, Y[:4], None)),
    "weights beyond 1": ("weight", (X, Y, np.full(6, 1.5))),
    "too few weights": ("weight", (X, Y, np.ones(5))),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_labels_are_refused(name, refused):
    where, given = BAD[name]
    with refused(where=where):
        Labelled.of(*given, GAUSSIAN)


@pytest.mark.parametrize(
    ("labels", "y"),
    [
        (BernoulliLikelihood(), changed(Y, 3, 0.5)),
        (CategoricalLikelihood(3), changed(Y, [0, 1], 3.0)),
    ],
    ids=["binary", "classes"],
)
def test_labels_of_another_kind_are_refused(labels, y, refused):
    with refused(where="y"):
        Labelled.of(X, y, None, labels)


def test_rows_with_other_features_than_before_are_refused(refused):
    old = Labelled.of(X, Y, None, GAUSSIAN)
    with refused(where="x"):
        Labelled.of(X[:, :1], Y, None, GAUSSIAN).after(old)
    assert Labelled.of(X, Y, None, GAUSSIAN).after(old).y.shape == (12,)


def test_without_weights_all_rows_count_fully():
    assert Labelled.of(X, Y, None, GAUSSIAN).weight.tolist() == [1.0] * 6
