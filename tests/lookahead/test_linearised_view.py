"""The linearised view: exact where the estimand is quadratic, near the truth for recall."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.estimands.base import QuadraticEstimand
from labelwise.estimands.custom import FunctionEstimand
from labelwise.lookahead import linearised_view as linearised
from labelwise.lookahead.gain import batch_gain
from labelwise.lookahead.linearised_view import DRAWS, posterior_view
from labelwise.lookahead.posterior_view import exact_view
from tests.lookahead.binary import Truth, binary_problem, moments
from tests.lookahead.problems import random_problem, subsets

gain_of = eqx.filter_jit(lambda *both: batch_gain(*both)[0])
see, see_anyhow = eqx.filter_jit(exact_view), eqx.filter_jit(posterior_view)


@cache
def key():
    return jax.random.key(4)


def test_a_quadratic_estimand_keeps_its_closed_form():
    belief, estimand, pool_x = random_problem(0)
    assert isinstance(estimand, QuadraticEstimand)
    exact = see(belief, estimand, pool_x)
    same = see_anyhow(key(), belief, estimand, pool_x)
    assert_allclose(same.tilts, exact.tilts, rtol=0)


def test_a_quadratic_function_is_linearised_without_error_but_that_of_draws():
    """The slope is a mean over draws; the curvature is the same everywhere."""
    belief, estimand, pool_x = random_problem(0)
    prediction = estimand.prediction
    square = lambda outcome, mass: mass @ (outcome - prediction) ** 2
    custom = FunctionEstimand(estimand.x, square, estimand.mass)
    exact = see(belief, estimand, pool_x)
    found = see_anyhow(key(), belief, custom, pool_x)
    mass = np.asarray(estimand.mass)
    assert_allclose(np.asarray(found.parts.curvature)[0], mass, rtol=1e-10)
    assert_allclose(found.noise, exact.noise, rtol=1e-10)
    covariance = np.asarray(moments(belief, estimand.x)[1])
    of_slope = 4 * np.outer(mass, mass) * covariance / DRAWS
    slope = np.asarray(exact.parts.slope)[0]
    off = np.asarray(found.parts.slope)[0] - slope
    assert (np.abs(off) < 5 * np.sqrt(np.diag(of_slope))).all()
    # The gain is bᵀ M b plus what the curvature gives: its error follows from that of b.
    rows = np.array([4, 1, 2])
    cross = np.asarray(exact.cross)[rows]
    at_pool = np.asarray(moments(belief, pool_x)[1])
    own = at_pool[np.ix_(rows, rows)] + float(belief.noise) * np.eye(3)
    m = cross.T @ np.linalg.solve(own, cross)
    error = 2 * np.sqrt(slope @ m @ of_slope @ m @ slope) + 5 * np.trace(m @ of_slope)
    gains = [float(gain_of(view, jnp.asarray(rows))) for view in (found, exact)]
    assert abs(gains[0] - gains[1]) < 5 * error


def test_slope_and_curvature_of_recall_are_averages_over_the_belief(monkeypatch):
    """By hand: first and second derivatives of the ratio, over an independent sample."""
    draws = 20_000
    monkeypatch.setattr(linearised, "DRAWS", draws)
    belief, estimand, _ = binary_problem(0)
    about = eqx.filter_jit(lambda *of: posterior_view(*of).parts)(key(), *binary_problem(0))
    normal = np.random.default_rng(1).normal(size=(draws, 3))
    mean, covariance = map(np.asarray, moments(belief, estimand.x))
    p = expit(mean + normal @ np.linalg.cholesky(covariance).T)
    whole = np.asarray(estimand.mass)
    part = whole * (np.asarray(estimand.prediction) >= float(estimand.threshold))
    bottom = (p @ whole)[:, None]
    value = (p @ part)[:, None] / bottom
    lean = (part - value * whole) / bottom  # ∂g / ∂p
    bend = -2 * whole * lean / bottom  # ∂²g / ∂p²
    first, second = p * (1 - p), p * (1 - p) * (1 - 2 * p)
    slopes, curvatures = lean * first, 0.5 * (bend * first**2 + lean * second)
    for found, sample in ((about.slope, slopes), (about.curvature, curvatures)):
        # Products of the signs add to the spread of the curvature: no more than its scale.
        spread = sample.std(axis=0) + np.abs(sample).max()
        error = spread / np.sqrt(draws)
        assert (
            np.abs(np.asarray(found)[0] - sample.mean(axis=0)) < 5 * np.sqrt(2) * error
        ).all()


def test_products_of_rows_do_not_leak_into_the_curvature(monkeypatch):
    """g = f₁² f₂², f independent: the mean of half ∂²g/∂f₁² is Var f₂, and ∂²g/∂f₁∂f₂ varies
    with the signs of f, so the random signs of the estimate must have nothing to do with it."""
    draws = 4000
    monkeypatch.setattr(linearised, "DRAWS", draws)
    belief = GaussianProcess(RBF(1.0, 0.8), 0.1)
    x = jnp.array([[0.0, 0.0], [50.0, 0.0]])
    estimand = FunctionEstimand(x, lambda outcome, mass: jnp.prod(outcome**2))
    about = eqx.filter_jit(lambda key: posterior_view(key, belief, estimand, x).parts)(key())
    # Of one draw f₂² + 2 s₁ s₂ f₁ f₂ has variance 2 v² + 4 v².
    error = np.sqrt(6.0) * 0.8 / np.sqrt(draws)
    assert (np.abs(np.asarray(about.curvature)[0] - 0.8) < 5 * error).all()


@pytest.fixture(scope="module")
def factors():
    """Linearised over true gains of recall, for all single rows and pairs of some problems."""
    found = []
    for seed in range(4):
        belief, estimand, pool_x = binary_problem(seed)
        view = see_anyhow(key(), belief, estimand, pool_x)
        truth = Truth(belief, estimand, pool_x)
        for rows in [[0], [1], [2], [3], *subsets(4, 2).tolist()]:
            gain = truth.gain(rows)
            if gain > 0.02 * truth.variance():  # what teaches nothing has no factor
                found.append(float(gain_of(view, jnp.array(rows))) / gain)
    print("linearised / true gains:", np.round(np.quantile(found, [0, 0.25, 0.5, 0.75, 1]), 2))
    return np.array(found)


def test_linearised_gains_of_recall_are_near_the_true_ones(factors):
    assert len(factors) > 15
    assert ((factors > 0.75) & (factors < 1.33)).all()  # measured: 0.89 to 1.18
