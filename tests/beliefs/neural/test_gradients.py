"""Gradients of what is learnt in the weights of rows: every way against every other."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.neural import gradients
from labelwise.beliefs.neural.belief import NeuralBelief
from labelwise.beliefs.neural.ensemble import Ensemble
from labelwise.beliefs.neural.gradients import (
    FIXED_INDICES,
    choose,
    curvature_times,
    slope_of,
    stationarity,
    trained_weights,
)
from labelwise.beliefs.neural.learning import Learning, TrainingProblem, learn
from labelwise.beliefs.neural.model import Model
from labelwise.beliefs.neural.registry import as_law
from tests.beliefs.neural.reference import (
    build,
    descend,
    draw,
    functions,
    key,
    linear_rows,
    linear_weights,
    plain,
    squared_slope,
    stirred,
    with_ones,
)
from tests.marks import but_slow

RNG = np.random.default_rng(110)
X, Y = RNG.normal(size=(7, 2)), RNG.normal(size=7)
AT = RNG.normal(size=(3, 2))
WEIGHT = np.array([1.0, 1.0, 1.0, 0.7, 0.2, 0.6, 0.4])
NEW = 4  # rows to differentiate in: the last
SHARE = np.linspace(0.5, 1.5, 3)
OWN = WEIGHT[-NEW:]


def lesson_of(network, labels="regression", y=Y, x=X, **learning) -> TrainingProblem:
    model = Model(network, as_law(labels))
    labelled = Labelled(*map(jnp.asarray, (x, y, WEIGHT)))
    return TrainingProblem.of(model, Learning(**learning), labelled, key(111))


def score(problem, weights, indices=None):
    """A number that depends on every function, and on how far they lie apart."""
    functions = problem.model.functions(weights, jnp.asarray(AT), indices)
    return jnp.asarray(SHARE) @ (functions.mean(axis=0) + 3.0 * functions.var(axis=0))


def total(own, problem, start, indices=None, run=None):
    """The score after learning, as a function of the last rows' weights."""
    weight = jnp.concatenate([problem.labelled.weight[: -own.shape[0]], own])
    problem = eqx.tree_at(lambda one: one.labelled.weight, problem, weight)
    found = run(problem, start) if run else trained_weights(problem, start, own.shape[0])
    return score(problem, found, indices)


value_and_slope = eqx.filter_jit(eqx.filter_value_and_grad(total))


@eqx.filter_jit
def values_at(own, problem, start, indices=None):
    """At many weights, by learning alone."""
    return jax.lax.map(lambda own: total(own, problem, start, indices, learn), own)


# Every exact way, on a smooth network.

SMOOTH = {"steps": 11, "learning_rate": 0.03, "decay": 0.5}


@pytest.fixture(scope="module")
def smooth():
    """A problem, how else it may be differentiated, and where it starts."""
    network = build("ensemble-plus", 1, hidden=(5,))
    lesson_by = lambda **how: lesson_of(network, **{**SMOOTH, **how})
    return lesson_by, stirred(network, seed=6)


@pytest.fixture(scope="module")
def plain_slope(smooth):
    """Back through all steps, each kept."""
    lesson_by, start = smooth
    return np.asarray(value_and_slope(OWN, lesson_by(), start, run=learn)[1])


@pytest.mark.parametrize(
    "how",
    [
        {"gradient": "unroll"},
        {"gradient": "forward"},
        {"gradient": "truncated", "last": 11},
        pytest.param({"gradient": "truncated", "last": 100}, marks=pytest.mark.slow),
    ],
    ids=lambda how: "-".join(map(str, how.values())),
)
def test_exact_ways_agree(smooth, plain_slope, how):
    lesson_by, start = smooth
    found = value_and_slope(OWN, lesson_by(**how), start)[1]
    assert_allclose(found, plain_slope, rtol=0, atol=1e-12)
    assert np.abs(plain_slope).min() > 1e-4


