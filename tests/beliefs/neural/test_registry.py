"""Neural beliefs by name: defaults, options, and the labels they are of."""

import inspect

import equinox as eqx
import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.neural.dropout import Dropout
from labelwise.beliefs.neural.ensemble import Ensemble
from labelwise.beliefs.neural.epinet import Epinet
from labelwise.beliefs.neural.hypermodel import Hypermodel
from labelwise.beliefs.neural.learning import Descent, Learning
from labelwise.beliefs.neural.registry import (
    NAMES,
    NETWORKS,
    as_law,
    neural_belief,
    split_options,
)
from labelwise.errors import InvalidInput
from labelwise.likelihoods import BernoulliLikelihood, CategoricalLikelihood, GaussianLikelihood
from tests.beliefs.neural.reference import key

RNG = np.random.default_rng(120)
X = RNG.normal(size=(6, 2))
BINARY = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
SMALL = {"members": 3, "hidden": (4,), "steps": 6, "learning_rate": 0.01}
PLUS = {**SMALL, "prior_hidden": (4,)}


@eqx.filter_jit
def make(name, **options):
    """Compiled whole, rather than draw by draw."""
    return neural_belief(name, 2, **options)


@eqx.filter_jit
def learn(belief, x, y):
    return belief.condition(x, y)


@eqx.filter_jit
def functions(belief, x):
    """Of the belief, and of the network alone."""
    return belief.panel(x), belief.network.each(belief.weights, x)


def shape_of(name):
    """A belief as it is by default, without its numbers being drawn."""
    return jax.eval_shape(lambda: neural_belief(name, 7))


# Defaults.


@pytest.mark.parametrize(
    ("name", "steps", "indices"),
    [
        ("mlp", 1000, 1),
        ("dropout", 1000, 1),
        ("ensemble", 1000, 1),
        ("ensemble-plus", 1000, 1),
        ("hypermodel", 2000, 16),
        ("epinet", 1000, 8),
    ],
)
def test_defaults_of_learning(name, steps, indices):
    learning = shape_of(name).learning
    assert (learning.steps, learning.indices) == (steps, indices)
    assert (learning.descent.optimiser, learning.bootstrap, learning.batch) == (
        "adam",
        "none",
        None,
    )
    assert learning.decay_rule == "network"


@pytest.mark.parametrize(
    ("make", "option", "value"),
    [
        (Dropout, "rate", 0.1),
        (Ensemble, "prior_scale", 0.0),
        (Ensemble.plus, "prior_scale", 3.0),
        (Hypermodel, "prior_scale", 1.0),
        (Epinet, "prior_scale", 0.3),
        (Descent, "learning_rate", 1e-3),
    ],
)
def test_default_numbers(make, option, value):
    assert inspect.signature(make).parameters[option].default == value


def test_the_default_decay_is_1():
    assert float(Learning().decay) == 1.0


def test_only_an_epinet_has_a_decay_of_its_own():
    own = {name: usual["decay"] for name, (*_, usual) in NETWORKS.items() if "decay" in usual}
    assert own == {"epinet": 0.2}


def test_default_shapes():
    networks = {name: shape_of(name).model.network for name in NAMES}
    for network in networks.values():
        assert (network.hidden, network.activation) == ((50, 50), "relu")
    assert networks["mlp"].members == 1
    assert networks["ensemble"].members == networks["ensemble-plus"].members == 100
    assert networks["ensemble"].prior is None
    sizes = lambda layers: [weight.shape for weight in layers.weights]
    plus = networks["ensemble-plus"]
    assert sizes(plus.prior) == [(100, 7, 50), (100, 50, 50), (100, 50, 1)]
    assert plus.first_bias
    assert not networks["ensemble"].first_bias
    assert networks["hypermodel"].dimensions == 6
    assert sizes(networks["hypermodel"].prior) == [(7, 10, 3), (10, 1, 3)]
    epinet = shape_of("epinet")
    assert epinet.model.network.dimensions == 8
    assert sizes(epinet.model.network.prior) == [(8, 7, 5), (8, 5, 5), (8, 5, 1)]
    assert sizes(epinet.weights.epinet) == [(8 + 7 + 50, 15), (15, 15), (15, 8)]
    assert not networks["dropout"].drop_inputs


