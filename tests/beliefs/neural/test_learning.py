"""Learning against steps taken by hand: losses, optimisers, batches, holdouts, going on."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.means import ConstantMean
from labelwise.beliefs.neural.base import squared_length
from labelwise.beliefs.neural.belief import NeuralBelief
from labelwise.beliefs.neural.dropout import Dropout
from labelwise.beliefs.neural.ensemble import Ensemble
from labelwise.beliefs.neural.layers import apply_layers
from labelwise.beliefs.neural.learning import Learning, TrainingProblem, learn
from labelwise.beliefs.neural.model import Model
from labelwise.beliefs.neural.registry import as_law, neural_belief
from labelwise.errors import InvalidInput, NumericalError
from tests.beliefs.neural.reference import (
    build,
    cross_entropy,
    descend,
    draw,
    functions,
    key,
    linear_rows,
    linear_weights,
    squared_slope,
    stirred,
)

RNG = np.random.default_rng(90)
X, Y = RNG.normal(size=(8, 2)), RNG.normal(size=8)
WEIGHT = np.array([1.0, 0.3, 1.0, 0.0, 0.6, 1.0, 0.9, 0.2])
CLASSES = np.array([0.0, 3.0, 2.0, 1.0, 1.0, 3.0, 0.0, 2.0])
START = RNG.normal(size=(2, 3))
LEVEL, SPREAD = 0.3, 2.0
TARGET = (Y - LEVEL) / SPREAD


def linear(*, start=START, **learning) -> NeuralBelief:
    """Two linear members, which learn on the scale of the spread."""
    network = Ensemble(2, members=2, hidden=())
    model = Model(network, as_law("regression"), ConstantMean(LEVEL), SPREAD)
    options = {"steps": 6, "learning_rate": 0.1, "optimiser": "sgd", "decay": 0.7, **learning}
    begin = linear_weights(start)
    return NeuralBelief(model, Learning(**options), key(91), precision="double", start=begin)


def by_hand(weight=WEIGHT, start=START, steps=6, decay=0.7, x=X, y=TARGET, **how):
    return descend(
        lambda rows: squared_slope(rows, x, y, weight, decay), start, steps, 0.1, **how
    )


def labelled_of(x=X, y=Y, weight=WEIGHT) -> Labelled:
    return Labelled(*map(jnp.asarray, (x, y, weight)))


def lesson_of(belief, weight=WEIGHT, x=X, y=Y) -> TrainingProblem:
    return TrainingProblem.of(
        belief.model, belief.learning, labelled_of(x, y, weight), belief.key
    )


# Losses.


@eqx.filter_jit
def parts_of_a_loss(model, learning, labelled, weights, names, lesson_key, step_key):
    problem = TrainingProblem.of(model, learning, labelled, lesson_key)
    resampled = problem.resampling.at(names)
    return problem.loss(weights, step_key), problem.penalty(weights), resampled


@eqx.filter_jit
def loss_and_penalty(problem, weights, key, number):
    return problem.loss(weights, key, number), problem.penalty(weights)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("name", "labels", "y"),
    [
        ("ensemble-plus", "regression", Y),
        ("hypermodel", "regression", Y),
        ("dropout", "binary", CLASSES % 2),
        ("epinet", 4, CLASSES),
    ],
)
def test_losses_agree_with_a_second_writing(name, labels, y):
    """The mean over indices, or the sum over members, of Σ w_i ℓ_i / Σ w_i, and the decay."""
    outputs = {"regression": 1, "binary": 2}.get(labels, labels)
    network = build(name, outputs, hidden=(5,))
    noise = 0.4 if labels == "regression" else 0.0
    learning = Learning(indices=4, bootstrap="exponential", label_noise=noise, decay=0.5)
    model = Model(network, as_law(labels), ConstantMean(LEVEL), SPREAD)
    indices = np.arange(3) if network.size else np.asarray(draw(network, key(92), 4))
    weights = stirred(network)
    loss, penalty, resampled = parts_of_a_loss(
        model, learning, labelled_of(y=y), weights, indices, key(91), key(92)
    )
    factor, shift = map(np.asarray, resampled)

    def one(outputs, y, shift):
        if labels == "regression":
            return ((LEVEL + SPREAD * outputs[0] - y - shift) / SPREAD) ** 2
        bias = np.array([0.0, LEVEL]) if labels == "binary" else 0.0
        return cross_entropy(outputs + bias, y)

    found = functions(network, weights, X, indices)
    losses = np.array(
        [
            sum(
                WEIGHT[i] * factor[k, i] * one(found[k, i], y[i], shift[k, i]) for i in range(8)
            )
            for k in range(len(found))
        ]
    )
    expected = losses.sum() if network.size else losses.mean()
    length = sum((np.asarray(leaf) ** 2).sum() for leaf in jax.tree.leaves(weights))
    decay = {"dropout": 0.25 * 0.6 / 10, "epinet": 0.5 * 0.4**0.7}.get(name, 0.1)
    assert WEIGHT.sum() == 5.0
    assert_allclose(penalty, decay * length, rtol=1e-12)
    assert_allclose(loss, expected / 5.0 + decay * length, rtol=1e-12)


def test_less_than_one_label_tells_less_than_a_label():
    """Below a total of one, weights are not scaled up."""
    problem = lesson_of(linear(), np.full(8, 0.05))
    errors = (START @ np.concatenate([X, np.ones((8, 1))], axis=1).T - TARGET) ** 2
    expected = 0.05 * errors.sum() + 0.7 * (START**2).sum()
    found, _ = loss_and_penalty(problem, linear_weights(START), key(92), np.asarray(0))
    assert_allclose(found, expected, rtol=1e-12)


def test_a_fixed_decay_does_not_depend_on_the_rows():
    problem = lesson_of(linear(decay_rule="fixed"))
    _, found = loss_and_penalty(problem, linear_weights(START), key(92), np.asarray(0))
    assert_allclose(found, 0.7 * (START**2).sum())


@eqx.filter_jit
def mask_and_step(problem, weights, number):
    """The inputs' masks of one step, and where it leads."""
    key = jax.random.fold_in(problem.key, number)
    network = problem.model.network
    masks = jax.vmap(network.masks)(network.draw(key, 2))[0]
    move = jax.grad(problem.loss)(weights, key)
    return masks, jax.tree.map(lambda one, down: one - 0.1 * down, weights, move)


