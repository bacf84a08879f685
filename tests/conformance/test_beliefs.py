"""What every belief must do, whatever its method.

A belief compiles `learn`, `learn_twice`, `draw` and `slopes` once each; the tests share these
programs.
"""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.neural.belief import PANEL, NeuralBelief
from tests.conformance.cases import (
    BELIEFS,
    NEURAL,
    absurd_labels_for,
    labels_for,
    rows,
)
from tests.marks import but_slow

X, AT = np.asarray(rows(0, 6)), np.asarray(rows(2, 4))
TWICE = np.concatenate([AT, AT])  # every row again: a draw must say the same of both
DRAWS = 4000
SEEN = np.ones(6)
EVERY = BELIEFS | NEURAL
SINGLE = [name for name in BELIEFS if "mixture" not in name]
# One of each class; the others differ in kernels, links and networks, which have tests of their
# own.
FIRST = {"gp-matern52", "classifier-logit", "mixture-gp", "ensemble-plus", "last-layer"}


@pytest.fixture(params=but_slow(EVERY, EVERY.keys() - FIRST))
def name(request):
    return request.param


@pytest.fixture
def belief(name):
    return EVERY[name]


@pytest.fixture
def y(belief):
    return np.asarray(labels_for(belief, 1, 6))


def moments(belief, at=AT):
    """Mean, covariance and variance at some rows."""
    return belief.mean(at), belief.covariance(at), belief.variance(at)


@eqx.filter_jit
def _learn(belief, x, y, weight):
    return moments(belief.condition(x, y, weight)), belief.variance(AT)


def learn(belief, x, y, weight):
    """The moments once labels are known in the share of their weights."""
    return _learn(belief, *map(jax.device_put, (x, y, weight)))[0]


@eqx.filter_jit
def _learn_twice(belief, x, y, weight, at):
    once = belief.condition(x[0], y[0], weight[0])
    twice = once.condition(x[1], y[1], weight[1])
    of = lambda belief: (moments(belief, at), belief.outcome(at))
    return of(once), of(twice)


def learn_twice(belief, x, y, weight, at=AT):
    """Moments and expected labels after three rows, and after three more."""
    parts = [np.stack(np.split(array, 2)) for array in (x, y, weight)]
    found = _learn_twice(belief, *map(jax.device_put, (*parts, at)))
    return jax.tree.map(np.asarray, found)


@cache
def posterior(name):
    """As users call it: eagerly, on rows that are checked."""
    belief = EVERY[name]
    return belief.condition(X, labels_for(belief, 1, 6))


@cache
def drawn(name):
    return jax.tree.map(np.asarray, _draw(jax.random.key(3), posterior(name)))


@eqx.filter_jit
def _draw(key, posterior):
    """Functions and labels, the noise of labels, and what is stated of all."""
    function_key, label_key = jax.random.split(key)
    functions = posterior.sample(function_key, jnp.asarray(TWICE), DRAWS)
    labels = posterior.sample_labels(label_key, jnp.asarray(AT), DRAWS)
    noise = posterior.likelihood.variance(functions[:, : AT.shape[0]])
    return functions, labels, noise, moments(posterior), posterior.outcome(AT)


@eqx.filter_jit
def slopes(belief, y, weights):
    """Sums of moments given weighted labels, and their slopes, for each line of weights."""

    def total(weight):
        posterior = belief.condition(X, y, weight)
        return posterior.mean(AT).sum() + posterior.covariance(AT).sum()

    return jax.vmap(jax.value_and_grad(total))(weights)


def assert_same(mine, yours, tolerance=1e-9):
    for one, other in zip(mine, yours, strict=True):
        assert_allclose(one, other, atol=tolerance)


def test_weight_one_means_seen(name, belief, y):
    assert_same(learn(belief, X, y, SEEN), drawn(name)[3])


def test_weight_zero_means_absent(belief, y):
    weight = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    order = np.argsort(-weight)  # those that are seen come first
    absent = np.where(weight > 0, y, absurd_labels_for(belief, 1, 6))
    few = learn_twice(belief, X[order], y[order], SEEN)[0][0]
    assert_same(learn(belief, X, absent, weight), few)


def test_two_batches_equal_one(belief, y):
    in_turn = learn_twice(belief, X, y, SEEN)[1][0]
    assert_same(in_turn, learn(belief, X, y, SEEN))