def test_a_tangent_carried_along_agrees(smooth, plain_slope):
    lesson_by, start = smooth
    found = eqx.filter_jit(jax.jacfwd(total))(OWN, lesson_by(gradient="unroll"), start)
    assert_allclose(found, plain_slope, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_blocks_of_steps_agree(smooth, plain_slope, monkeypatch):
    """Eleven steps are three blocks of three, and two left over."""
    monkeypatch.setattr(gradients, "FEW_NUMBERS", 1)
    lesson_by, start = smooth
    anew = eqx.filter_jit(eqx.filter_grad(lambda *given: total(*given)))
    found = anew(OWN, lesson_by(gradient="unroll"), start)
    assert_allclose(found, plain_slope, rtol=0, atol=1e-12)


def last_two_of_four(problem, start):
    """Steps of which the first two are constants."""
    still = jax.lax.stop_gradient(problem)
    progress = still.begin(start)
    for number in range(4):
        now = problem if number >= 2 else still
        progress = now.step(progress, number)
        progress = progress if number >= 2 else jax.lax.stop_gradient(progress)
    return problem.end(progress)


def test_short_gradients_count_the_last_steps_alone(smooth):
    """Those before are constants: their outcome is where the last steps begin."""
    lesson_by, start = smooth
    problem = lesson_by(gradient="truncated", steps=4, last=2)
    expected = value_and_slope(OWN, problem, start, run=last_two_of_four)[1]
    found = value_and_slope(OWN, problem, start)[1]
    assert_allclose(found, expected, rtol=0, atol=1e-12)


def differences(problem, start, step, indices=None):
    """Central differences along each weight, and the errors that rounding makes."""
    moves = np.concatenate([np.eye(NEW), -np.eye(NEW)])
    values = np.asarray(values_at(OWN[None] + step * moves, problem, start, indices))
    return (values[:NEW] - values[NEW:]) / (2 * step), 1e-14 * np.abs(values).max() / step


def test_gradients_agree_with_finite_differences_of_many_steps(smooth, plain_slope):
    """The error falls as h² until rounding, which grows as 1/h, meets it."""
    lesson_by, start = smooth
    sizes = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9]
    errors = []
    for step in sizes:
        found, rounding = differences(lesson_by(), start, step)
        errors.append(np.abs(found - plain_slope).max())
        assert errors[-1] <= 2.0 * errors[0] * (step / sizes[0]) ** 2 + rounding
    assert min(errors) < 1e-9  # the plateau
    assert 1e-6 < errors[0] < 1e-2  # the network is not linear in the weights


@pytest.mark.slow
def test_gradients_of_a_network_with_kinks_agree_at_a_tiny_step():
    network = build("ensemble-plus", 1, "relu", (5,))
    problem, start = lesson_of(network, **SMOOTH, gradient="unroll"), stirred(network, seed=6)
    slope = value_and_slope(OWN, problem, start)[1]
    found, rounding = differences(problem, start, 1e-8)
    assert_allclose(found, slope, rtol=0, atol=rounding + 1e-8)


@pytest.mark.parametrize("name", but_slow(["hypermodel", "epinet"], {"epinet"}))
def test_gradients_of_other_networks_agree_with_finite_differences(name):
    network = build(name, 1, hidden=(5,))
    start = stirred(network, seed=6)
    indices = draw(network, key(112), 4)
    problem = lesson_of(network, **SMOOTH, gradient="unroll", indices=2)
    slope = np.asarray(value_and_slope(OWN, problem, start, indices)[1])
    found, rounding = differences(problem, start, 1e-5, indices)
    assert_allclose(found, slope, rtol=0, atol=rounding + 1e-10)
    assert np.abs(slope).max() > 1e-3


# Closed forms.

START = RNG.normal(size=(2, 3))
SETTLED = {"steps": 400, "learning_rate": 0.2, "decay": 0.5, "optimiser": "sgd"}


def linear() -> Ensemble:
    return Ensemble(2, members=2, hidden=())


def test_linear_members_end_where_the_closed_form_says():
    """θ_T = θ* + (I - 2 r H)ᵀ (θ_0 - θ*), H = (Σ a x xᵀ + λ) / Σ a; and its slope in a."""
    ones, steps, rate, decay = with_ones(X), 9, 0.1, 0.5

    def end(weight):
        matrix = (ones.T * weight) @ ones + decay * np.eye(3)
        best = np.linalg.solve(matrix, ones.T @ (weight * Y))
        power = np.linalg.matrix_power(np.eye(3) - 2 * rate * matrix / weight.sum(), steps)
        return best + (START - best) @ power

    def expected(own):
        functions = end(np.concatenate([WEIGHT[:-NEW], own])) @ with_ones(AT).T
        return SHARE @ (functions.mean(axis=0) + 3.0 * functions.var(axis=0))

    walked = descend(lambda rows: squared_slope(rows, X, Y, WEIGHT, decay), START, steps, rate)
    assert_allclose(end(WEIGHT), walked[-1], rtol=1e-12)
    learning = {"steps": steps, "learning_rate": rate, "decay": decay, "optimiser": "sgd"}
    problem = lesson_of(linear(), **learning, gradient="unroll")
    value, slope = value_and_slope(OWN, problem, linear_weights(START))
    assert_allclose(value, expected(WEIGHT[-NEW:]), rtol=1e-12)
    # Differences in the complex plane lose nothing to rounding, but the powers here are real.
    step = 1e-5
    finite = [
        (expected(WEIGHT[-NEW:] + one) - expected(WEIGHT[-NEW:] - one)) / (2 * step)
        for one in step * np.eye(NEW)
    ]
    assert_allclose(slope, finite, rtol=1e-7, atol=1e-9)


