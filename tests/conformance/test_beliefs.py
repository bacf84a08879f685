"""What every belief must do, whatever its method."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.neural.belief import PANEL, NeuralBelief
from labelwise.errors import InvalidInput
from tests.conformance.cases import BELIEFS, NEURAL, absurd_labels_for, labels_for, rows

X, AT = rows(0, 6), rows(2, 4)
DRAWS = 4000


@pytest.fixture(params=BELIEFS | NEURAL, ids=str)
def belief(request):
    return (BELIEFS | NEURAL)[request.param]


@pytest.fixture(params=BELIEFS, ids=str)
def process(request):
    """One that follows Bayes' rule to the letter; networks do so only roughly."""
    return BELIEFS[request.param]


@pytest.fixture
def y(belief):
    return labels_for(belief, 1, 6)


@eqx.filter_jit
def moments(belief):
    return belief.mean(AT), belief.covariance(AT)


@eqx.filter_jit
def draw(belief, key, x, draws):
    return belief.sample(key, x, draws)


def assert_same_belief(one, other, tolerance=1e-9):
    for mine, yours in zip(moments(one), moments(other), strict=True):
        assert_allclose(mine, yours, atol=tolerance)


def test_weight_one_means_seen(belief, y):
    assert_same_belief(belief.condition(X, y, jnp.ones(6)), belief.condition(X, y))


def test_weight_zero_means_absent(belief, y):
    weight = jnp.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    seen = np.flatnonzero(weight)
    absent_labels = jnp.where(weight > 0, y, absurd_labels_for(belief, 1, 6))
    assert_same_belief(
        belief.condition(X, absent_labels, weight), belief.condition(X[seen], y[seen])
    )


def test_two_batches_equal_one(belief, y):
    in_turn = belief.condition(X[:2], y[:2]).condition(X[2:], y[2:])
    assert_same_belief(in_turn, belief.condition(X, y))


def test_the_order_of_rows_does_not_matter(belief, y):
    order = np.array([3, 0, 5, 1, 4, 2])
    assert_same_belief(belief.condition(X[order], y[order]), belief.condition(X, y))


def test_conditioning_leaves_the_belief_it_started_from(belief, y):
    before = moments(belief)
    belief.condition(X, y)
    for mine, yours in zip(before, moments(belief), strict=True):
        assert_allclose(mine, yours, rtol=0)


# Under a mixture a surprising label may speak for components that vary more.
@pytest.mark.parametrize("name", [name for name in BELIEFS if "mixture" not in name])
def test_labels_never_raise_the_variance(name):
    belief = BELIEFS[name]
    y = labels_for(belief, 1, 6)
    assert (belief.condition(X, y).variance(AT) <= belief.variance(AT) + 1e-12).all()


def test_a_repeated_label_sharpens_but_does_not_move_past_it(process):
    y = labels_for(process, 1, 6)
    once = process.condition(X[:1], y[:1])
    twice = once.condition(X[:1], y[:1])
    assert twice.variance(X[:1])[0] < once.variance(X[:1])[0]
    expected = lambda belief: belief.outcome(X[:1])[0][0]
    assert abs(expected(twice) - y[0]) < abs(expected(once) - y[0])


def test_draws_have_the_stated_mean_and_covariance(belief, y, getkey):
    posterior = belief.condition(X, y)
    draws = draw(posterior, getkey(), AT, DRAWS)
    mean, covariance = moments(posterior)
    away = draws - draws.mean(axis=0)[None, :]
    products = away[:, :, None] * away[:, None, :]
    error = 5 * np.sqrt(share_of(posterior))
    assert (jnp.abs(draws.mean(axis=0) - mean) <= error * draws.std(axis=0) + 1e-12).all()
    distance = jnp.abs(products.mean(axis=0) - covariance)
    assert (distance <= error * products.std(axis=0) + 1e-12).all()


def share_of(belief):
    """Variance of a mean over draws, for each unit of theirs, and of the stated mean."""
    continuum = isinstance(belief, NeuralBelief) and belief.network.size is None
    return 1.0 / DRAWS + (1.0 / PANEL if continuum else 0.0)


