"""Weights that make functions see rows differently: their laws, and that they stay the same."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from labelwise.beliefs.neural.bootstrap import Resampling, check_bootstrap, mark_rows
from labelwise.beliefs.neural.ensemble import Ensemble
from labelwise.beliefs.neural.learning import Learning
from labelwise.errors import InvalidInput
from tests.beliefs.neural.reference import build, draw, key

ROWS, MEMBERS = 2000, 10
X = np.random.default_rng(82).normal(size=(ROWS, 2))
LAWS = ("bernoulli", "exponential", "poisson", "uniform")


@eqx.filter_jit
def seen(network, kind, x, noise=0.7, indices=None):
    """Weights and shifts, a line for each index."""
    return Resampling.of(key(80), network, kind, noise, x).at(indices)


@functools.cache
def drawn(name):
    """Many indices."""
    return np.asarray(draw(build(name), key(81), 3000))


def many(kind):
    network = Ensemble(2, members=MEMBERS, hidden=())
    return [np.asarray(part) for part in seen(network, kind, X)]


def assert_share(hits, expected):
    error = 5 * np.sqrt(expected * (1 - expected) / hits.size)
    assert abs(hits.mean() - expected) < error


# Laws.


@pytest.mark.parametrize(
    ("kind", "variance"),
    [("bernoulli", 1.0), ("exponential", 1.0), ("poisson", 1.0), ("uniform", 1.0 / 3.0)],
)
def test_weights_of_members_follow_their_law(kind, variance):
    weight, shift = many(kind)
    count = weight.size
    assert weight.shape == (MEMBERS, ROWS)
    assert abs(weight.mean() - 1.0) < 5 * np.sqrt(variance / count)
    squares = (weight - 1.0) ** 2
    assert abs(squares.mean() - variance) < 5 * squares.std() / np.sqrt(count) + 1e-12
    shares = {
        "bernoulli": {0.0: 0.5, 1.9: 0.5},  # shares of weights up to a number
        "exponential": {0.5: 1 - np.exp(-0.5), 2.0: 1 - np.exp(-2.0)},
        "poisson": {0.0: np.exp(-1), 1.0: 2 * np.exp(-1), 1.9: 2 * np.exp(-1)},
        "uniform": {0.5: 0.25, 1.5: 0.75},
    }[kind]
    for most, share in shares.items():
        assert_share(weight <= most, share)
    # Shifts are standard normals times the noise, whatever the weights are.
    assert abs(shift.std() - 0.7) < 5 * 0.7 / np.sqrt(2 * count)
    assert_share(shift < 0.7, 0.8413447)
    for one, other in ((weight, shift), (weight, shift**2)):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 5 / np.sqrt(count)
    # Members, and rows, are independent of each other.
    between = np.corrcoef(weight)[np.triu_indices(MEMBERS, 1)]
    assert (np.abs(between) < 5 / np.sqrt(ROWS)).all()
    assert abs(np.corrcoef(weight[:, :-1].ravel(), weight[:, 1:].ravel())[0, 1]) < 0.036


def test_a_gaussian_index_gives_weights_of_mean_one():
    """Over indices; an index and its mirror see rows with opposite signs."""
    network, count = build("epinet"), 3000
    x, indices = X[:40], drawn("epinet")
    weight, _ = map(np.asarray, seen(network, "bernoulli", x, 0.7, indices))
    mirrored, _ = map(np.asarray, seen(network, "bernoulli", x, 0.7, -indices))
    assert set(np.unique(weight)) == {0.0, 2.0}
    assert_allclose(weight + mirrored, np.full((count, 40), 2.0))
    assert (np.abs(weight.mean(axis=0) - 1.0) < 5 / np.sqrt(count)).all()


@pytest.mark.parametrize(("name", "dimensions"), [("hypermodel", 5), ("epinet", 3)])
def test_gaussian_indices_give_weights_near_the_exponential_law(name, dimensions):
    """½ (bᵀz)² + ½ (cᵀz)² over D, with b, c and z standard normal: mean 1, variance 1 + 4/D."""
    network, count = build(name), 1600
    x, indices = X[:count], drawn(name)[:count]
    weight, shift = map(np.asarray, seen(network, "exponential", x, 0.7, indices))
    # Rows share indices, and indices rows: errors are those of either mean.
    error = lambda values: 5 * np.hypot(*(values.mean(axis=i).std() / 40 for i in (0, 1)))
    for values, expected in (
        (weight, 1.0),
        (weight**2, 2.0 + 4.0 / dimensions),
        (shift, 0.0),
        (shift**2, 0.7**2),
    ):
        assert error(values) < 0.35 * max(expected, 0.7)
        assert abs(values.mean() - expected) < error(values)
    assert (weight >= 0.0).all()


def test_shifts_of_a_gaussian_index_are_linear_in_it_along_unit_directions():
    """On the scale of a standard normal, whatever the scale of the index."""
    network = build("hypermodel")
    slopes = np.asarray(seen(network, "none", X[:6], 0.7, np.eye(5))[1])
    assert_allclose(np.linalg.norm(slopes, axis=0), np.full(6, 0.7 * np.sqrt(5)))
    weight, twice = seen(network, "none", X[:6], 0.7, 2.0 * np.eye(5))
    assert_allclose(twice, 2.0 * slopes)
    assert_array_equal(weight, np.ones((5, 6)))


def test_masks_are_seen_by_rows_as_members_are():
    network, indices = build("dropout"), drawn("dropout")[:20]
    weight, shift = map(np.asarray, seen(network, "bernoulli", X, 0.7, indices))
    assert set(np.unique(weight)) == {0.0, 2.0}
    assert_share(weight > 0, 0.5)
    assert abs(shift.std() - 0.7) < 5 * 0.7 / np.sqrt(2 * shift.size)
    between = np.corrcoef(weight)[np.triu_indices(20, 1)]
    assert (np.abs(between) < 5 / np.sqrt(ROWS)).all()


# The same rows are always seen the same way.


@pytest.mark.parametrize("name", ["ensemble", "dropout", "hypermodel", "epinet"])
def test_weights_depend_on_the_row_and_the_index_alone(name):
    """Not on the order of rows, nor on the step, nor on what other rows there are."""
    network = build(name)
    x = X[:8]
    order = np.random.default_rng(83).permutation(8)
    indices = None if name == "ensemble" else drawn(name)[:3]
    look = lambda x: [
        np.asarray(part) for part in seen(network, "exponential", x, 0.7, indices)
    ]
    first, other = look(x), np.concatenate([x[5:], X[10:15]])
    for part in range(2):
        assert_allclose(look(x[order])[part], first[part][:, order], rtol=1e-14)
        assert_allclose(look(other)[part][:, :3], first[part][:, 5:], rtol=1e-14)
        assert len(np.unique(first[part])) == 24


@pytest.mark.parametrize("name", ["ensemble", "epinet"])
def test_some_rows_of_a_resampling_are_looked_up(name):
    network, rows = build(name), np.array([6, 1])
    indices = None if name == "ensemble" else drawn(name)[:3]

    @eqx.filter_jit
    def look(x):
        whole: Any = Resampling.of(key(80), network, "exponential", 0.7, x)
        return whole.take(jnp.asarray(rows)).at(indices), whole.at(indices)

    for some, whole in zip(*look(X[:8]), strict=True):
        assert_allclose(some, np.asarray(whole)[:, rows], rtol=1e-14)


def test_without_bootstrap_or_noise_there_is_nothing_to_resample():
    assert Resampling.of(key(80), build("ensemble"), "none", 0.0, jnp.asarray(X)) is None


# Marks.


def test_equal_rows_have_equal_marks_and_zeros_of_either_sign_are_equal():
    x = jnp.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    marks = np.asarray(jax.jit(mark_rows)(x))
    assert marks[0] == marks[1] == marks[3]
    assert marks[0] != marks[2]


def test_rows_of_small_whole_numbers_have_marks_of_their_own():
    """Such numbers differ in few bits; 3125 random marks of 32 bits agree with chance 0.1 %."""
    grid = np.stack(np.meshgrid(*[np.arange(5.0)] * 5), axis=-1).reshape(-1, 5)
    marks = np.asarray(jax.jit(mark_rows)(jnp.asarray(grid)))
    assert len(np.unique(marks)) == len(grid)
    share = marks / 2.0**32
    for cut in (0.1, 0.25, 0.5, 0.9):
        assert_share(share < cut, cut)
    bits = (marks[:, None] >> np.arange(32, dtype=np.uint32)[None, :]) & 1
    assert (np.abs(bits.mean(axis=0) - 0.5) < 2.5 / np.sqrt(len(grid))).all()


# What is refused.


def test_an_unknown_bootstrap_is_refused():
    with pytest.raises(InvalidInput, match=r"^bootstrap must be one of none, bernoulli, expon"):
        Learning(bootstrap="jackknife")


@pytest.mark.parametrize("kind", ["poisson", "uniform"])
def test_a_gaussian_index_cannot_make_every_law(kind):
    with pytest.raises(
        InvalidInput, match=rf"^A network with a Gaussian index has no '{kind}'"
    ):
        check_bootstrap(kind, build("epinet"))
    for fine in LAWS:
        check_bootstrap(fine, build("dropout"))
