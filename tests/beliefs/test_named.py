"""The front door: labels in, a belief that has learnt from them out."""

import equinox as eqx
import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import labelwise as lw
from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.fit_mixture import fit_mixture
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.beliefs.mixture import Mixture
from labelwise.beliefs.named import fit
from labelwise.beliefs.neural.fitting import fit_neural
from labelwise.beliefs.neural.last_layer import fit_last_layer
from labelwise.names import BELIEFS

RNG = np.random.default_rng(70)
X, AT = RNG.normal(size=(12, 2)), RNG.normal(size=(5, 2))
Y = X[:, 0] + 0.1 * RNG.normal(size=12)
CLASSES = (X[:, 0] > 0).astype(float)
SMALL = {"hidden": (3,), "steps": 3}
QUICK = {"kernel": "rbf", "starts": 1}


@eqx.filter_jit
def says(belief, x, at):
    """At rows seen and unseen."""
    return [(belief.mean(rows), belief.variance(rows)) for rows in (x, at)]


def assert_same(found, expected):
    for mine, theirs in zip(says(found, X, AT), says(expected, X, AT), strict=True):
        assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


def test_a_mixture_has_learnt_from_the_labels_it_was_fitted_to():
    fitted = fit_mixture(X, Y, components=3, starts=1, kernel="rbf", spread=[1.0, 2.0], seed=4)
    found = fit(X, Y, components=3, spread=[1.0, 2.0], seed=4, **QUICK)
    assert isinstance(found, Mixture)
    assert found.size == 3
    assert_same(found, fitted.posterior)
    assert_same(found, fitted.prior.condition(X, Y))
    wide, narrow = (np.asarray(says(belief, X, AT)[0][1]) for belief in (fitted.prior, found))
    assert (narrow < 0.5 * wide).all()


def test_one_component_is_the_best_process_itself():
    best = fit_mixture(X, Y, components=1, starts=1, kernel="rbf").best
    found = fit(X, Y, "gp", components=1, **QUICK)
    assert isinstance(found, GaussianProcess)
    assert_same(found, best.posterior)


@pytest.mark.slow
def test_labels_that_are_0_or_1_make_a_classifier():
    found = fit(X, CLASSES, components=1, **QUICK)
    assert isinstance(found, GaussianProcessClassifier)
    assert found.labelled.x.shape == X.shape
    probit = fit(X, CLASSES, "gp-classifier", components=1, link="probit", **QUICK)
    assert probit.link == "probit"
    assert isinstance(fit(X, CLASSES, "gp", components=1, **QUICK), GaussianProcess)


def test_a_predictor_is_in_the_prior_mean():
    found = fit(X, Y, predictor_column=1, components=1, **QUICK)
    assert found.prior_mean.column == 1


@pytest.mark.slow
def test_networks_learn_as_campaigns_have_them():
    options = {"members": 2, "noise": 0.1, **SMALL}
    fitted = fit_neural("ensemble", X, Y, seed=3, predictor_column=1, **options)
    found = fit(X, Y, "ensemble", seed=3, predictor_column=1, **options)
    assert_same(found, fitted.build().condition(X, Y))
    binary = fit(X, CLASSES, "ensemble", members=2, **SMALL)
    assert binary.likelihood.support == (0.0, 1.0)


@pytest.mark.slow
def test_a_last_layer_is_standardised_over_the_population():
    options = {"components": 1, "hidden": (3,), "steps": 3, "activation": "tanh"}
    fitted = fit_last_layer(X, Y, population=AT, seed=2, **options)
    assert_same(fit(X, Y, "last-layer", population=AT, seed=2, **options), fitted.posterior)


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"belief": "gpp"}, "belief"),
        ({"belief": ["gp"]}, "belief"),
        ({"kernle": "rbf"}, "kernle"),
        ({"kernel": "rbff"}, "kernel"),
        ({"components": 0}, "components"),
        ({"belief": "ensemble", "memberz": 3}, "memberz"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_there_is_not_is_refused(refused, options, where):
    with refused(where=where):
        fit(X, Y, **options)


def test_every_name_is_in_the_refusal():
    with pytest.raises(lw.InvalidInput) as error:
        lw.fit(X, Y, "perceptron")
    assert all(f"'{name}'" in str(error.value) for name in BELIEFS)


def single():
    return GaussianProcess(RBF(0.8, 1.5), 0.2)


@eqx.filter_jit
def doings(belief, x, y, at, key):
    """What callers do with a belief without asking of what kind it is."""
    after = belief.condition(x, y).few(4)
    moments = lambda component: (component.mean(at), component.variance(at))
    return {
        "average": after.average(lambda component: component.mean(at)),
        "moments": after.total_moments(moments),
        "each": after.each(lambda component: component.covariance(at)),
        "weight": after.weight,
        "heaviest": after.heaviest.mean(at),
    }


def test_a_mixture_of_one_and_its_component_answer_alike():
    key = jax.random.key(0)
    alone, mixed = (doings(b, X, Y, AT, key) for b in (single(), Mixture.of([single()])))
    for name, value in alone.items():
        assert_allclose(value, mixed[name], rtol=1e-12, err_msg=name)


def test_beliefs_say_what_they_are():
    classifier = GaussianProcessClassifier(RBF())
    kinds = [single(), classifier, Mixture.of([single()]), Mixture.of([classifier])]
    assert [belief.is_gaussian for belief in kinds] == [True, False, True, False]
    assert not any(belief.is_trained for belief in kinds)
    network = lw.beliefs.neural_belief("mlp", 2, hidden=(3,))
    assert (network.is_trained, network.is_gaussian) == (True, False)
    assert Mixture.of([single()]).planned.size == 1
