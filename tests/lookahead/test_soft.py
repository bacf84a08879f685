"""The soft objective at fractional weights, exact and sampled, with its gradient."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.estimands.moments import exact_moments
from labelwise.estimands.named import MeanSquaredError
from labelwise.lookahead.posterior_view import exact_view
from labelwise.lookahead.relaxation import RELAXATIONS
from labelwise.lookahead.rollout import TargetDraws, sampled_variance
from labelwise.lookahead.soft import Heaviest, soft_variance, with_heaviest
from tests.lookahead.problems import Gains, expected_variance_by_hand, random_problem

WEIGHT = np.array([0.9, 0.0, 0.35, 1.0, 0.6, 0.1])
INSIDE = np.array([0.9, 0.2, 0.35, 0.8, 0.6, 0.1])  # no weight at an end: slopes have two sides
ALL = np.arange(6)
IMAGINED = 4000
BOTH = pytest.mark.parametrize(
    "weighting", ["paper", pytest.param("precision", marks=pytest.mark.slow)]
)


EACH = pytest.mark.parametrize(
    "relaxation",
    ["even", *(pytest.param(name, marks=pytest.mark.slow) for name in RELAXATIONS[:-1])],
)


@eqx.filter_jit
def mean_of(belief, x):
    return belief.mean(x)


def on_all(weight) -> Heaviest:
    return Heaviest(jnp.asarray(ALL), jnp.asarray(weight))


@eqx.filter_jit
def objectives(belief, estimand, pool_x, weight):
    """Under each relaxation."""
    view = exact_view(belief, estimand, pool_x)
    covariance = belief.covariance(estimand.x)
    of = lambda name: soft_variance(view, on_all(weight), covariance, name)[0]
    return {name: of(name) for name in RELAXATIONS}


@eqx.filter_jit
def imagined_variances(key, belief, estimand, pool_x, weight):
    labels = belief.sample_labels(key, pool_x, IMAGINED)
    after = lambda y: exact_moments(belief.condition(pool_x, y, weight), estimand).variance
    return jax.vmap(after)(labels)


def assert_mean_is(values, exact):
    """Within four standard errors."""
    values = np.asarray(values)
    error = 4 * values.std() / np.sqrt(len(values)) + 1e-12
    assert abs(values.mean() - float(exact)) < error


@BOTH
@pytest.mark.parametrize("seed", [0, 2, 4])
def test_to_the_letter_it_is_the_mean_over_imagined_labels(seed, weighting, getkey):
    problem = random_problem(seed, weighting=weighting)
    after = imagined_variances(getkey(), *problem, WEIGHT)
    relaxation = {"paper": "letter", "precision": "precision"}[weighting]
    assert_mean_is(after, objectives(*problem, WEIGHT)[relaxation])


@eqx.filter_jit
def seen_by(belief, estimand, pool_x, weight):
    """The readings of a soft batch, and moments at pool and target."""
    reading = belief.read(belief.embed(pool_x), jnp.asarray(weight))
    x = estimand.x
    covariances = belief.covariance(pool_x), belief.covariance(pool_x, x), belief.covariance(x)
    return reading, covariances, belief.mean(x) - estimand.prediction


@BOTH
def test_centred_a_label_at_the_mean_does_not_move_it(weighting, getkey):
    """By hand: condition on surprises drawn around zero, whatever the mean so far."""
    belief, estimand, pool_x = random_problem(0, weighting=weighting)
    found = seen_by(belief, estimand, pool_x, WEIGHT)
    reading, (covariance, cross, at_target), residual = jax.tree.map(np.asarray, found)
    gain, scale = reading.gain, reading.label_scale
    inner = np.outer(gain, gain) * covariance + np.diag(reading.noise)
    cross = gain[:, None] * cross
    after = at_target - cross.T @ np.linalg.solve(inner, cross)
    rng = np.random.default_rng(0)
    surprise = scale * rng.multivariate_normal(
        np.zeros(6), covariance + float(belief.noise) * np.eye(6), IMAGINED
    )
    moves = np.linalg.solve(inner, surprise.T).T @ cross
    mass = np.asarray(estimand.mass)
    slopes = 2 * mass * (residual + moves)
    own = 2 * mass @ after**2 @ mass
    values = own + np.einsum("ni,ij,nj->n", slopes, after, slopes)
    relaxation = {"paper": "centred", "precision": "precision"}[weighting]
    assert_mean_is(values, objectives(belief, estimand, pool_x, WEIGHT)[relaxation])


def gains_and_noises(relaxation, variance, prior, noise):
    """The readings that the page on mathematics gives, once more."""
    if relaxation == "matched":
        return WEIGHT, (1.0 - WEIGHT**2) * prior + noise
    return WEIGHT**0.25, (1.0 - np.sqrt(WEIGHT)) * variance + noise


@pytest.mark.parametrize("relaxation", ["matched", "even"])
@pytest.mark.parametrize("seed", [0, 2, 4])
def test_readings_that_are_imagined_as_they_are_gain_as_labels_do(seed, relaxation):
    """The closed form for hard batches, with gain and noise of the readings put in."""
    problem = random_problem(seed)
    plain, prior = Gains.of(*problem), float(problem[0].kernel.variance)
    variance = np.diagonal(plain.pool)
    gain, noise = gains_and_noises(relaxation, variance, prior, float(plain.noise))
    read = replace(
        plain,
        pool=np.outer(gain, gain) * plain.pool + np.diag(noise),
        cross=gain[:, None] * plain.cross,
        noise=np.zeros(()),
    )
    found = objectives(*problem, WEIGHT)[relaxation]
    assert_allclose(found, read.left(ALL), rtol=1e-9)


@pytest.mark.parametrize("weight", [0.05, 0.4, 0.8])
def test_alone_a_row_gains_in_proportion_to_its_weight(weight):
    """A squared error whose mean is known: its gain is all curvature."""
    belief, estimand, pool_x = random_problem(0)
    estimand = MeanSquaredError(estimand.x, np.asarray(mean_of(belief, estimand.x)))
    gains = Gains.of(belief, estimand, pool_x)
    alone = weight * np.eye(6)[2]
    left = objectives(belief, estimand, pool_x, alone)["even"]
    assert_allclose(gains.left([]) - float(left), weight * gains([2]), rtol=1e-9)


def test_at_weights_zero_and_one_all_are_the_hard_objective():
    problem = random_problem(0)
    hard = expected_variance_by_hand(*problem, [0, 3, 4])
    soft = objectives(*problem, np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0]))
    assert_allclose(list(soft.values()), np.full(len(RELAXATIONS), hard), rtol=1e-7)


def slope_and_differences(function, weight, step=1e-5):
    """The gradient, and central differences in all directions at once."""
    steps = step * jnp.eye(weight.shape[0])
    near = jnp.concatenate([weight[None] + steps, weight[None] - steps])
    above, below = jnp.split(jax.lax.map(function, near), 2)
    return jax.grad(function)(weight), (above - below) / (2 * step)


@eqx.filter_jit
def slopes_of_objective(belief, estimand, pool_x, weight, relaxation):
    function = lambda weight: objectives(belief, estimand, pool_x, weight)[relaxation]
    return slope_and_differences(function, jnp.asarray(weight))


@EACH
def test_the_gradient_agrees_with_finite_differences(relaxation):
    slope, differences = slopes_of_objective(*random_problem(0), INSIDE, relaxation)
    assert_allclose(slope, differences, rtol=1e-6, atol=1e-9)


def roll_out(belief, estimand, pool_x, draws, relaxation):
    """One roll-out, as a function of key and weight."""
    view = exact_view(belief, estimand, pool_x)
    target = TargetDraws.prepare(view, estimand)
    return lambda key, weight: sampled_variance(
        key, view, on_all(weight), estimand, target, draws, relaxation
    )[0]


@eqx.filter_jit
def roll_outs(key, belief, estimand, pool_x, weight, relaxation):
    one = roll_out(belief, estimand, pool_x, 20, relaxation)
    return jax.vmap(lambda key: one(key, weight))(jax.random.split(key, IMAGINED))


@EACH
def test_roll_outs_average_to_the_exact_objective(relaxation, getkey):
    problem = random_problem(0)
    values = roll_outs(getkey(), *problem, WEIGHT, relaxation)
    assert_mean_is(values, objectives(*problem, WEIGHT)[relaxation])


@eqx.filter_jit
def slopes_of_a_roll_out(key, belief, estimand, pool_x, weight):
    one = roll_out(belief, estimand, pool_x, 5, "even")
    return slope_and_differences(lambda weight: one(key, weight), jnp.asarray(weight))


def test_the_gradient_of_a_roll_out_agrees_with_finite_differences(getkey):
    slope, differences = slopes_of_a_roll_out(getkey(), *random_problem(0), INSIDE)
    assert_allclose(slope, differences, rtol=1e-5, atol=1e-8)


@eqx.filter_jit
def rows_conditioned_on(weight, k, sparse=True):
    count = lambda some: jnp.asarray(float(some.rows.shape[0])) + 0 * some.weight.sum()
    return with_heaviest(count, jnp.asarray(weight), k, sparse)


@pytest.mark.parametrize(
    ("heavy", "k", "rows"),
    [(5, 5, 64.0), (20, 40, 160.0), (100, 5, 256.0), (300, 5, 300.0)],
    ids=["sparse", "four a label", "more", "too spread out"],
)
def test_few_rows_are_conditioned_on_only_if_they_hold_the_weight(heavy, k, rows):
    weight = np.where(np.arange(300) < heavy, 1.0, 1e-6)
    assert float(rows_conditioned_on(weight, k)) == rows


def test_the_full_update_can_be_asked_for():
    weight = np.where(np.arange(300) == 0, 1.0, 0.0)
    assert float(rows_conditioned_on(weight, 5, sparse=False)) == 300.0


@jax.jit
def slope_through_the_branch(weight):
    energy = lambda heaviest: jnp.sum(heaviest.weight**2)
    return jax.grad(lambda weight: 3.0 * with_heaviest(energy, weight, 5))(weight)


def test_the_gradient_passes_through_the_branch():
    weight = np.random.default_rng(0).uniform(size=200) ** 60
    kept = np.argsort(-weight)[:64]
    expected = np.zeros(200)
    expected[kept] = 6.0 * weight[kept]
    assert_allclose(slope_through_the_branch(weight), expected, rtol=1e-12)
