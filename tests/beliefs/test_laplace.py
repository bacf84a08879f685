"""The mode, from easy and hard places: where Newton's steps alone would run away."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.laplace import Approximation
from labelwise.likelihoods import BernoulliLikelihood
from tests.beliefs.reference import covariance

ROWS = 20
RNG = np.random.default_rng(90)
X = RNG.normal(size=(ROWS, 2))
SPLIT = (X[:, 0] > 0.0).astype(float)
MIXED = RNG.integers(2, size=ROWS).astype(float)
TWINS = np.repeat(X[:10], 2, axis=0)

PROBLEMS = {  # rows, labels, the kernel's variance, the prior mean
    "ordinary": (X, MIXED, 2.0, 0.3),
    "separable": (X, SPLIT, 1e4, 0.0),
    "separable-huge": (X, SPLIT, 1e6, 0.0),
    "contradictory": (TWINS, np.arange(20.0) % 2, 1e4, 2.0),
    "one-class": (X, np.ones(ROWS), 100.0, 0.0),
    "mean-far-below": (X, np.ones(ROWS), 100.0, -15.0),
    "mean-far-above": (X, MIXED, 1e3, 30.0),
}


def make(name, link) -> Approximation:
    x, y, variance, mean = PROBLEMS[name]
    matrix = covariance("rbf", x, x, 1.0, variance)
    return Approximation(
        BernoulliLikelihood(link),
        *map(jnp.asarray, (matrix, np.full(ROWS, mean), y, np.ones(ROWS))),
    )


@eqx.filter_jit
def find(posterior, start):
    mode = posterior.find_mode(start)
    return mode, posterior.slope(mode), posterior.log_prob(mode), posterior.log_prob(start)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_slope_is_zero_at_the_mode_wherever_the_search_starts(name, link):
    posterior = make(name, link)
    matrix = np.asarray(posterior.covariance)
    mode, slope, best, _ = map(np.asarray, find(posterior, np.zeros(ROWS)))
    assert_allclose(slope, np.zeros(ROWS), rtol=0, atol=1e-9)
    shift = np.abs(matrix @ mode).max()
    for size in (1.0, 100.0):  # in units of the mode's own distance from the prior mean
        far = np.random.default_rng(91).normal(size=ROWS)
        far *= size * shift / np.abs(matrix @ far).max()
        again, slope, top, bottom = map(np.asarray, find(posterior, far))
        assert bottom < top
        assert_allclose(slope, np.zeros(ROWS), rtol=0, atol=1e-9)
        assert_allclose(top, best, rtol=1e-9)
        moved = matrix @ (again - mode)
        assert_allclose(moved, np.zeros(ROWS), rtol=0, atol=1e-6 * shift)


def test_newtons_full_step_alone_would_run_away():
    """Else the line search would be there for nothing."""

    @eqx.filter_jit
    def before_and_after(posterior, pull):
        return posterior.log_prob(pull), posterior.log_prob(posterior.read(pull).pull())

    before, after = before_and_after(make("mean-far-above", "logit"), np.zeros(ROWS))
    assert float(after) < float(before)
