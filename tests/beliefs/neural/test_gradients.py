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
from labelwise.beliefs.neural.gradients import choose, stationarity, taught
from labelwise.beliefs.neural.learning import Learning, Lesson, learn
from labelwise.beliefs.neural.model import Model
from labelwise.beliefs.neural.registry import as_law
from tests.beliefs.neural.reference import (
    build,
    descend,
    linear_rows,
    linear_weights,
    squared_slope,
    stirred,
    with_ones,
)

RNG = np.random.default_rng(110)
X, Y = RNG.normal(size=(7, 2)), RNG.normal(size=7)
AT = RNG.normal(size=(3, 2))
WEIGHT = np.array([1.0, 1.0, 1.0, 0.7, 0.2, 0.6, 0.4])
NEW = 4  # rows to differentiate in: the last
SHARE = np.linspace(0.5, 1.5, 3)
KEY = jax.random.key(111)


def lesson_of(network, weight, labels="regression", y=Y, x=X, **learning) -> Lesson:
    model = Model(network, as_law(labels))
    labelled = Labelled(*map(jnp.asarray, (x, y, weight)))
    return Lesson.of(model, Learning(**learning), labelled, KEY)


def score(lesson, weights):
    """A number that depends on every member, and on how far they lie apart."""
    functions = lesson.model.functions(weights, jnp.asarray(AT))
    return jnp.asarray(SHARE) @ (functions.mean(axis=0) + 3.0 * functions.var(axis=0))


def total(network, start, learning, labels="regression", y=Y, run=None, x=X):
    """The score after learning, as a function of the new rows' weights."""

    def of(own):
        weight = jnp.concatenate([jnp.asarray(WEIGHT[: len(x) - NEW]), own])
        lesson = lesson_of(network, weight, labels, y, x, **learning)
        found = taught(lesson, start, NEW) if run is None else run(lesson, start)
        return score(lesson, found)

    return of


# Every exact way, on a smooth network.

SMOOTH = {"steps": 11, "learning_rate": 0.03, "decay": 0.5}
OWN = jnp.asarray(WEIGHT[-NEW:])


@pytest.fixture(scope="module")
def smooth():
    network = build("ensemble-plus", 1, hidden=(5,))
    return network, stirred(network, seed=6)


@pytest.fixture(scope="module")
def plain_slope(smooth):
    """Back through all steps, each kept."""
    return jax.jit(jax.grad(total(*smooth, SMOOTH, run=learn)))(OWN)


@pytest.mark.parametrize(
    "how",
    [
        {"gradient": "unroll"},
        {"gradient": "forward"},
        {"gradient": "truncated", "last": 11},
        {"gradient": "truncated", "last": 100},
    ],
    ids=lambda how: "-".join(map(str, how.values())),
)
def test_exact_ways_agree(smooth, plain_slope, how):
    found = jax.jit(jax.grad(total(*smooth, {**SMOOTH, **how})))(OWN)
    assert_allclose(found, plain_slope, rtol=0, atol=1e-12)
    assert np.abs(plain_slope).min() > 1e-4


def test_a_tangent_carried_along_agrees(smooth, plain_slope):
    of = total(*smooth, {**SMOOTH, "gradient": "unroll"})
    assert_allclose(jax.jit(jax.jacfwd(of))(OWN), plain_slope, rtol=0, atol=1e-12)


def test_blocks_of_steps_agree(smooth, plain_slope, monkeypatch):
    """Eleven steps are three blocks of three, and two left over."""
    monkeypatch.setattr(gradients, "FEW_NUMBERS", 1)
    of = total(*smooth, {**SMOOTH, "gradient": "unroll"})
    assert_allclose(jax.jit(jax.grad(of))(OWN), plain_slope, rtol=0, atol=1e-12)


def test_short_gradients_count_the_last_steps_alone(smooth):
    """Those before are constants: their outcome is where the last steps begin."""
    network, start = smooth
    short = total(network, start, {**SMOOTH, "gradient": "truncated", "steps": 4, "last": 2})

    def run(lesson, start):
        still = jax.lax.stop_gradient(lesson)
        progress = still.begin(start)
        for number in range(4):
            now = lesson if number >= 2 else still
            progress = now.step(progress, number)
            progress = progress if number >= 2 else jax.lax.stop_gradient(progress)
        return lesson.end(progress)

    expected = total(network, start, {**SMOOTH, "steps": 4}, run=run)
    found, other = jax.jit(lambda own: (jax.grad(short)(own), jax.grad(expected)(own)))(OWN)
    assert_allclose(found, other, rtol=0, atol=1e-12)


def differences(of, step):
    """Central differences along each weight, and the errors that rounding makes."""
    moves = jnp.concatenate([jnp.eye(NEW), -jnp.eye(NEW)])
    values = np.asarray(of(OWN[None] + step * moves))
    return (values[:NEW] - values[NEW:]) / (2 * step), 1e-14 * np.abs(values).max() / step


