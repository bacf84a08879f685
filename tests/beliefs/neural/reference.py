"""Networks and steps written a second time, in numpy, one row and one index at a time."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.neural.dropout import Dropout
from labelwise.beliefs.neural.ensemble import Ensemble
from labelwise.beliefs.neural.epinet import Epinet
from labelwise.beliefs.neural.hypermodel import Hypermodel
from labelwise.beliefs.neural.layers import Layers

BENDS = {"relu": lambda value: np.maximum(value, 0.0), "tanh": np.tanh}
NETWORKS = ("ensemble", "ensemble-plus", "dropout", "hypermodel", "epinet")


@functools.cache
def key(number):
    """Made when a test first asks for it, not when its file is read."""
    with jax.ensure_compile_time_eval():  # or a function being traced would keep it to itself
        return jax.random.key(number)


def maker(name, outputs=2, activation="tanh", hidden=(6, 4)):
    """A small network of two features, as a function of a key."""
    own = {"hidden": hidden, "activation": activation}
    if name == "ensemble":
        return lambda _: Ensemble(2, outputs, members=3, **own)
    if name == "dropout":
        return lambda _: Dropout(2, outputs, rate=0.4, drop_inputs=True, **own)
    make, more = {
        "ensemble-plus": (Ensemble.plus, {"members": 3, "prior_hidden": (5,)}),
        "hypermodel": (Hypermodel.make, {"dimensions": 5, "prior_hidden": (3,)}),
        "epinet": (
            Epinet.make,
            {"dimensions": 3, "epinet_hidden": (5,), "prior_hidden": (3, 4)},
        ),
    }[name]
    return lambda key: make(key, 2, outputs, **more, **own)


@functools.cache
def build(name, outputs=2, activation="tanh", hidden=(6, 4)):
    """Compiled whole, rather than draw by draw."""
    make = maker(name, outputs, activation, hidden)
    return make(None) if name in ("ensemble", "dropout") else eqx.filter_jit(make)(key(71))


@eqx.filter_jit
def draw(network, key, count):
    return network.draw(key, count)


def plain(tree):
    """The same with numpy's arrays, whose arithmetic nobody has to compile."""
    return jax.tree.map(np.asarray, tree)


def stirred(network, seed=0):
    """Random weights of which no bias is zero."""
    leaves, tree = jax.tree.flatten(jax.eval_shape(network.start, key(71)))
    rng = np.random.default_rng(seed)
    return jax.tree.unflatten(tree, [jnp.asarray(rng.normal(size=one.shape)) for one in leaves])


def pick(layers, place):
    """Weights and biases, as numpy arrays, at one place of their first axis."""
    weights, biases = np_layers(layers)
    return [one[place] for one in weights], [one[place] for one in biases]


def np_layers(layers):
    return [np.asarray(one) for one in layers.weights], [
        np.asarray(one) for one in layers.biases
    ]


def forward(layers, row, activation, masks=None):
    """Every layer's values, of the one row."""
    weights, biases = layers
    values = [row]
    for number, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        value = bias + sum(weight[i] * values[-1][i] for i in range(len(values[-1])))
        if number < len(weights) - 1:
            value = value if masks is None else value * masks[number]
            value = BENDS[activation](value)
        values.append(value)
    return values


def function(network, weights, row, index):
    """f(x, z) of one row and one index."""
    of = {
        Ensemble: _ensemble,
        Dropout: _dropout,
        Hypermodel: _hypermodel,
        Epinet: _epinet,
    }
    return of[type(network)](network, weights, row, np.asarray(index))


def functions(network, weights, x, indices):
    weights, indices = plain(weights), np.asarray(indices)
    return np.array([[function(network, weights, row, z) for row in x] for z in indices])


def _ensemble(network, weights, row, index):
    learnt = forward(pick(weights, index), row, network.activation)[-1]
    if network.prior is None:
        return learnt
    fixed = forward(pick(network.prior, index), row, network.activation)[-1]
    return learnt + float(network.prior_scale) * fixed


@eqx.filter_jit
def _masks(network, index):
    return network.masks(index)


def _dropout(network, weights, row, index):
    inputs, *masks = map(np.asarray, _masks(network, jnp.asarray(index)))
    row = row * inputs if network.drop_inputs else row
    return forward(np_layers(weights), row, network.activation, masks)[-1]


def _hypermodel(network, weights, row, index):
    line = lambda one: (
        np.einsum("...d,d->...", np.asarray(one.slope), index) + np.asarray(one.offset)
    )
    generated = [line(one) for one in weights.weights], [line(one) for one in weights.biases]
    learnt = forward(generated, row, network.activation)[-1]
    cut = np.cumsum([one.shape[-1] for one in network.prior.biases])[:-1]
    chunks = np.split(index, cut) if network.dimensions >= len(cut) + 1 else [index] * 9
    at = lambda arrays: [
        np.einsum("...d,d->...", np.asarray(one), chunk)
        for one, chunk in zip(arrays, chunks, strict=False)
    ]
    prior = at(network.prior.weights), at(network.prior.biases)
    fixed = forward(prior, row, network.activation)[-1]
    return learnt + float(network.prior_scale) * fixed


def _epinet(network, weights, row, index):
    values = forward(np_layers(weights.base), row, network.activation)
    seen = np.concatenate([index, row, values[-2]])
    out = forward(np_layers(weights.epinet), seen, network.activation)[-1]
    learnt = out.reshape(network.outputs, network.dimensions) @ index
    fixed = sum(
        index[j] * forward(pick(network.prior, j), row, network.activation)[-1]
        for j in range(network.dimensions)
    )
    return values[-1] + learnt + float(network.prior_scale) * fixed


def cross_entropy(logits, y):
    """-log softmax(logits)_y."""
    return np.log(np.exp(logits).sum()) - logits[int(y)]


def with_ones(x):
    """Rows with a 1 for the bias."""
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)


def linear_weights(rows):
    """The weights of an ensemble without hidden layers: a row of slopes and bias a member."""
    rows = np.asarray(rows)
    return Layers((jnp.asarray(rows[:, :-1, None]),), (jnp.asarray(rows[:, -1:]),))


def linear_rows(weights):
    weights = plain(weights)
    return np.concatenate([weights.weights[0][..., 0], weights.biases[0]], axis=-1)


def squared_slope(rows, x, y, weight, decay):
    """Of Σ w (f - y)² / Σ w + decay / Σ w · ‖·‖², for each member."""
    ones, total = with_ones(x), max(weight.sum(), 1.0)
    return 2.0 * (((rows @ ones.T - y) * weight) @ ones + decay * rows) / total


def descend(slope, start, steps, rate, optimiser="sgd", clip=np.inf):
    """Every step of a descent: sgd, momentum, or Adam as its paper states it."""
    path, first, second = [start], 0.0, 0.0
    for step in range(1, steps + 1):
        gradient = slope(path[-1])
        gradient = gradient * min(1.0, clip / np.sqrt((gradient**2).sum()))
        if optimiser == "adam":
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            wide = np.sqrt(second / (1 - 0.999**step)) + 1e-8
            move = first / (1 - 0.9**step) / wide
        else:
            first = (0.9 * first if optimiser == "momentum" else 0.0) + gradient
            move = first
        path.append(path[-1] - rate * move)
    return path


def assert_spread(values, expected):
    """The mean square is the expected one, to five standard errors."""
    squares = np.asarray(values).ravel() ** 2
    error = 5 * squares.std() / np.sqrt(squares.size)
    assert error < 0.2 * expected**2  # or the comparison says little
    assert abs(squares.mean() - expected**2) < error