@pytest.mark.slow
def test_the_seed_decides_all_draws():
    one, again, other = (make("ensemble-plus", seed=seed, **PLUS) for seed in (1, 1, 2))
    assert eqx.filter_jit(eqx.tree_equal)(one, again)
    panel, another = (np.asarray(functions(belief, X)[0]) for belief in (one, other))
    assert np.abs(panel - another).min() > 0.0


@eqx.filter_jit
def wide():
    """Prior mean and spread other than by default."""
    return neural_belief(
        "ensemble-plus", 2, mean=ConstantMean(0.7), spread=3.0, precision="double", **PLUS
    )


def test_a_belief_before_labels_is_its_first_functions():
    """Prior mean and spread are those asked for; priors are drawn apart from first weights."""
    belief = wide()
    panel, outputs = map(np.asarray, functions(belief, X))
    assert_allclose(panel, 0.7 + 3.0 * outputs[..., 0], rtol=1e-12)
    prior = belief.model.network.prior
    assert prior is not None
    assert prior.weights[0].shape == (3, 2, 4)
    first = np.asarray(prior.weights[0]), np.asarray(belief.weights.weights[0])
    assert np.abs(first[0] - first[1]).min() > 0.0


@eqx.filter_jit
def few_functions(belief, key, x):
    return belief.representatives(key, x, 50), belief.sample(key, x, 50), belief.panel(x)


def test_representatives_of_few_functions_are_all_of_them():
    found = few_functions(make("ensemble", **SMALL), key(121), X)
    representatives, drawn, panel = map(np.asarray, found)
    assert_array_equal(representatives, panel)
    assert drawn.shape == (50, 6)
    assert {tuple(row) for row in drawn} == {tuple(row) for row in panel}


# Two classes.


@eqx.filter_jit
def after_two_classes(y):
    belief = neural_belief(
        "ensemble", 2, labels="binary", mean=ConstantMean(0.4), precision="double", **SMALL
    ).condition(X, y)
    return belief, belief.outcome(X)


def test_two_classes_have_two_outputs_whose_difference_is_the_function():
    belief, (mean, variance) = after_two_classes(BINARY)
    panel, outputs = map(np.asarray, functions(belief, X))
    assert outputs.shape == (3, 6, 2)
    values = 0.4 + outputs[..., 1] - outputs[..., 0]
    assert_allclose(panel, values, rtol=1e-12)
    chances = 1.0 / (1.0 + np.exp(-values))
    assert_allclose(mean, chances.mean(axis=0), rtol=1e-12)
    assert_allclose(variance, chances.var(axis=0), rtol=1e-9)
    # Learning moved both outputs, not their difference alone.
    ends = (np.asarray(one.biases[-1]) for one in (belief.weights, belief.start))
    assert (np.abs(np.subtract(*ends)) > 1e-3).all()


def test_two_classes_by_number_are_binary_labels():
    assert isinstance(as_law(2), BernoulliLikelihood)
    assert isinstance(as_law("binary"), BernoulliLikelihood)
    assert float(as_law("regression", 0.3).noise) == 0.3
    assert isinstance(as_law("regression"), GaussianLikelihood)
    assert as_law(4) == CategoricalLikelihood(4)


# Several classes.


@pytest.fixture
def three_classes():
    """Three clusters, far apart."""
    rng = np.random.default_rng(122)
    y = np.repeat([0.0, 1.0, 2.0], 4)
    centres = np.array([[3.0, 0.0], [-2.0, 3.0], [-2.0, -3.0]])
    return centres[y.astype(int)] + 0.3 * rng.normal(size=(12, 2)), y