def slope_and_differences(of, step):
    """The same beside the gradient, from one compiled function."""
    both = jax.jit(jax.vmap(jax.value_and_grad(of)))
    return both(jnp.repeat(OWN[None], 2 * NEW, axis=0))[1][0], *differences(
        lambda own: both(own)[0], step
    )


def test_gradients_agree_with_finite_differences_of_many_steps(smooth, plain_slope):
    """The error falls as h² until rounding, which grows as 1/h, meets it."""
    of = jax.jit(jax.vmap(total(*smooth, SMOOTH, run=learn)))
    sizes = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9]
    errors = []
    for step in sizes:
        found, rounding = differences(of, step)
        errors.append(np.abs(found - plain_slope).max())
        assert errors[-1] <= 2.0 * errors[0] * (step / sizes[0]) ** 2 + rounding
    assert min(errors) < 1e-9  # the plateau
    assert 1e-6 < errors[0] < 1e-2  # the network is not linear in the weights


def test_gradients_of_a_network_with_kinks_agree_at_a_tiny_step():
    network = build("ensemble-plus", 1, "relu", (5,))
    start = stirred(network, seed=6)
    of = total(network, start, {**SMOOTH, "gradient": "unroll"})
    slope, found, rounding = slope_and_differences(of, 1e-8)
    assert_allclose(found, slope, rtol=0, atol=rounding + 1e-8)


@pytest.mark.parametrize("name", ["hypermodel", "epinet"])
def test_gradients_of_other_networks_agree_with_finite_differences(name):
    network = build(name, 1, hidden=(5,))
    start = stirred(network, seed=6)
    indices = network.draw(jax.random.key(112), 4)

    def of(own):
        weight = jnp.concatenate([jnp.asarray(WEIGHT[:-NEW]), own])
        lesson = lesson_of(network, weight, **SMOOTH, gradient="unroll", indices=2)
        functions = lesson.model.functions(taught(lesson, start, NEW), jnp.asarray(AT), indices)
        return jnp.asarray(SHARE) @ functions.mean(axis=0)

    slope, found, rounding = slope_and_differences(of, 1e-5)
    assert_allclose(found, slope, rtol=0, atol=rounding + 1e-10)
    assert np.abs(slope).max() > 1e-3


# Closed forms.

START = RNG.normal(size=(2, 3))
LINEAR = Ensemble(2, members=2, hidden=())


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
    of = total(LINEAR, linear_weights(START), {**learning, "gradient": "unroll"})
    value, slope = jax.jit(jax.value_and_grad(of))(OWN)
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
    learning = {"steps": 400, "learning_rate": 0.2, "decay": 0.5, "optimiser": "sgd"}
    best, moves = ridge(WEIGHT[-NEW:])
    at = with_ones(AT).T @ SHARE
    expected = at @ moves  # both members end at the same place: variances do not move
    for gradient, tolerance in (("implicit", 1e-4), ("unroll", 1e-10)):
        more = {"gradient": gradient, "damping": 0.0}
        of = total(LINEAR, linear_weights(START), {**learning, **more})
        value, slope = jax.jit(jax.value_and_grad(of))(OWN)
        assert_allclose(value, at @ best, rtol=1e-10)
        assert_allclose(slope, expected, rtol=0, atol=tolerance * np.abs(expected).max())


BINARY = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])


def test_implicit_gradients_of_logistic_regression_are_the_unrolled_ones():
    network = Ensemble(2, 2, members=2, hidden=())
    start = stirred(network, seed=7)
    learning = {"steps": 1500, "learning_rate": 0.5, "decay": 0.5, "optimiser": "sgd"}

    @jax.jit
    def both(own):
        ways = []
        for gradient in ("implicit", "unroll"):
            more = {**learning, "gradient": gradient, "damping": 0.0}
            ways.append(jax.grad(total(network, start, more, "binary", BINARY))(own))
        lesson = lesson_of(network, WEIGHT, "binary", BINARY, **learning)
        return *ways, stationarity(lesson, learn(lesson, start))

    implicit, unrolled, left = both(OWN)
    assert left < 1e-10
    assert np.abs(unrolled).max() > 1e-2
    assert_allclose(implicit, unrolled, rtol=0, atol=1e-4 * np.abs(unrolled).max())


def test_damping_makes_implicit_gradients_shorter():
    learning = {"steps": 400, "learning_rate": 0.2, "decay": 0.5, "optimiser": "sgd"}
    ones, own = with_ones(X), WEIGHT[-NEW:]
    best, _ = ridge(own)
    matrix = (ones.T * WEIGHT) @ ones + 0.5 * np.eye(3) + 0.5 * 0.3 * WEIGHT.sum() * np.eye(3)
    moves = np.linalg.solve(matrix, ones[-NEW:].T * (Y - ones @ best)[-NEW:])
    more = {"gradient": "implicit", "damping": 0.3}
    of = total(LINEAR, linear_weights(START), {**learning, **more})
    expected = with_ones(AT).T @ SHARE @ moves
    tolerance = 1e-4 * np.abs(expected).max()
    assert_allclose(jax.jit(jax.grad(of))(OWN), expected, rtol=0, atol=tolerance)


