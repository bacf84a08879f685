"""Each network against a second writing of it in numpy; first values, indices and priors."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from labelwise.beliefs.neural.base import squared_length
from labelwise.beliefs.neural.dropout import Dropout
from labelwise.beliefs.neural.ensemble import Ensemble
from labelwise.beliefs.neural.epinet import Epinet
from labelwise.beliefs.neural.hypermodel import Hypermodel
from labelwise.beliefs.neural.layers import Layers, apply_layers, draw_layers
from labelwise.errors import InvalidInput
from tests.beliefs.neural.reference import (
    NETWORKS,
    assert_spread,
    build,
    draw,
    functions,
    key,
    maker,
    plain,
    stirred,
)
from tests.marks import but_slow

X = np.random.default_rng(70).normal(size=(4, 2))
COUNT = 20_000
CUT = 0.8796256610342398  # standard deviation of a standard normal cut at two
each_network = pytest.mark.parametrize("name", but_slow(NETWORKS, {"dropout", "hypermodel"}))


@functools.cache
def drawn(name):
    """Many indices."""
    return np.asarray(draw(build(name), key(73), COUNT))


# The functions themselves.


@eqx.filter_jit
def both_ways(network, weights, x, indices):
    """At all indices at once, and at the first alone."""
    return network.each(weights, x, indices), network.evaluate(weights, x, indices[0])


@eqx.filter_jit
def members(network, weights, x):
    """Without indices."""
    return network.each(weights, x)


@eqx.filter_jit
def apply(layers, x, activation):
    return apply_layers(layers, x, activation)


@each_network
def test_functions_agree_with_a_second_writing(name):
    network, indices = build(name), drawn(name)[:3]
    weights = stirred(network)
    expected = functions(network, weights, X, indices)
    each, one = both_ways(network, weights, X, indices)
    assert_allclose(each, expected, rtol=1e-12, atol=1e-12)
    assert_allclose(one, expected[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["relu", "gelu"])
def test_layers_bend_as_their_activation_says(name):
    weights = jnp.asarray(np.eye(2)), jnp.asarray(np.ones((2, 1)))
    layers = Layers(weights, (jnp.array([0.3, -0.2]), jnp.array([1.0])))
    inner = X + np.array([0.3, -0.2])
    bent = np.maximum(inner, 0.0)
    if name == "gelu":  # with the usual tanh in place of the normal distribution function
        bent = inner / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
    found = apply(layers, X, name)
    assert_allclose(found, 1.0 + bent.sum(axis=1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("name", ["ensemble", "ensemble-plus"])
def test_without_indices_every_member_answers_in_turn(name):
    network = build(name)
    weights = stirred(network)
    expected = functions(network, weights, X, range(3))
    assert_allclose(members(network, weights, X), expected, rtol=1e-12)
    assert network.size == 3


@pytest.mark.parametrize("name", ["dropout", "hypermodel", "epinet"])
def test_others_have_a_continuum_of_functions(name):
    assert build(name).size is None


@each_network
def test_a_network_may_have_no_hidden_layer(name):
    """Linear in its own weights, where closed forms exist."""

    def values(key):
        network = maker(name, hidden=())(key)
        return network.each(network.start(key), jnp.asarray(X), network.draw(key, 1))

    assert jax.eval_shape(values, key(72)).shape == (1, 4, 2)


# First values.


def draws(law, first_bias=False):
    sizes = (9, 1600, 3)
    of = eqx.filter_jit(lambda key: draw_layers(key, sizes, law=law, first_bias=first_bias))
    return plain(of(key(72)))


def test_truncated_first_values_are_normals_cut_at_two_widths():
    layers = draws("truncated")
    for weight, inputs in zip(layers.weights, (9, 1600), strict=True):
        assert_spread(weight, CUT / np.sqrt(inputs))
        assert np.abs(weight).max() <= 2.0 / np.sqrt(inputs)
        assert np.abs(weight).max() > 1.9 / np.sqrt(inputs)
        assert abs(weight.mean()) < 5 * CUT / np.sqrt(inputs * weight.size)
    assert all((bias == 0.0).all() for bias in layers.biases)


def test_first_biases_are_drawn_as_wide_as_first_weights():
    layers = draws("truncated", first_bias=True)
    assert_spread(layers.biases[0], CUT / 3.0)
    assert np.abs(layers.biases[0]).max() <= 2.0 / 3.0
    assert all((bias == 0.0).all() for bias in layers.biases[1:])


def test_uniform_first_values_fill_their_interval_biases_too():
    layers = draws("uniform")
    for values in (layers.weights[0], layers.biases[0]):
        assert_spread(values, 1.0 / 3.0 / np.sqrt(3.0))
        assert 0.98 / 3.0 < np.abs(values).max() <= 1.0 / 3.0
    assert (np.abs(layers.biases[1]) <= 1.0 / 40.0).all()
    assert (layers.biases[1] != 0.0).all()


def test_xavier_weights_have_a_variance_of_two_over_inputs_and_outputs():
    layers = draws("xavier")
    for weight, both in zip(layers.weights, (1609, 1603), strict=True):
        assert_spread(weight, np.sqrt(2.0 / both))
        assert np.abs(weight).max() <= np.sqrt(6.0 / both)
    assert all((bias == 0.0).all() for bias in layers.biases)


def test_first_values_of_a_hypermodel():
    """Variances 2/(D + entries) and 1/entries, each array's own, kept when cut."""
    make = lambda key: Hypermodel.make(key, 5, dimensions=6, hidden=(300,)).start(key)
    lines: Any = plain(eqx.filter_jit(make)(key(72)))
    for line, entries in ((lines.weights[0], 1500), (lines.biases[0], 300)):
        assert_spread(line.slope, np.sqrt(2.0 / (6 + entries)))
        assert np.abs(line.slope).max() <= 2.0 / CUT * np.sqrt(2.0 / (6 + entries))
    assert_spread(lines.weights[0].offset, np.sqrt(1.0 / 1500))
    assert (lines.biases[0].offset != 0.0).all()
    assert np.abs(lines.biases[0].offset).max() <= 2.0 / CUT / np.sqrt(300)


