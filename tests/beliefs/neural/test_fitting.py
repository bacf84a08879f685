"""What a fit gives a network: mean, spread and noise as documented, and stored priors."""

import json

import equinox as eqx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from labelwise.beliefs.means import ConstantMean, PredictorMean
from labelwise.beliefs.neural.fitting import FEW, LEAST_NOISE, fit_neural
from labelwise.beliefs.neural.stored import describe_network
from labelwise.beliefs.stored import build_belief
from labelwise.codec import encode
from labelwise.errors import InvalidInput
from labelwise.likelihoods import CategoricalLikelihood

RNG = np.random.default_rng(60)
X = RNG.uniform(-2, 2, (80, 2))
TRUE_NOISE = 0.25
Y = 5.0 + 2.0 * X[:, 0] - X[:, 1] + np.sqrt(TRUE_NOISE) * RNG.normal(size=80)
CLASSES = (X[:, 0] > 0.6).astype(float)
SMALL = {"hidden": (4,), "activation": "tanh", "members": 3, "steps": 8, "learning_rate": 0.05}


def quick(x=X, y=Y, name="ensemble", **options):
    """Without learning: the noise is given, or there are few labels."""
    return fit_neural(name, x, y, **SMALL | options)


# Mean and spread.


def test_numbers_have_their_mean_and_spread():
    prior = quick(noise=0.3)
    assert encode(prior.mean) == {"name": "constant", "level": pytest.approx(Y.mean())}
    assert prior.spread == pytest.approx(Y.std())
    assert (prior.noise, prior.features, prior.labels) == (0.3, 2, "regression")


def test_with_a_predictor_the_mean_is_the_line_of_least_squares():
    prior = quick(noise=0.3, predictor_column=1)
    design = np.c_[np.ones(80), X[:, 1]]
    line, left, *_ = np.linalg.lstsq(design, Y, rcond=None)
    assert isinstance(prior.mean, PredictorMean)
    assert prior.mean.column == 1
    assert_allclose([prior.mean.intercept, prior.mean.slope], line, rtol=1e-9)
    assert prior.spread == pytest.approx(np.sqrt(left[0] / 80))


def test_a_predictor_that_does_not_vary_gives_a_constant():
    x = X.copy()
    x[:, 1] = 2.5
    assert isinstance(quick(x, noise=0.3, predictor_column=1).mean, ConstantMean)


def test_0_and_1_have_the_log_odds_of_their_share():
    prior = quick(y=CLASSES, labels="binary")
    ones = CLASSES.sum() + 1.0
    assert encode(prior.mean) == {
        "name": "constant",
        "level": pytest.approx(np.log(ones / (82 - ones))),
    }
    assert (prior.spread, prior.noise) == (1.0, 0.0)
    assert quick(y=CLASSES, labels=2) == prior


def test_several_classes_have_no_mean_to_fit():
    prior = quick(y=np.arange(80.0) % 3, labels=3)
    assert (encode(prior.mean), prior.spread) == ({"name": "constant", "level": 0.0}, 1.0)
    assert built(prior).likelihood == CategoricalLikelihood(3)


@pytest.mark.parametrize("level", [0.0, 0.1, -3e8])
def test_labels_that_are_all_alike_have_the_spread_1(level):
    assert quick(y=np.full(80, level), noise=0.3).spread == 1.0


def test_a_predictor_that_is_right_leaves_the_spread_of_labels():
    """What is left is rounding, and no scale to learn on."""
    y = 0.3 + 1.7 * X[:, 1]
    assert quick(y=y, noise=0.3, predictor_column=1).spread == pytest.approx(y.std())


# Noise.


def test_few_labels_have_the_usual_noise():
    prior = quick(X[: FEW - 1], Y[: FEW - 1])
    assert prior.noise == pytest.approx(0.1 * Y[: FEW - 1].var())


def test_the_noise_is_what_functions_miss():
    """On rows held out, of a function that is easy to learn: a plane."""
    done = []
    prior = fit_neural(
        "ensemble",
        X,
        Y,
        seed=1,
        report=lambda done_now, of: done.append((done_now, of)),
        **SMALL | {"steps": 400},
    )
    print("noise:", prior.noise, "true:", TRUE_NOISE, "labels:", Y.var())
    assert TRUE_NOISE / 2 < prior.noise < 2 * TRUE_NOISE
    assert done[-1] == (400, 400)


@pytest.mark.slow
def test_functions_that_disagree_by_all_they_miss_leave_the_least_noise():
    """Before it has learnt, a network with a strong prior says anything, and knows it."""
    prior = quick(name="ensemble-plus", prior_hidden=(3,), prior_scale=50.0, steps=1)
    assert prior.noise == pytest.approx(LEAST_NOISE * Y.var())


@pytest.mark.slow
def test_the_noise_is_never_more_than_labels_vary_by():
    """One function, astray after one step that was far too long."""
    astray = {"hidden": (4,), "activation": "tanh", "steps": 1, "learning_rate": 30.0}
    assert fit_neural("mlp", X, Y, **astray).noise == pytest.approx(Y.var())


# Priors that are stored.


@pytest.mark.slow
def test_a_prior_from_a_file_is_the_same_belief():
    prior = quick(
        name="ensemble-plus", prior_hidden=(3,), noise=0.3, predictor_column=0, seed=4
    )
    stored = json.loads(json.dumps(describe_network(prior) | {"fitted": True}))
    ours, theirs = built(prior), build_belief(stored)  # as a campaign keeps it
    assert same(ours, theirs)
    before, learnt = means(ours)
    assert_array_equal(learnt, means(theirs)[1])
    assert np.abs(np.asarray(learnt) - np.asarray(before)).max() > 1e-3


@eqx.filter_jit
def means(belief):
    """Before and after six labels."""
    return belief.mean(X), belief.condition(X[:6], Y[:6]).mean(X)


def built(prior):
    """Compiled whole, rather than draw by draw."""
    return eqx.filter_jit(prior.build)()


same = eqx.filter_jit(eqx.tree_equal)


def test_a_seed_makes_another_network():
    assert not same(built(quick(noise=0.3)), built(quick(noise=0.3, seed=5)))


# What is refused.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: quick(name="perceptron"),
            "There is no neural belief 'perceptron'; use one of",
        ),
        (lambda: quick(layers=3), "The belief 'ensemble' has no option 'layers'; it has "),
        (lambda: quick(name="mlp"), "The belief 'mlp' has no option 'members'; it has "),
        (lambda: quick(labels="words"), "labels must be 'regression', 'binary' or a number"),
        (lambda: quick(labels="binary"), "y must hold 0 or 1; "),
        (lambda: quick(y=CLASSES + 2.0, labels=3), "y must hold 0, 1 or 2; "),
        (lambda: quick(y=Y[1:]), "y has 79 values but x has 80 rows"),
        (lambda: quick(noise=-1.0), "noise must be at least 0; it is -1"),
        (lambda: quick(predictor_column=2), "predictor_column must be a column of x"),
        (lambda: quick(X[:0], Y[:0]), "Fitting needs labelled rows; there are none"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_is_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
