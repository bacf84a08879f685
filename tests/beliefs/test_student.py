"""Student's law against SciPy's."""

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from labelwise.beliefs.student import Student


def law(dim: int) -> tuple[Student, np.ndarray]:
    sides = np.random.default_rng(dim).normal(size=(dim, dim + 2))
    return Student(sides @ sides.T, 5.0), np.zeros(dim)


@pytest.mark.parametrize("dim", [1, 4])
def test_the_same_draws_come_of_the_same_generator(dim):
    ours, zero = law(dim)
    theirs = scipy.stats.multivariate_t(zero, ours.shape, 5.0, seed=np.random.default_rng(7))
    drawn = ours.draw(np.random.default_rng(7), 20)
    assert_allclose(drawn, np.reshape(theirs.rvs(20), (20, dim)), rtol=1e-12)


@pytest.mark.parametrize("dim", [1, 4])
def test_the_density_is_scipys(dim):
    ours, zero = law(dim)
    at = 3.0 * np.random.default_rng(1).normal(size=(30, dim))
    expected = scipy.stats.multivariate_t(zero, ours.shape, 5.0).logpdf(at)
    assert_allclose(ours.log_density(at), expected, rtol=1e-12)