def test_each_step_goes_down_the_slope_of_indices_of_its_own():
    network = Dropout(2, rate=0.5, hidden=(), drop_inputs=True)
    learning = Learning(steps=2, learning_rate=0.1, optimiser="sgd", indices=2)
    belief = NeuralBelief(
        Model(network, as_law("regression")), learning, key(91), start=stirred(network)
    )
    weights, seen = belief.weights, []
    for number in range(2):
        masks, weights = mask_and_step(lesson_of(belief), weights, np.asarray(number))
        seen.append(tuple(np.asarray(masks).ravel()))
    assert len(set(seen)) == 2
    assert_trees_agree(belief.condition(X, Y, WEIGHT).weights, weights, 1e-6)


def test_the_base_of_an_epinet_learns_from_its_own_output_alone():
    """As if what the epinet adds were a constant of each row and index."""
    network = build("epinet", 1, hidden=(5,))
    model = Model(network, as_law("regression"))
    problem = TrainingProblem.of(model, Learning(indices=3), labelled_of(), key(91))
    weights, x = stirred(network), jnp.asarray(X)

    @jax.jit
    def both(step_key):
        base = lambda layers: apply_layers(layers, x, "tanh")[None, :, 0]
        indices = network.draw(step_key, 3)
        added = network.each(weights, x, indices)[..., 0] - base(weights.base)

        def loss(layers):
            errors = ((base(layers) + added - jnp.asarray(Y)[None]) ** 2).mean(axis=0)
            return errors @ jnp.asarray(WEIGHT) / 5.0 + 0.4**0.7 * squared_length(layers)

        return problem.slope(weights, step_key).base, jax.grad(loss)(weights.base)

    assert_trees_agree(*both(key(92)))


# Optimisers.


@eqx.filter_jit
def moments(belief):
    """Functions, and their moments."""
    return (
        belief.panel(X),
        belief.mean(X),
        belief.variance(X),
        belief.covariance(X),
        belief.covariance(X, X[:3]),
    )