@pytest.fixture(scope="module")
def starts():
    networks = {name: build(name) for name in NETWORKS if name != "hypermodel"}
    every = lambda networks, key: {name: one.start(key) for name, one in networks.items()}
    return plain(eqx.filter_jit(every)(networks, key(72)))


@pytest.mark.parametrize(
    ("name", "drawn"),
    [("ensemble", False), ("ensemble-plus", True), ("dropout", True), ("epinet", False)],
)
def test_which_networks_begin_with_first_biases(starts, name, drawn):
    weights = starts[name]
    layers = [weights.base, weights.epinet] if name == "epinet" else [weights]
    for one in layers:
        assert (one.biases[0] != 0.0).all() if drawn else (one.biases[0] == 0.0).all()
        assert all((bias == 0.0).all() for bias in one.biases[1:])


def test_members_begin_apart(starts):
    weights = starts["ensemble"].weights[0]
    assert len(np.unique(weights)) == weights.size


# Indices.


def test_indices_of_an_ensemble_are_its_members_alike():
    counts = np.bincount(drawn("ensemble"), minlength=3)
    assert counts.shape == (3,)
    assert (np.abs(counts - COUNT / 3) < 5 * np.sqrt(COUNT * 2 / 9)).all()


@pytest.mark.parametrize(("name", "scale"), [("hypermodel", 5**-0.5), ("epinet", 1.0)])
def test_gaussian_indices_have_the_stated_scale(name, scale):
    index = drawn(name)
    dimensions, stated = build(name).gaussian_index
    assert stated == pytest.approx(scale)
    assert index.shape == (COUNT, dimensions)
    assert_spread(index, scale)
    off = (index.T @ index / COUNT / scale**2)[np.triu_indices(dimensions, 1)]
    assert (np.abs(off) < 5 / np.sqrt(COUNT)).all()
    assert_spread((index**2).sum(axis=1) ** 0.5, scale * np.sqrt(dimensions))