def ridge(own):
    """Where ridge regression ends, and how that moves with the weights."""
    ones, weight = with_ones(X), np.concatenate([WEIGHT[:-NEW], own])
    matrix = (ones.T * weight) @ ones + 0.5 * np.eye(3)
    best = np.linalg.solve(matrix, ones.T @ (weight * Y))
    moves = np.linalg.solve(matrix, ones[-NEW:].T * (Y - ones @ best)[-NEW:])
    return best, moves


def test_implicit_gradients_of_ridge_regression_are_those_of_its_closed_form():
    """Conjugate gradients stop at 1e-5 of the slope."""
    best, moves = ridge(WEIGHT[-NEW:])
    at = with_ones(AT).T @ SHARE
    expected = at @ moves  # both members end at the same place: variances do not move
    for gradient, tolerance in (("implicit", 1e-4), ("unroll", 1e-10)):
        problem = lesson_of(linear(), **SETTLED, gradient=gradient, damping=0.0)
        value, slope = value_and_slope(OWN, problem, linear_weights(START))
        assert_allclose(value, at @ best, rtol=1e-10)
        assert_allclose(slope, expected, rtol=0, atol=tolerance * np.abs(expected).max())


BINARY = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])


@eqx.filter_jit
def left_of_the_slope(problem, start):
    return stationarity(problem, learn(problem, start))


@pytest.mark.slow
def test_implicit_gradients_of_logistic_regression_are_the_unrolled_ones():
    network = Ensemble(2, 2, members=2, hidden=())
    start = stirred(network, seed=7)
    learning = {"steps": 1500, "learning_rate": 0.5, "decay": 0.5, "optimiser": "sgd"}
    by = lambda gradient: lesson_of(
        network, "binary", BINARY, **learning, gradient=gradient, damping=0.0
    )
    implicit, unrolled = (
        np.asarray(value_and_slope(OWN, by(gradient), start)[1])
        for gradient in ("implicit", "unroll")
    )
    assert left_of_the_slope(by("unroll"), start) < 1e-10
    assert np.abs(unrolled).max() > 1e-2
    assert_allclose(implicit, unrolled, rtol=0, atol=1e-4 * np.abs(unrolled).max())


def test_damping_makes_implicit_gradients_shorter():
    ones, own = with_ones(X), WEIGHT[-NEW:]
    best, _ = ridge(own)
    matrix = (ones.T * WEIGHT) @ ones + 0.5 * np.eye(3) + 0.5 * 0.3 * WEIGHT.sum() * np.eye(3)
    moves = np.linalg.solve(matrix, ones[-NEW:].T * (Y - ones @ best)[-NEW:])
    problem = lesson_of(linear(), **SETTLED, gradient="implicit", damping=0.3)
    slope = value_and_slope(OWN, problem, linear_weights(START))[1]
    expected = with_ones(AT).T @ SHARE @ moves
    tolerance = 1e-4 * np.abs(expected).max()
    assert_allclose(slope, expected, rtol=0, atol=tolerance)


# Networks with a continuum of functions.


@eqx.filter_jit
def slope_and_curvature(problem, weights, vector):
    """What the stationarity condition is made of."""
    return slope_of(problem, weights), curvature_times(problem, weights, vector)


def along(one, other):
    """The inner product of two trees."""
    parts = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return sum(np.vdot(mine, yours) for mine, yours in parts)


def test_stationarity_is_that_of_all_rows_and_many_functions_however_few_a_step_sees():
    """Σ w (f - y)² / Σ w, a mean over indices: along one direction, with differences of f."""
    network = build("hypermodel", 1, hidden=(5,))
    weights, vector = stirred(network, seed=9), stirred(network, seed=10)
    problem = lesson_of(network, decay=0.5, damping=0.3, indices=1, batch=3)
    slope, bent = slope_and_curvature(problem, weights, vector)
    indices, step = draw(network, problem.key, FIXED_INDICES), 1e-6

    def at(move):
        moved = jax.tree.map(lambda one, way: one + move * way, plain(weights), plain(vector))
        return functions(network, moved, X, indices)[..., 0]

    rise = (at(step) - at(-step)) / (2 * step)
    mean = lambda values: values.mean(axis=0) @ WEIGHT / WEIGHT.sum()
    decay = 0.5 / WEIGHT.sum()
    expected = 2.0 * (mean((at(0.0) - Y) * rise) + decay * along(weights, vector))
    assert_allclose(along(slope, vector), expected, rtol=1e-7)
    expected = 2.0 * mean(rise**2) + (2.0 * decay + 0.3) * along(vector, vector)
    assert_allclose(along(bent, vector), expected, rtol=1e-7)