@pytest.mark.parametrize(
    "how",
    [
        {"optimiser": "sgd"},
        {"optimiser": "momentum"},
        {"optimiser": "adam"},
        {"optimiser": "sgd", "clip": 0.8},
    ],
    ids=lambda how: "-".join(map(str, how.values())),
)
def test_steps_agree_with_those_by_hand(how):
    belief = linear(**how).condition(X, Y, WEIGHT)
    path = by_hand(**how)
    assert_allclose(linear_rows(belief.weights), path[-1], rtol=1e-12)
    outputs = path[-1] @ np.concatenate([X, np.ones((8, 1))], axis=1).T
    panel, mean, variance, own, cross = moments(belief)
    assert_allclose(panel, LEVEL + SPREAD * outputs, rtol=1e-12)
    assert_allclose(mean, LEVEL + SPREAD * outputs.mean(axis=0), rtol=1e-12)
    assert_allclose(variance, SPREAD**2 * outputs.var(axis=0), rtol=1e-12)
    both = SPREAD**2 * ((outputs[0] - outputs[1])[:, None] * (outputs[0] - outputs[1])) / 4
    assert_allclose(own, both, rtol=1e-10, atol=1e-14)
    assert_allclose(cross, both[:, :3], rtol=1e-10, atol=1e-14)


def test_the_bound_of_the_gradient_is_reached():
    """Or the test above would say nothing of it."""
    lengths = [
        np.sqrt((squared_slope(rows, X, TARGET, WEIGHT, 0.7) ** 2).sum())
        for rows in by_hand(clip=0.8)[:-1]
    ]
    assert lengths[0] > 0.8
    assert np.allclose(by_hand(clip=1e9)[-1], by_hand()[-1])


@eqx.filter_jit
def learnt(precision, clip):
    """Weights, and functions."""
    options = {"hidden": (3,), "members": 2, "steps": 12, "learning_rate": 0.01, "clip": clip}
    belief = neural_belief("ensemble", 2, precision=precision, seed=3, **options)
    after = belief.condition(X, Y)
    return jax.tree.leaves(after.weights), after.panel(X)


@pytest.mark.slow
@pytest.mark.parametrize("clip", [None, 0.5])
def test_single_precision_follows_double(clip):
    """32-bit numbers carry seven digits; a dozen steps of one network lose few."""
    (single, panel), (double, _) = learnt("single", clip), learnt("double", clip)
    for one, other in zip(single, double, strict=True):
        assert (one.dtype, other.dtype) == (jnp.float32, jnp.float64)
        assert_allclose(one, other, rtol=0, atol=1e-5)
    assert panel.dtype == jnp.float64


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ensemble-plus", "dropout", "hypermodel", "epinet"])
def test_single_precision_is_single_throughout(name):
    network = build(name, 1, hidden=(5,))

    def run(network, start, key):
        model = Model(network, as_law("regression"))
        belief = NeuralBelief(model, Learning(), key, start=start)
        indices = None if network.size else belief.network.draw(key, 4)
        return belief.model.functions(belief.weights, jnp.asarray(X), indices)

    program, _, _ = eqx.filter_make_jaxpr(run)(network, stirred(network), key(91))
    products = [line for line in str(program).splitlines() if "dot_g" in line]
    assert products
    assert not any("f64" in line for line in products)


# One network beside another.


@pytest.fixture(scope="module")
def outcomes():
    """Weights learnt by several networks, compiled at once."""
    plus = build("ensemble-plus", 1, hidden=(5,))
    starts = stirred(plus, seed=4)
    learning = Learning(steps=8, learning_rate=0.03, decay=0.5)
    fixed = Learning(steps=8, learning_rate=0.03, decay=0.5, decay_rule="fixed")

    @eqx.filter_jit
    def run():
        def after(network, weights, learning=learning):
            model = Model(network, as_law("regression"))
            return learn(TrainingProblem.of(model, learning, labelled_of(), key(91)), weights)

        own_shape = {"hidden": (5,), "activation": "tanh", "first_bias": True}

        def alone(own, prior):
            one = jax.tree.map(lambda leaf: leaf[None], (own, prior))
            network = Ensemble(2, members=1, **own_shape, prior=one[1], prior_scale=3.0)
            return after(network, one[0])

        plain = Ensemble(2, members=3, **own_shape)
        one = Ensemble(2, members=1, **own_shape)
        silent = Dropout(2, rate=0.0, hidden=(5,), activation="tanh")
        first = jax.tree.map(lambda leaf: leaf[0], starts)
        return {
            "together": after(plus, starts),
            "alone": jax.vmap(alone)(starts, plus.prior),
            "scale 0": after(
                eqx.tree_at(lambda one: one.prior_scale, plus, jnp.zeros(())), starts
            ),
            "no prior": after(plain, starts),
            "dropout of nothing": after(silent, first, fixed),
            "plain": after(one, jax.tree.map(lambda leaf: leaf[None], first), fixed),
        }

    return run()


def assert_trees_agree(one, other, tolerance=1e-12):
    for mine, yours in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert_allclose(mine, np.asarray(yours).reshape(mine.shape), rtol=0, atol=tolerance)