# Priors.


@eqx.filter_jit
@eqx.filter_grad
def slope_in_the_network(network, weights, x, indices):
    return (network.each(weights, x, indices) ** 2).sum()


@pytest.mark.parametrize("name", ["ensemble-plus", "hypermodel", "epinet"])
def test_a_prior_never_learns(name):
    """No slope reaches it, and it is no part of what is decayed."""
    network = build(name)
    slope = slope_in_the_network(network, stirred(network), X, drawn(name)[:3])
    assert all((np.asarray(leaf) == 0.0).all() for leaf in jax.tree.leaves(slope.prior))
    assert any((np.asarray(leaf) != 0.0).any() for leaf in jax.tree.leaves(network.prior))


@pytest.mark.parametrize("name", ["ensemble-plus", "hypermodel", "epinet"])
def test_a_prior_is_added_times_its_scale(name):
    network, indices = build(name), drawn(name)[:3]
    weights = stirred(network)

    def at(scale):
        scaled = eqx.tree_at(lambda one: one.prior_scale, network, np.asarray(scale))
        return np.asarray(both_ways(scaled, weights, X, indices)[0])

    assert_allclose(at(7.0) - at(0.0), 7.0 * (at(1.0) - at(0.0)), rtol=1e-12)
    assert np.abs(at(1.0) - at(0.0)).max() > 1e-3


def test_prior_functions_of_members_are_drawn_as_members_are():
    make = lambda key: Ensemble.plus(key, 4, members=100, prior_hidden=(20,)).prior
    prior: Any = plain(eqx.filter_jit(make)(key(71)))
    assert_spread(prior.weights[0], CUT / 2.0)
    assert_spread(prior.biases[0], CUT / 2.0)
    assert (prior.biases[1] == 0.0).all()
    assert len(np.unique(prior.weights[0])) == prior.weights[0].size


def test_prior_functions_of_an_epinet_differ_and_have_no_biases():
    make = lambda key: Epinet.make(key, 4, dimensions=100, prior_hidden=(20, 3)).prior
    prior: Any = plain(eqx.filter_jit(make)(key(71)))
    assert_spread(prior.weights[0], CUT / 2.0)
    assert prior.weights[0].shape == (100, 4, 20)
    assert len(np.unique(prior.weights[0])) == prior.weights[0].size
    assert all((bias == 0.0).all() for bias in prior.biases)


def test_the_prior_of_a_hypermodel_looks_along_unit_directions():
    make = lambda key: Hypermodel.make(key, 2, 3, dimensions=5, prior_hidden=(7,)).prior
    prior: Any = plain(eqx.filter_jit(make)(key(71)))
    length = lambda array: np.linalg.norm(array, axis=-1)
    assert_allclose(length(prior.weights[0]), np.ones((2, 7)))
    assert_allclose(length(prior.weights[1]), np.full((7, 3), 7**-0.5))
    for bias in prior.biases:
        assert_allclose(length(bias), np.ones(bias.shape[0]))


@pytest.mark.parametrize(("dimensions", "disjoint"), [(5, True), (3, True), (2, False)])
def test_layers_of_the_prior_look_at_parts_of_the_index(dimensions, disjoint):
    """Disjoint parts that make up the whole; where it is too short all of it, each."""

    @jax.jit
    def slopes_of(key, index):
        network = Hypermodel.make(
            key, 2, dimensions=dimensions, hidden=(3,), prior_hidden=(4, 4)
        )
        return jax.jacobian(network._prior_at)(index)

    slopes: Any = plain(slopes_of(key(71), np.ones(dimensions)))
    seen = [np.abs(slope).max(axis=(0, 1)) > 0.0 for slope in slopes.weights]
    parts = np.sum(seen, axis=0)
    assert_array_equal(parts, np.sum([np.abs(one).max(axis=0) > 0 for one in slopes.biases], 0))
    assert_array_equal(parts, np.full(dimensions, 1 if disjoint else 3))


