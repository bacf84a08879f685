"""Metrics of several classes in numpy, and with two classes against those of 0/1 labels."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics

from labelwise.errors import InvalidInput
from labelwise.estimands.classes import (
    ClassEstimand,
    ClassShare,
    EveryChance,
    MulticlassAccuracy,
    MulticlassLogLoss,
)
from labelwise.estimands.named import Accuracy, LogLoss, MeanOutcome
from labelwise.likelihoods import BernoulliLikelihood, CategoricalLikelihood, GaussianLikelihood
from tests.estimands.chances import MASS, SCORE, SIZE, WHERE, X, weights

LAW = CategoricalLikelihood(3)
RNG = np.random.default_rng(12)
F = RNG.normal(size=(SIZE, 3))
CHANCES = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
GIVEN = RNG.dirichlet(np.ones(3), SIZE)  # by the predictor
CALLED = GIVEN.argmax(axis=1).astype(float)
LABELS = RNG.integers(0, 3, SIZE)

MASSES = pytest.mark.parametrize("mass", [None, MASS], ids=["even", "weighted"])
GROUPS = pytest.mark.parametrize("where", [None, WHERE], ids=["all", "group"])


def value(estimand, f=F, law=LAW):
    return float(estimand.value(jnp.asarray(f), law))


def certain(labels):
    """Functions that leave no doubt about the class."""
    return 1e3 * np.eye(3)[labels]


def average(values, mass, where):
    return np.average(values, weights=weights(mass, where))


@MASSES
@GROUPS
def test_values_are_expectations_over_classes(mass, where):
    rows = np.arange(SIZE)
    right = CHANCES[rows, CALLED.astype(int)]
    found = value(MulticlassAccuracy(X, CALLED, 3, mass, where))
    assert found == pytest.approx(average(right, mass, where), rel=1e-12)
    cost = -(CHANCES * np.log(GIVEN)).sum(axis=1)
    found = value(MulticlassLogLoss(X, GIVEN, mass, where))
    assert found == pytest.approx(average(cost, mass, where), rel=1e-12)
    for of in range(3):
        found = value(ClassShare(X, of, 3, mass, where))
        assert found == pytest.approx(average(CHANCES[:, of], mass, where), rel=1e-12)


@MASSES
@GROUPS
def test_on_known_labels_they_are_what_scikit_learn_says(mass, where):
    f, w = certain(LABELS), weights(mass, where)
    found = value(MulticlassAccuracy(X, CALLED, 3, mass, where), f)
    expected = metrics.accuracy_score(LABELS, CALLED, sample_weight=w)
    assert found == pytest.approx(expected, rel=1e-12)
    found = value(MulticlassLogLoss(X, GIVEN, mass, where), f)
    expected = metrics.log_loss(LABELS, GIVEN, labels=[0, 1, 2], sample_weight=w)
    assert found == pytest.approx(expected, rel=1e-12)


def test_shares_of_all_classes_sum_to_one():
    shares = [value(ClassShare(X, of, 3, MASS, WHERE)) for of in range(3)]
    assert sum(shares) == pytest.approx(1.0, rel=1e-12)


def test_a_class_held_impossible_costs_much_but_not_everything():
    sure = np.eye(3)[(LABELS + 1) % 3]
    assert value(MulticlassLogLoss(X, sure), certain(LABELS)) == pytest.approx(-np.log(1e-6))


def test_any_worth_of_classes_is_summed():
    worth = RNG.normal(size=(SIZE, 3))
    expected = average((worth * CHANCES).sum(axis=1), MASS, WHERE)
    found = value(ClassEstimand(X, worth, MASS, WHERE))
    assert found == pytest.approx(expected, rel=1e-12)


def test_the_variances_of_every_chance_sum_to_their_mean_over_rows():
    draws = RNG.normal(size=(30, SIZE, 3))
    share = MASS / MASS.sum()
    aim = EveryChance(jnp.asarray(X), jnp.asarray(share))
    values = np.array([aim.value(jnp.asarray(one), LAW) for one in draws])
    chances = np.exp(draws) / np.exp(draws).sum(axis=2, keepdims=True)
    expected = share @ chances.var(axis=0).sum(axis=1)
    assert values.var(axis=0).sum() == pytest.approx(expected, rel=1e-12)


# With two classes.


@pytest.mark.parametrize("link", ["logit", "probit"])
@MASSES
@GROUPS
def test_two_classes_are_0_and_1(link, mass, where):
    f, law = RNG.normal(size=SIZE), BernoulliLikelihood(link)
    called = (SCORE >= 0.5).astype(float)
    both = np.stack([1.0 - SCORE, SCORE], axis=1)
    pairs = [
        (MulticlassAccuracy(X, called, 2, mass, where), Accuracy(X, SCORE, 0.5, mass, where)),
        (MulticlassLogLoss(X, both, mass, where), LogLoss(X, SCORE, mass, where)),
        (ClassShare(X, 1, 2, mass, where), MeanOutcome(X, mass, where)),
    ]
    for ours, theirs in pairs:
        assert_allclose(value(ours, f, law), value(theirs, f, law), rtol=1e-12)


# What is refused.

ONE_SENTENCE = [
    (lambda: MulticlassAccuracy(X, CALLED + 1.0, 3), "predicted must hold classes from 0 to 2"),
    (lambda: MulticlassAccuracy(X, CALLED + 0.5, 3), "predicted must hold classes from 0 to 2"),
    (lambda: MulticlassAccuracy(X, CALLED[:-1], 3), "predicted has 11 values but the target"),
    (lambda: MulticlassAccuracy(X, CALLED, 1), "classes must be at least 2; it is 1"),
    (lambda: MulticlassAccuracy(X, CALLED, 3.0), "classes must be a whole number"),
    (lambda: ClassShare(X, 3, 3), "of must be a class from 0 to 2; it is 3"),
    (lambda: ClassShare(X, -1, 3), "of must be a class from 0 to 2; it is -1"),
    (lambda: ClassShare(X, 0, 1), "classes must be at least 2; it is 1"),
    (lambda: MulticlassLogLoss(X, 2.0 * GIVEN), "chances must not be negative, and sum to 1"),
    (lambda: MulticlassLogLoss(X, GIVEN - np.eye(3)[0] + np.eye(3)[1]), "must not be negative"),
    (lambda: MulticlassLogLoss(X, GIVEN[1:]), "chances has 11 rows but the target has 12"),
    (lambda: MulticlassLogLoss(X, SCORE), "chances must have"),
    (lambda: ClassEstimand(X, GIVEN[1:]), "worth has 11 rows but the target has 12"),
    (lambda: ClassShare(X, 0, 3, where=np.zeros(SIZE)), "where holds for no target row"),
    (lambda: value(ClassShare(X, 0, 4)), "about 3 classes but the estimand about 4"),
    (lambda: value(ClassShare(X, 0, 3), F[:, 0], BernoulliLikelihood()), "about 2 classes"),
    (
        lambda: value(ClassShare(X, 0, 3), F[:, 0], GaussianLikelihood(jnp.asarray(0.1))),
        "need a belief about classes",
    ),
    (lambda: value(MeanOutcome(X)), "several classes have no mean; use MulticlassAccuracy"),
    (lambda: value(Accuracy(X, SCORE)), "several classes have no mean; use MulticlassAccuracy"),
]


@pytest.mark.parametrize(("make", "message"), ONE_SENTENCE)
@pytest.mark.usefixtures("unchecked")
def test_what_makes_no_sense_is_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