def test_the_order_of_rows_does_not_matter(belief, y):
    order = np.array([3, 0, 5, 1, 4, 2])
    assert_same(learn(belief, X[order], y[order], SEEN), learn(belief, X, y, SEEN))


def test_conditioning_leaves_the_belief_it_started_from(belief, y):
    before = arrays_of(belief)
    belief.condition(X, y)
    for mine, yours in zip(before, arrays_of(belief), strict=True):
        assert (mine == yours).all()


def arrays_of(belief):
    """Copies of all numbers in it; keys are none."""
    leaves = jax.tree.leaves(eqx.filter(belief, eqx.is_inexact_array))
    return [np.array(leaf) for leaf in leaves]


# Under a mixture a surprising label may speak for components that vary more.
@pytest.mark.parametrize("name", but_slow(SINGLE, BELIEFS.keys() - FIRST))
def test_labels_never_raise_the_variance(belief, y):
    after, before = _learn(belief, *map(jax.device_put, (X, y, SEEN)))
    assert (np.asarray(after[2]) <= np.asarray(before) + 1e-12).all()


# Networks follow Bayes' rule only roughly.
@pytest.mark.parametrize("name", but_slow(BELIEFS, BELIEFS.keys() - FIRST))
def test_a_repeated_label_sharpens_but_does_not_move_past_it(belief, y):
    """A row's label comes once, and again; the other rows of each batch are absent."""
    weight = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    of_row = lambda count: np.tile(X[:1], (count, 1))
    once, twice = learn_twice(belief, of_row(6), np.full(6, y[0]), weight, of_row(len(AT)))
    assert twice[0][2][0] < once[0][2][0]
    assert abs(twice[1][0][0] - y[0]) < abs(once[1][0][0] - y[0])


def test_draws_are_functions_and_labels_of_the_stated_law(name, belief):
    functions, labels, noise, stated, outcome = drawn(name)
    share = share_of(belief)
    # Equal rows get equal values up to the jitter of the factor, √1e-8 of the spread at most.
    assert_allclose(functions[:5, :4], functions[:5, 4:], atol=1e-3)
    check_functions(functions[:, :4], *stated[:2], share)
    check_labels(labels, noise, *outcome, share)
    support = belief.likelihood.support
    values = np.unique(labels)
    assert values.size == labels.size if support is None else set(values) == set(support)


def check_functions(draws, mean, covariance, share):
    away = draws - draws.mean(axis=0)
    products = away[:, :, None] * away[:, None, :]
    error = 5 * np.sqrt(share)
    assert (np.abs(draws.mean(axis=0) - mean) <= error * draws.std(axis=0) + 1e-12).all()
    distance = np.abs(products.mean(axis=0) - covariance)
    assert (distance <= error * products.std(axis=0) + 1e-12).all()


def check_labels(labels, noise, mean, spread, share):
    """Their variance is that of the outcome and, on average, that of a label given it."""
    squares = (labels - labels.mean(axis=0)) ** 2
    error = 5 * labels.std(axis=0) * np.sqrt(share)
    assert (np.abs(labels.mean(axis=0) - mean) < error).all()
    error = 5 * (squares.std(axis=0) + noise.std(axis=0)) * np.sqrt(share)
    assert (np.abs(squares.mean(axis=0) - spread - noise.mean(axis=0)) < error).all()


def share_of(belief):
    """Variance of a mean over draws, for each unit of theirs, and of the stated mean."""
    continuum = isinstance(belief, NeuralBelief) and belief.network.size is None
    return 1.0 / DRAWS + (1.0 / PANEL if continuum else 0.0)


def test_the_same_key_gives_the_same_draw(belief, getkey):
    key = getkey()
    once, again = (np.asarray(belief.sample(key, AT, 3)) for _ in range(2))
    assert (once == again).all()


def test_conditioning_is_differentiable_in_the_weights(belief, y):
    weight, step = np.array([0.0, 0.2, 0.5, 0.8, 0.35, 0.9]), 1e-6
    up, down = weight + step * np.eye(6), np.maximum(weight - step * np.eye(6), 0.0)
    lines = np.concatenate([up, down, [weight, 0 * weight]])
    values, found = map(np.asarray, slopes(belief, *map(jax.device_put, (y, lines))))
    rise = (values[:6] - values[6:12]) / (up - down).sum(axis=1)
    # One-sided at the edge, where the error is the step times the curvature, here below 100.
    assert_allclose(found[-2], rise, rtol=1e-4, atol=1e-4)
    assert np.isfinite(found[-1]).all()