def test_members_learn_as_each_would_alone(outcomes):
    assert_trees_agree(outcomes["together"], outcomes["alone"])


def test_priors_of_scale_zero_are_none(outcomes):
    assert_trees_agree(outcomes["scale 0"], outcomes["no prior"])
    with_prior, without = (
        np.asarray(outcomes[name].weights[0]) for name in ("together", "no prior")
    )
    assert np.abs(with_prior - without).max() > 0.01


def test_dropout_of_nothing_learns_as_a_plain_network(outcomes):
    assert_trees_agree(outcomes["dropout of nothing"], outcomes["plain"])


@eqx.filter_jit
def of_one_network(name, **more):
    """A belief before and after labels, and its variance."""
    belief = neural_belief(name, 2, hidden=(5,), steps=3, seed=5, **more)
    after = belief.condition(X, Y)
    return belief, after, after.variance(X)


@pytest.mark.slow
def test_an_ensemble_of_one_is_a_plain_network():
    one, plain = of_one_network("ensemble", members=1), of_one_network("mlp")
    assert eqx.filter_jit(eqx.tree_equal)(one, plain)
    assert_array_equal(plain[2], np.zeros(8))


# Batches.


@pytest.fixture(scope="module")
def batches():
    """Rows of 60 steps of three rows each; rows 3 and 8 of 10 are absent."""
    weight = np.where(np.isin(np.arange(10), [3, 8]), 0.0, 0.5)
    x, y = RNG.normal(size=(10, 2)), RNG.normal(size=10)
    problem = lesson_of(linear(batch=3), weight, x, y)
    pick = jax.vmap(lambda number: problem._batch(number, problem.labelled.weight))
    return np.asarray(jax.jit(pick)(np.arange(60))), problem


def test_absent_rows_are_in_no_batch(batches):
    rows, _ = batches
    assert not np.isin(rows, [3, 8]).any()


