"""The soft objective at fractional weights, exact and sampled, with its gradient."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from numpy.testing import assert_allclose

from labelwise.estimands.moments import exact_moments
from labelwise.lookahead.expected import expected_variance
from labelwise.lookahead.outlook import look
from labelwise.lookahead.rollout import TargetDraws, sampled_variance
from labelwise.lookahead.soft import Heaviest, soft_variance, with_heaviest
from tests.lookahead.problems import random_problem

WEIGHT = jnp.array([0.9, 0.0, 0.35, 1.0, 0.6, 0.1])
ALL = jnp.arange(6)
IMAGINED = 4000
BOTH = pytest.mark.parametrize("weighting", ["paper", "precision"])


@eqx.filter_jit
def objective(belief, estimand, pool_x, weight, centred=True):
    outlook = look(belief, estimand, pool_x)
    covariance = belief.covariance(estimand.x)
    return soft_variance(outlook, Heaviest(ALL, weight), covariance, centred)[0]


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_to_the_letter_it_is_the_mean_over_imagined_labels(seed, weighting, getkey):
    belief, estimand, pool_x = random_problem(seed, weighting=weighting)
    labels = belief.sample_labels(getkey(), pool_x, IMAGINED)
    after = eqx.filter_jit(
        jax.vmap(
            lambda y: exact_moments(belief.condition(pool_x, y, WEIGHT), estimand).variance
        )
    )(labels)
    exact = objective(belief, estimand, pool_x, WEIGHT, False)
    assert abs(after.mean() - exact) < 4 * after.std() / np.sqrt(IMAGINED) + 1e-12


@BOTH
def test_centred_a_label_at_the_mean_does_not_move_it(weighting, getkey):
    """By hand: condition on surprises drawn around zero, whatever the mean so far."""
    belief, estimand, pool_x = random_problem(0, weighting=weighting)
    rows = belief.embed(pool_x)
    reading = belief.read(rows, WEIGHT)
    covariance = np.asarray(belief.covariance(pool_x))
    gain, scale = np.asarray(reading.gain), np.asarray(reading.label_scale)
    inner = np.outer(gain, gain) * covariance + np.diag(np.asarray(reading.noise))
    cross = gain[:, None] * np.asarray(belief.covariance(pool_x, estimand.x))
    after = np.asarray(belief.covariance(estimand.x)) - cross.T @ np.linalg.solve(inner, cross)
    rng = np.random.default_rng(0)
    surprise = scale * rng.multivariate_normal(
        np.zeros(6), covariance + float(belief.noise) * np.eye(6), IMAGINED
    )
    moves = np.linalg.solve(inner, surprise.T).T @ cross
    mass = np.asarray(estimand.mass)
    residual = np.asarray(belief.mean(estimand.x) - estimand.prediction)
    slopes = 2 * mass * (residual + moves)
    own = 2 * mass @ after**2 @ mass
    values = own + np.einsum("ni,ij,nj->n", slopes, after, slopes)
    exact = objective(belief, estimand, pool_x, WEIGHT)
    assert abs(values.mean() - exact) < 4 * values.std() / np.sqrt(IMAGINED)


@BOTH
@pytest.mark.parametrize("centred", [True, False])
def test_at_weights_zero_and_one_it_is_the_hard_objective(weighting, centred):
    belief, estimand, pool_x = random_problem(1, weighting=weighting)
    hard = expected_variance(belief, estimand, pool_x, [0, 3, 4])
    weight = jnp.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    assert_allclose(objective(belief, estimand, pool_x, weight, centred), hard, rtol=1e-9)


@BOTH
def test_the_gradient_agrees_with_finite_differences(weighting):
    belief, estimand, pool_x = random_problem(0, weighting=weighting)
    weight = jnp.array([0.9, 0.2, 0.35, 0.8, 0.6, 0.1])
    soft = jax.jit(lambda weight: objective(belief, estimand, pool_x, weight))
    check_grads(soft, (weight,), order=1, modes=["rev"], eps=1e-5, rtol=1e-6)


@BOTH
def test_roll_outs_average_to_the_exact_objective(weighting, getkey):
    belief, estimand, pool_x = random_problem(0, weighting=weighting)
    outlook = look(belief, estimand, pool_x)
    target = TargetDraws.prepare(outlook, estimand)
    roll_out = lambda key: sampled_variance(
        key, outlook, Heaviest(ALL, WEIGHT), estimand, target, 20
    )[0]
    values = jax.jit(jax.vmap(roll_out))(jax.random.split(getkey(), IMAGINED))
    exact = objective(belief, estimand, pool_x, WEIGHT)
    assert abs(values.mean() - exact) < 4 * values.std() / np.sqrt(IMAGINED)


def test_the_gradient_of_a_roll_out_agrees_with_finite_differences(getkey):
    belief, estimand, pool_x = random_problem(0)
    outlook = look(belief, estimand, pool_x)
    target, key = TargetDraws.prepare(outlook, estimand), getkey()
    soft = jax.jit(
        lambda weight: sampled_variance(
            key, outlook, Heaviest(ALL, weight), estimand, target, 5
        )[0]
    )
    weight = jnp.array([0.9, 0.2, 0.35, 0.8, 0.6, 0.1])
    check_grads(soft, (weight,), order=1, modes=["rev"], eps=1e-5, rtol=1e-5)


COUNT = lambda heaviest: jnp.asarray(float(heaviest.rows.shape[0])) + 0 * heaviest.weight.sum()


@pytest.mark.parametrize(
    ("heavy", "k", "rows"),
    [(5, 5, 64.0), (20, 40, 160.0), (300, 5, 300.0)],
    ids=["sparse", "four a label", "too spread out"],
)
def test_few_rows_are_conditioned_on_only_if_they_hold_the_weight(heavy, k, rows):
    weight = jnp.where(jnp.arange(300) < heavy, 1.0, 1e-6)
    assert with_heaviest(COUNT, weight, k) == rows


def test_the_full_update_can_be_asked_for():
    assert with_heaviest(COUNT, jnp.eye(300)[0], 5, sparse=False) == 300.0


def test_the_gradient_passes_through_the_branch(getkey):
    weight = jax.random.uniform(getkey(), (200,)) ** 60
    energy = lambda heaviest: jnp.sum(heaviest.weight**2)
    slope = jax.jit(jax.grad(lambda weight: 3.0 * with_heaviest(energy, weight, 5)))(weight)
    kept = np.argsort(-np.asarray(weight))[:64]
    expected = np.zeros(200)
    expected[kept] = 6.0 * np.asarray(weight)[kept]
    assert_allclose(slope, expected, rtol=1e-12)