# Where derivatives might not exist.


def test_gradients_are_finite_where_units_are_dead_weights_zero_and_rows_repeated():
    """Without decay, so that the slopes of a dead unit are exactly zero."""
    network = Ensemble(2, members=2, hidden=(4,))
    start = stirred(network, seed=8)
    dead = lambda bias: bias.at[:, 1].set(-1e3)
    start = eqx.tree_at(lambda one: one.biases[0], start, replace_fn=dead)
    x, y = X[[0, 1, 2, 3, 3, 3, 0]], Y[[0, 1, 2, 3, 3, 3, 0]]
    learning = {"steps": 6, "learning_rate": 0.1, "decay": 0.0, "clip": 1.0}
    slopes = jax.jit(
        jax.vmap(jax.grad(total(network, start, {**learning, "gradient": "unroll"}, x=x, y=y)))
    )
    cases = jnp.array([[0.0] * 4, [1.0] * 4, [0.5] * 4, [1.0, 0.0, 0.0, 1.0]])
    found = np.asarray(slopes(cases))
    assert np.isfinite(found).all()
    assert (np.abs(found).max(axis=1) > 1e-6).all()
    # Rows that are alike, and weigh alike, move the outcome alike.
    for case in (0, 1, 2):
        assert_allclose(found[case, :3], np.full(3, found[case, 0]), rtol=1e-9)


def test_gradients_are_finite_where_nothing_has_any_weight():
    """Not even the rows seen before; nor is there a slope to clip."""
    network = Ensemble(2, members=2, hidden=(4,))
    start = stirred(network, seed=8)

    def of(weight):
        options = {"steps": 6, "decay": 0.0, "clip": 1.0, "gradient": "unroll"}
        lesson = lesson_of(network, weight, **options)
        return score(lesson, taught(lesson, start, 7))

    assert np.isfinite(jax.jit(jax.grad(of))(jnp.zeros(7))).all()


# Through a belief.


def test_a_belief_is_differentiable_in_the_weights_of_new_rows():
    """With the rows conditioned on before as they are, even where learning begins anew."""
    learning = {"steps": 9, "learning_rate": 0.1, "decay": 0.5, "optimiser": "sgd"}
    found = {}
    for gradient in ("unroll", "forward"):
        belief = NeuralBelief(
            Model(LINEAR, as_law("regression")),
            Learning(**learning, gradient=gradient),
            KEY,
            precision="double",
            start=linear_weights(START),
        ).condition(X[:-NEW], Y[:-NEW], WEIGHT[:-NEW])

        @jax.jit
        @jax.grad
        def slope(own, belief=belief):
            posterior = belief.condition(X[-NEW:], Y[-NEW:], own)
            mean, variance = posterior.mean(AT), posterior.variance(AT)
            return jnp.asarray(SHARE) @ (mean + 3.0 * variance)

        found[gradient] = slope(OWN)
    expected = total(LINEAR, linear_weights(START), learning, run=learn)
    plain = jax.jit(jax.grad(expected))(OWN)
    assert_allclose(found["unroll"], plain, rtol=0, atol=1e-12)
    assert_allclose(found["forward"], plain, rtol=0, atol=1e-12)


# What is chosen.


def test_the_way_is_chosen_from_sizes(monkeypatch):
    lesson = lesson_of(LINEAR, WEIGHT, steps=100)
    weights = linear_weights(START)
    assert choose(lesson, weights, 3) == "unroll"
    # Six numbers and their moments, at ten blocks and in one of ten steps: 3 · 6 · 20.
    monkeypatch.setattr(gradients, "MOST_NUMBERS", 360)
    assert choose(lesson, weights, 19) == "unroll"
    # A tangent of each for every row instead: 3 · 6 · 19.
    monkeypatch.setattr(gradients, "MOST_NUMBERS", 359)
    assert choose(lesson, weights, 19) == "forward"
    assert choose(lesson, weights, 20) == "truncated"
    asked = replace(lesson.learning, gradient="implicit")
    lesson = eqx.tree_at(lambda one: one.learning, lesson, asked)
    assert choose(lesson, weights, 3) == "implicit"


def test_stationarity_is_the_length_of_the_slope_beside_that_of_the_weights():
    lesson = lesson_of(LINEAR, WEIGHT, decay=0.5)
    slope = squared_slope(START, X, Y, WEIGHT, 0.5)
    expected = np.sqrt((slope**2).sum() / (START**2).sum())
    assert_allclose(stationarity(lesson, linear_weights(START)), expected, rtol=1e-12)
    assert linear_rows(linear_weights(START)).shape == (2, 3)
