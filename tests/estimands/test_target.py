"""Target rows, masses, groups and predictions: checked in one place, whatever the estimand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.estimands.target import as_prediction, as_probability, as_target

X = np.arange(8.0).reshape(4, 2)
BAD = {
    "no rows": ("target x", lambda: as_target(np.zeros((0, 2)), None)),
    "a missing feature": ("target x", lambda: as_target(np.where(X == 3.0, np.nan, X), None)),
    "a negative mass": ("target mass", lambda: as_target(X, [1, -1, 1, 1])),
    "no mass": ("target mass", lambda: as_target(X, np.zeros(4))),
    "a group of nobody": ("where", lambda: as_target(X, None, np.zeros(4, bool))),
    "a group without mass": ("where", lambda: as_target(X, [1, 0, 1, 1], [0, 1, 0, 0])),
    "marks of other rows": ("where", lambda: as_target(X, None, [True] * 3)),
    "marks that are shares": ("where", lambda: as_target(X, None, np.full(4, 0.25))),
    "predictions of other rows": ("prediction", lambda: as_prediction(np.zeros(3), X)),
    "a missing prediction": ("prediction", lambda: as_prediction([0, 1, np.nan, 2], X)),
    "no probabilities": ("prediction", lambda: as_probability([0.5, 1.5, -1.0, 0.0], X)),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_target_is_refused(name, refused):
    where, action = BAD[name]
    with refused(where=where):
        action()


def test_a_group_has_all_the_mass():
    assert_allclose(as_target(X, [1, 3, 2, 2], [1, 1, 0, 0])[1], [0.25, 0.75, 0.0, 0.0])


def test_a_predictor_is_numbers_one_number_or_a_function_of_the_rows():
    assert_allclose(as_prediction([1, 2, 3, 4], X), [1.0, 2.0, 3.0, 4.0])
    assert_allclose(as_prediction(2, X), np.full(4, 2.0))
    assert_allclose(as_prediction(lambda rows: rows[:, 0], X), X[:, 0])