# Where derivatives might not exist.


def with_dead_unit(network):
    """First weights, of which those of one unit silence it for every row."""
    start = stirred(network, seed=8)
    dead = np.array(start.biases[0])
    dead[:, 1] = -1e3
    return eqx.tree_at(lambda one: one.biases[0], start, jnp.asarray(dead))


@pytest.mark.slow
def test_gradients_are_finite_where_units_are_dead_weights_zero_and_rows_repeated():
    """Without decay, so that the slopes of a dead unit are exactly zero."""
    network = Ensemble(2, members=2, hidden=(4,))
    x, y = X[[0, 1, 2, 3, 3, 3, 0]], Y[[0, 1, 2, 3, 3, 3, 0]]
    learning = {"steps": 6, "learning_rate": 0.1, "decay": 0.0, "clip": 1.0}
    problem = lesson_of(network, y=y, x=x, **learning, gradient="unroll")
    start = with_dead_unit(network)
    cases = np.array([[0.0] * 4, [1.0] * 4, [0.5] * 4, [1.0, 0.0, 0.0, 1.0]])
    found = np.array([value_and_slope(own, problem, start)[1] for own in cases])
    assert np.isfinite(found).all()
    assert (np.abs(found).max(axis=1) > 1e-6).all()
    # Rows that are alike, and weigh alike, move the outcome alike.
    for case in (0, 1, 2):
        assert_allclose(found[case, :3], np.full(3, found[case, 0]), rtol=1e-9)


@pytest.mark.slow
def test_gradients_are_finite_where_nothing_has_any_weight():
    """Not even the rows seen before; nor is there a slope to clip."""
    network = Ensemble(2, members=2, hidden=(4,))
    options = {"steps": 6, "decay": 0.0, "clip": 1.0, "gradient": "unroll"}
    start = stirred(network, seed=8)
    assert np.isfinite(
        value_and_slope(np.zeros(7), lesson_of(network, **options), start)[1]
    ).all()


# Through a belief.


@eqx.filter_jit
@eqx.filter_grad
def slope_through(own, belief):
    posterior = belief.condition(X[-NEW:], Y[-NEW:], own)
    mean, variance = posterior.mean(AT), posterior.variance(AT)
    return jnp.asarray(SHARE) @ (mean + 3.0 * variance)


@pytest.mark.parametrize("gradient", but_slow(["unroll", "forward"], {"forward"}))
def test_a_belief_is_differentiable_in_the_weights_of_new_rows(gradient):
    """With the rows conditioned on before as they are, even where learning begins anew."""
    learning = {"steps": 9, "learning_rate": 0.1, "decay": 0.5, "optimiser": "sgd"}
    belief = NeuralBelief(
        Model(linear(), as_law("regression")),
        Learning(**learning, gradient=gradient),
        key(111),
        precision="double",
        start=linear_weights(START),
    ).condition(X[:-NEW], Y[:-NEW], WEIGHT[:-NEW])
    problem = lesson_of(linear(), **learning)
    plain = value_and_slope(OWN, problem, linear_weights(START), run=learn)[1]
    assert_allclose(slope_through(OWN, belief), plain, rtol=0, atol=1e-12)


# What is chosen.


def test_the_way_is_chosen_from_sizes(monkeypatch):
    problem = lesson_of(linear(), steps=100)
    weights = linear_weights(START)
    assert choose(problem, weights, 3) == "unroll"
    # Six numbers and their moments, at ten blocks and in one of ten steps: 3 · 6 · 20.
    monkeypatch.setattr(gradients, "MOST_NUMBERS", 360)
    assert choose(problem, weights, 19) == "unroll"
    # A tangent of each for every row instead: 3 · 6 · 19.
    monkeypatch.setattr(gradients, "MOST_NUMBERS", 359)
    assert choose(problem, weights, 19) == "forward"
    assert choose(problem, weights, 20) == "truncated"
    asked = replace(problem.learning, gradient="implicit")
    problem = eqx.tree_at(lambda one: one.learning, problem, asked)
    assert choose(problem, weights, 3) == "implicit"


def test_stationarity_is_the_length_of_the_slope_beside_that_of_the_weights():
    problem = lesson_of(linear(), decay=0.5)
    slope = squared_slope(START, X, Y, WEIGHT, 0.5)
    expected = np.sqrt((slope**2).sum() / (START**2).sum())
    found = eqx.filter_jit(stationarity)(problem, linear_weights(START))
    assert_allclose(found, expected, rtol=1e-12)
    assert linear_rows(linear_weights(START)).shape == (2, 3)