def test_one_draw_is_one_function_wherever_it_is_evaluated(belief, y, getkey):
    doubled = jnp.concatenate([AT, AT])
    draws = draw(belief.condition(X, y), getkey(), doubled, 5)
    # Equal rows get equal values up to the jitter of the factor, √1e-8 of the spread at most.
    assert_allclose(draws[:, :4], draws[:, 4:], atol=1e-3)


def test_labels_have_the_mean_and_variance_that_their_law_says(belief, y, getkey):
    posterior = belief.condition(X, y)
    labels = eqx.filter_jit(type(posterior).sample_labels)(posterior, getkey(), AT, DRAWS)
    noise = posterior.labels.variance(draw(posterior, getkey(), AT, DRAWS))
    mean, spread = posterior.outcome(AT)
    squares = (labels - labels.mean(axis=0)[None, :]) ** 2
    error = 5 * labels.std(axis=0) * np.sqrt(share_of(posterior))
    assert (jnp.abs(labels.mean(axis=0) - mean) < error).all()
    error = 5 * (squares.std(axis=0) + noise.std(axis=0)) * np.sqrt(share_of(posterior))
    assert (jnp.abs(squares.mean(axis=0) - spread - noise.mean(axis=0)) < error).all()


def test_labels_are_of_the_kind_that_the_belief_is_about(belief, getkey):
    labels = np.unique(eqx.filter_jit(type(belief).sample_labels)(belief, getkey(), AT, 50))
    support = belief.labels.support
    assert labels.size == 200 if support is None else set(labels) == set(support)


def test_the_same_key_gives_the_same_draw(belief, getkey):
    key = getkey()
    assert (belief.sample(key, AT, 3) == belief.sample(key, AT, 3)).all()


def test_conditioning_is_differentiable_in_the_weights(belief, y):
    @jax.jit
    def total(weight):
        posterior = belief.condition(X, y, weight)
        return posterior.mean(AT).sum() + posterior.covariance(AT).sum()

    weight = jnp.array([0.0, 0.2, 0.5, 0.8, 0.35, 0.9])
    slope = jax.jit(jax.grad(total))(weight)
    step = 1e-6
    up = [weight + step * one for one in jnp.eye(6)]
    down = [jnp.maximum(weight - step * one, 0.0) for one in jnp.eye(6)]
    rise = np.array([total(a) - total(b) for a, b in zip(up, down, strict=True)])
    run = np.array([(a - b).sum() for a, b in zip(up, down, strict=True)])
    # One-sided at the edge, where the error is the step times the curvature, here below 100.
    assert_allclose(slope, rise / run, rtol=1e-4, atol=1e-4)


def test_gradients_are_finite_when_every_weight_is_zero(belief, y):
    total = lambda weight: belief.condition(X, y, weight).covariance(AT).sum()
    assert jnp.isfinite(jax.jit(jax.grad(total))(jnp.zeros(6))).all()


def test_it_compiles_to_the_same_numbers(belief, y):
    compiled = jax.jit(lambda x, y: moments(belief.condition(x, y)))
    for mine, yours in zip(compiled(X, y), moments(belief.condition(X, y)), strict=True):
        assert_allclose(mine, yours, atol=1e-11)


@pytest.mark.parametrize(
    ("x", "change", "weight", "message"),
    [
        (X.at[2, 0].set(jnp.nan), lambda y: y, None, "x is NaN or infinite in row 2"),
        (
            X,
            lambda y: y.at[jnp.array([1, 4])].set(jnp.inf),
            None,
            "y is NaN or infinite in rows 1, 4",
        ),
        (X, lambda y: y[:4], None, "y has 4 values but x has 6 rows"),
        (X[0], lambda y: y, None, "x must have two axes"),
        (X, lambda y: y, jnp.full(6, 1.5), "weight must lie between 0 and 1"),
    ],
)
def test_bad_labels_are_refused_in_one_sentence(belief, y, x, change, weight, message):
    with pytest.raises(InvalidInput, match=message):
        belief.condition(x, change(y), weight)