# Epinets.


def epinet(prior_scale=0.0):
    network = build("epinet")
    return eqx.tree_at(lambda one: one.prior_scale, network, np.asarray(prior_scale))


def test_an_epinet_at_index_zero_is_its_base():
    network = epinet(0.7)
    weights = stirred(network)
    base = apply(weights.base, X, "tanh")
    assert_array_equal(both_ways(network, weights, X, np.zeros((3, 3)))[1], base)


def test_what_an_epinet_adds_is_linear_in_the_index_that_it_is_contracted_with():
    """The index that its layers see is shut off: their first rows are those of the index."""
    network = epinet()
    blind = lambda first: np.where(np.arange(len(first))[:, None] < 3, 0.0, first)
    weights: Any = plain(stirred(network))
    weights = eqx.tree_at(lambda one: one.epinet.weights[0], weights, replace_fn=blind)
    one, other = drawn("epinet")[:2]
    indices = np.stack([one, other, 2.0 * one - 3.0 * other])
    base = np.asarray(apply(weights.base, X, "tanh"))
    added = np.asarray(both_ways(network, weights, X, indices)[0]) - base
    expected = 2.0 * added[0] - 3.0 * added[1]
    assert_allclose(added[2], expected, rtol=1e-12, atol=1e-12)
    assert np.abs(expected).max() > 0.1


@eqx.filter_jit
@eqx.filter_value_and_grad
def added_in_all(base, network, weights, x, indices, way):
    """The sum of what an epinet adds to its base, with slopes as in learning."""
    own = eqx.tree_at(lambda one: one.base, weights, base)
    own = network.shielded(own, weights)
    if way == "each":
        functions = network.each(own, x, indices)
    else:
        functions = network.evaluate(own, x, indices[0])[None]
    return (functions - apply_layers(base, x, "tanh")[None]).sum()


@pytest.mark.parametrize("way", ["evaluate", "each"])
def test_what_an_epinet_adds_does_not_reach_the_base_while_learning(way):
    network = epinet(0.7)
    weights = stirred(network)
    indices = drawn("epinet")[:2]
    value, slope = added_in_all(weights.base, network, weights, X, indices, way)
    assert float(value) != 0.0
    # What goes through the base's own output cancels, to rounding.
    assert sum((np.asarray(leaf) ** 2).sum() for leaf in jax.tree.leaves(slope)) < 1e-26


# Hypermodels.


@eqx.filter_jit
def generate(network, lines, index):
    return network.generate(lines, index)


def test_a_hypermodel_at_index_zero_has_the_offsets_as_weights():
    network = build("hypermodel")
    lines = stirred(network)
    generated = generate(network, lines, np.zeros(5))
    for line, weight in zip(lines.weights, generated.weights, strict=True):
        assert_array_equal(line.offset, weight)
    # The prior has neither weights nor biases there.
    at_zero = both_ways(network, lines, X, np.zeros((3, 5)))[1]
    assert_array_equal(at_zero, apply(generated, X, "tanh"))


def test_weights_of_a_hypermodel_are_affine_in_the_index():
    network = build("hypermodel")
    lines = stirred(network)
    one, other = drawn("hypermodel")[:2]
    at = lambda z: jax.tree.leaves(plain(generate(network, lines, z)))
    middle = at(0.3 * one + 0.7 * other)
    for mixed, a, b in zip(middle, at(one), at(other), strict=True):
        assert_allclose(mixed, 0.3 * a + 0.7 * b, rtol=1e-12, atol=1e-12)


# Dropout.


def dropout(rate):
    return eqx.tree_at(lambda one: one.rate, build("dropout"), np.asarray(rate))