def test_every_present_row_is_seen_once_an_epoch_up_to_its_border(batches):
    """Eight rows: an epoch has 8 places; the batch at its end takes the rest from its front."""
    rows, _ = batches
    places = np.arange(60)[:, None] * 3 + np.arange(3)[None, :]
    epochs = np.repeat(places[:, 0] // 8, 3).reshape(60, 3)
    for epoch in range(20):
        seen = rows[epochs == epoch]
        assert len(set(seen.tolist())) == min(len(seen), 8)
        assert np.bincount(seen, minlength=10).max() <= 1 + (len(seen) > 8)
    order = [tuple(rows[epochs == epoch]) for epoch in range(20)]
    assert len(set(order)) == 20  # shuffled anew
    counts = np.bincount(rows.ravel(), minlength=10)[[0, 1, 2, 4, 5, 6, 7, 9]]
    assert counts.sum() == 180
    assert counts.min() >= 14  # at least six of eight rows of each epoch, by turns


def test_a_step_sees_the_rows_of_its_batch_alone(batches):
    rows, problem = batches
    x, y, weight = (np.asarray(leaf) for leaf in jax.tree.leaves(problem.labelled))
    number = 7
    own = rows[number]
    errors = (START @ np.concatenate([x[own], np.ones((3, 1))], axis=1).T * SPREAD) + LEVEL
    errors = ((errors - y[own]) / SPREAD) ** 2 * weight[own]
    expected = errors.sum() / weight[own].sum()
    decay = 0.7 / weight.sum() * (START**2).sum()  # of all rows, not of those of a batch
    found, _ = loss_and_penalty(problem, linear_weights(START), key(92), np.asarray(number))
    assert_allclose(found, expected + decay, rtol=1e-12)


# Early stopping.


@eqx.filter_jit
def held_out(problem):
    return problem._held_out


def test_early_stopping_keeps_the_weights_best_on_rows_held_out():
    belief = linear(holdout=0.4, steps=40)
    held = np.asarray(held_out(lesson_of(belief)))
    assert 1 <= held.sum() <= 5
    # Rows held out ask for the path's own place after 12 steps.
    train = np.where(held, 0.0, 1.0)
    path = by_hand(train, steps=40)
    ones = np.concatenate([X, np.ones((8, 1))], axis=1)
    y = np.where(held, LEVEL + SPREAD * (path[12] @ ones.T).mean(axis=0), Y)
    loss = [(((rows @ ones.T - (y - LEVEL) / SPREAD) ** 2) @ held).sum() for rows in path[1:]]
    best = 1 + int(np.argmin(loss))
    assert 1 < best < 40
    found = belief.condition(X, y)
    assert_allclose(linear_rows(found.weights), path[best], rtol=1e-11)


def test_with_no_row_held_out_the_last_weights_are_kept():
    belief = linear(holdout=1e-9)
    assert not np.asarray(held_out(lesson_of(belief))).any()
    found = belief.condition(X, Y, WEIGHT)
    assert_allclose(linear_rows(found.weights), by_hand()[-1], rtol=1e-12)


# In turn.


@eqx.filter_jit
def in_turn(belief):
    """After five labels, and after the others too."""
    first = belief.condition(X[:5], Y[:5], WEIGHT[:5])
    return first, first.condition(X[5:], Y[5:], WEIGHT[5:])


def test_learning_anew_makes_labels_in_turn_teach_as_labels_at_once():
    _, turns = in_turn(linear())
    assert_allclose(linear_rows(turns.weights), by_hand()[-1], rtol=1e-12)
    assert_array_equal(turns.labelled.x, X)


def test_going_on_begins_at_the_present_weights():
    first, second = in_turn(linear(restart=False))
    middle = by_hand(WEIGHT[:5], x=X[:5], y=TARGET[:5])[-1]
    assert_allclose(linear_rows(first.weights), middle, rtol=1e-12)
    assert_allclose(linear_rows(second.weights), by_hand(start=middle)[-1], rtol=1e-12)


def test_learning_in_parts_is_learning_at_once_and_reports():
    """With batches, whose rows depend on the number of the step."""
    belief = linear(steps=43, batch=3, optimiser="adam")
    reports = []
    parts = belief.learn(X, Y, WEIGHT, report=lambda *done: reports.append(done))
    assert_trees_agree(parts.weights, belief.condition(X, Y, WEIGHT).weights)
    assert reports == [*((done, 43) for done in range(2, 43, 2)), (43, 43)]
    assert_trees_agree(belief.learn(X, Y, WEIGHT).weights, parts.weights, 0.0)


def test_no_steps_leave_the_first_weights():
    assert_array_equal(linear_rows(linear(steps=0).condition(X, Y).weights), START)


def test_a_belief_is_not_changed_by_what_it_learns():
    belief = linear()
    belief.condition(X, Y, WEIGHT)
    assert_array_equal(linear_rows(belief.weights), START)
    assert belief.labelled is None


# What is refused.


def test_learning_that_diverges_is_refused():
    with pytest.raises(
        NumericalError, match=r"^Learning diverged: weights are not finite; low"
    ):
        linear(learning_rate=1e200).condition(X, Y, WEIGHT)


def test_rows_with_other_features_are_refused():
    for act in (lambda x: linear().condition(x, Y), lambda x: linear().mean(x)):
        with pytest.raises(
            InvalidInput, match=r"^x has 3 features but the network has 2; give"
        ):
            act(np.ones((8, 3)))


def test_no_labels_at_all_are_refused():
    with pytest.raises(
        InvalidInput, match=r"^There are no labels to learn from; give at least"
    ):
        linear().condition(np.zeros((0, 2)), np.zeros(0))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"optimiser": "lbfgs"},
            r"^optimiser must be one of adam, sgd, momentum; it is 'lbfgs",
        ),
        (
            {"gradient": "exact"},
            r"^gradient must be one of auto, unroll, truncated, forward, im",
        ),
        ({"decay_rule": "l1"}, r"^decay_rule must be one of network, fixed; it is 'l1'\.$"),
        (
            {"bootstrap": "half"},
            r"^bootstrap must be one of none, bernoulli, exponential, pois",
        ),
        ({"learning_rate": 0.0}, r"^learning_rate must be greater than 0; it is 0\.$"),
        ({"decay": -1.0}, r"^decay must be at least 0; it is -1\.$"),
        ({"steps": 1.5}, r"^steps must be a whole number; it is 1\.5\.$"),
        ({"batch": 0}, r"^batch must be at least 1; it is 0\.$"),
        ({"clip": -1.0}, r"^clip must be greater than 0; it is -1\.$"),
        ({"holdout": 1.0}, r"^holdout must be below 1; it is 1\.$"),
        ({"holdout": -0.1}, r"^holdout must be at least 0; it is -0\.1\.$"),
        ({"label_noise": -1.0}, r"^label_noise must be at least 0; it is -1\.$"),
    ],
)
def test_impossible_ways_to_learn_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        Learning(**options)