@eqx.filter_jit
def doings(belief, key, x):
    """Functions, chances, and draws of both functions and labels."""
    draws = belief.sample(key, x, 5), belief.sample_labels(key, x, 5)
    return belief.panel(x), belief.outcome(x), draws


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_well_separated_classes_are_learnt(three_classes):
    x, y = three_classes
    options = {**SMALL, "steps": 150, "learning_rate": 0.05, "decay": 0.01}
    belief = make("ensemble", labels=3, precision="double", **options)
    before = np.asarray(doings(belief, key(121), x)[1][0])
    panel, outcome, (drawn, labels) = doings(learn(belief, x, y), key(121), x)
    chances, variance = map(np.asarray, outcome)
    assert chances.shape == (12, 3)
    assert variance.shape == (12,)
    assert_allclose(chances.sum(axis=1), np.ones(12), rtol=1e-12)
    own = chances[np.arange(12), y.astype(int)]
    assert (own > 0.9).all()
    assert not (before[np.arange(12), y.astype(int)] > 0.9).all()
    # By hand, from the functions: chances are averaged over members, not functions.
    shares = np.exp(np.asarray(panel))
    shares /= shares.sum(axis=-1, keepdims=True)
    assert_allclose(chances, shares.mean(axis=0), rtol=1e-10)
    assert_allclose(variance, shares.var(axis=0).sum(axis=-1), rtol=1e-8, atol=1e-15)
    assert drawn.shape == (5, 12, 3)
    assert (np.asarray(labels) == y[None]).mean() > 0.8


@pytest.mark.usefixtures("unchecked")
def test_several_classes_have_no_one_covariance():
    belief = make("ensemble", labels=4, **SMALL)
    with pytest.raises(
        InvalidInput, match=r"^Of several classes there is no one covariance; se"
    ):
        belief.covariance(X)


# What is refused.


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("labels", "y", "message"),
    [
        ("binary", [0.0, 2.0], r"^y must hold 0 or 1; row 1 holds 2\.$"),
        (4, [0.5, 3.0], r"^y must hold 0, 1, 2 or 3; row 0 holds 0\.5\.$"),
        (4, [4.0, 3.0], r"^y must hold 0, 1, 2 or 3; row 0 holds 4\.$"),
        ("regression", [np.nan, 3.0], r"^y is NaN or infinite in row 0; drop or impute before"),
    ],
)
def test_labels_of_another_kind_are_refused(labels, y, message):
    belief = make("ensemble", labels=labels, **SMALL)
    with pytest.raises(InvalidInput, match=message):
        belief.condition(X[:2], y)


@pytest.mark.parametrize("labels", ["counts", 1, 0, True, 2.5, None])
def test_unknown_kinds_of_labels_are_refused(labels):
    with pytest.raises(
        InvalidInput, match=r"^labels must be 'regression', 'binary' or a number"
    ):
        as_law(labels)


def test_an_unknown_name_is_refused():
    with pytest.raises(
        InvalidInput, match=r"^There is no neural belief 'gp'; use one of mlp, d"
    ):
        neural_belief("gp", 2)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("ensemble", "prior_scale"),
        ("mlp", "members"),
        ("epinet", "rate"),
        ("dropout", "dimensions"),
        ("ensemble-plus", "first_bias"),
    ],
)
def test_options_of_other_networks_are_refused(name, option):
    message = rf"^The belief '{name}' has no option '{option}'; it has [a-z_, ]+\.$"
    with pytest.raises(InvalidInput, match=message):
        neural_belief(name, 2, **{option: 1})


def test_options_are_split_into_those_of_the_network_and_of_learning():
    own, learning = split_options("epinet", {"dimensions": 3, "steps": 5, "hidden": (4,)})
    assert own == {"dimensions": 3, "hidden": (4,)}
    assert learning == {"steps": 5}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "binary", "label_noise": 0.1}, r"^label_noise shifts labels that are numb"),
        ({"precision": "half"}, r"^precision must be one of single, double; it is 'half'\.$"),
        ({"spread": 0.0}, r"^spread must be greater than 0; it is 0\.$"),
        ({"noise": -1.0}, r"^noise must be at least 0; it is -1\.$"),
        ({"members": 0}, r"^members must be at least 1; it is 0\.$"),
        (
            {"law": "normal"},
            r"^law must be one of truncated, uniform, xavier; it is 'normal'.$",
        ),
        ({"hidden": 50}, r"^hidden must be a list, one number a layer; it is 50\.$"),
    ],
)
def test_impossible_beliefs_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        neural_belief("ensemble", 2, **{**SMALL, **options})