def test_dropout_of_nothing_is_a_plain_network():
    network = dropout(0.0)
    weights = stirred(network)
    alone = Ensemble(2, 2, members=1, hidden=(6, 4), activation="tanh", first_bias=True)
    own = jax.tree.map(lambda leaf: leaf[None], plain(weights))
    functions = both_ways(network, weights, X, drawn("dropout")[:3])[0]
    expected = np.repeat(members(alone, own, X), 3, axis=0)
    assert_allclose(functions, expected, rtol=1e-15)


def test_a_mask_is_the_same_for_all_rows():
    """A function at some rows is that at all rows, looked up; at one row thrice, thrice it."""
    network = build("dropout")
    weights = stirred(network)
    at = lambda x: np.asarray(both_ways(network, weights, x, drawn("dropout")[:3])[1])
    assert_allclose(at(X[[2, 0, 0, 0]]), at(X)[[2, 0, 0, 0]], rtol=1e-14)


def test_masks_silence_the_stated_share_and_have_mean_one():
    count = 4000
    masks_of = eqx.filter_jit(lambda network, indices: jax.vmap(network.masks)(indices))
    masks = masks_of(dropout(0.3), drawn("dropout")[:count])
    assert [mask.shape[1] for mask in masks] == [2, 6, 4]
    for mask in map(np.asarray, masks):
        assert_allclose(np.unique(mask), [0.0, 1.0 / 0.7])
        assert abs(mask.mean() - 1.0) < 5 * np.sqrt(0.3 / 0.7 / mask.size)
        silent = np.corrcoef(mask.T)[np.triu_indices(mask.shape[1], 1)]
        assert (np.abs(silent) < 5 / np.sqrt(count)).all()


def test_inputs_are_masked_only_where_asked():
    weights = Layers((jnp.array([[1.0], [1.0]]),), (jnp.array([0.0]),))

    def spread(inputs):
        network = Dropout(2, rate=0.5, hidden=(), drop_inputs=inputs)
        return np.ptp(both_ways(network, weights, np.ones((1, 2)), drawn("dropout")[:20])[0])

    assert spread(False) == 0.0
    assert spread(True) > 0.0


# Decay.


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ensemble", 3.0 / 20.0),
        ("ensemble-plus", 3.0 / 20.0),
        ("dropout", 9.0 * 0.6 / (2.0 * 20.0)),
        ("hypermodel", 3.0 / 20.0),
        ("epinet", 3.0 * 0.1**0.7),
    ],
)
def test_decay_on_toy_numbers(name, expected):
    """Strength 3, 20 rows, two features, a dropout rate of 0.4."""
    found = build(name).decay(jnp.asarray(3.0), jnp.asarray(20.0))
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_squared_length_counts_every_weight_and_bias():
    weights = stirred(build("epinet"))
    expected = sum((np.asarray(leaf) ** 2).sum() for leaf in jax.tree.leaves(weights))
    assert float(eqx.filter_jit(squared_length)(weights)) == pytest.approx(expected)


def test_losses_of_members_add_up_and_those_of_indices_are_averaged():
    losses = jnp.array([1.0, 2.0, 6.0])
    assert float(build("ensemble").reduce(losses)) == 9.0
    assert float(build("epinet").reduce(losses)) == 3.0


# What is refused.


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 1.0}, r"^rate must be below 1; it is 1\.$"),
        ({"rate": -0.1}, r"^rate must be at least 0; it is -0\.1\.$"),
        ({"hidden": (0,)}, r"^hidden must be at least 1; it is 0\.$"),
        (
            {"activation": "sine"},
            r"^activation must be one of relu, tanh, gelu; it is 'sine'\.$",
        ),
    ],
)
def test_impossible_networks_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        Dropout(2, **options)


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_law_is_refused():
    with pytest.raises(
        InvalidInput, match=r"^law must be one of truncated, uniform, xavier; it"
    ):
        draw_layers(key(72), (2, 1), law="normal")  # pyright: ignore
