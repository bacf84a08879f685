"""Metrics of several classes on labels that are all known, held to scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics as reference

from labelwise.estimands.catalogue import find_metric
from labelwise.estimands.class_metrics import NAMES, OF_EACH, called, class_metric

RNG = np.random.default_rng(0)
CLASSES, ROWS = 4, 300
CHANCES = RNG.dirichlet(np.full(CLASSES, 0.7), ROWS)
LABELS = np.array([RNG.choice(CLASSES, p=0.6 * p + 0.1) for p in CHANCES]).astype(float)
SAID = CHANCES.argmax(axis=1)
MASS = RNG.uniform(0.2, 2.0, ROWS)


def found(name, of=0, said=0, mass=None):
    metric = class_metric(name, CLASSES, of, said)
    terms = metric.stack(LABELS, CHANCES)
    return float(metric.combine(np.average(terms, axis=1, weights=mass)))


WHOLE = {
    "accuracy": reference.accuracy_score,
    "balanced-accuracy": reference.balanced_accuracy_score,
    "kappa": reference.cohen_kappa_score,
    "macro-f1": lambda y, p, **w: reference.f1_score(y, p, average="macro", **w),
    "macro-recall": lambda y, p, **w: reference.recall_score(y, p, average="macro", **w),
    "macro-precision": lambda y, p, **w: reference.precision_score(y, p, average="macro", **w),
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("mass", [None, MASS], ids=["alike", "weighed"])
def test_of_all_classes(name, mass):
    expected = WHOLE[name](LABELS, SAID, sample_weight=mass)
    assert found(name, mass=mass) == pytest.approx(expected, abs=1e-12)


def test_of_each_class():
    every = {"labels": range(CLASSES), "average": None}
    recall = reference.recall_score(LABELS, SAID, **every)
    precision = reference.precision_score(LABELS, SAID, **every)
    f1 = reference.f1_score(LABELS, SAID, **every)
    for of in range(CLASSES):
        assert found("recall", of) == pytest.approx(recall[of], abs=1e-12)
        assert found("precision", of) == pytest.approx(precision[of], abs=1e-12)
        assert found("f1", of) == pytest.approx(f1[of], abs=1e-12)
        assert found("positive-rate", of) == pytest.approx(np.mean(of == LABELS), abs=1e-12)


def test_the_confusion_matrix():
    expected = reference.confusion_matrix(LABELS, SAID, normalize="all")
    matrix = [[found("confusion", a, b) for b in range(CLASSES)] for a in range(CLASSES)]
    np.testing.assert_allclose(matrix, expected, atol=1e-12)


def test_of_chances():
    assert found("log-loss") == pytest.approx(reference.log_loss(LABELS, CHANCES), abs=1e-6)
    away = np.sum((CHANCES - np.eye(CLASSES)[LABELS.astype(int)]) ** 2, axis=1)
    assert found("brier") == pytest.approx(away.mean(), abs=1e-12)
    assert found("error-rate") == pytest.approx(1.0 - np.mean(SAID == LABELS), abs=1e-12)


def test_a_class_that_is_not_there_does_not_count():
    """As in scikit-learn, which knows of no class that neither labels nor calls have."""
    none = np.where(CHANCES.argmax(axis=1)[:, None] == 3, np.roll(CHANCES, 1, axis=1), CHANCES)
    none[:, 3] = 0.0
    labels = np.where(LABELS == 3, 0.0, LABELS)
    metric = class_metric("macro-f1", CLASSES)
    value = metric.combine(metric.stack(labels, none).mean(axis=1))
    expected = reference.f1_score(labels, none.argmax(axis=1), average="macro")
    assert value == pytest.approx(expected, abs=1e-12)


MACRO = ["macro-recall", "macro-precision", "macro-f1", "balanced-accuracy"]


@pytest.mark.filterwarnings("ignore")  # scikit-learn's, of classes that labels or calls lack
@pytest.mark.parametrize("name", MACRO)
@pytest.mark.parametrize("where", ["labels", "calls"])
def test_a_class_that_only_labels_or_only_calls_have_counts_as_in_scikit_learn(name, where):
    """A model that never says a class has a precision of 0 there, not one class fewer."""
    labels, chances = LABELS, CHANCES
    if where == "labels":
        labels = np.where(LABELS == 3, 0.0, LABELS)
    else:
        chances = CHANCES * (np.arange(CLASSES) != 3)
    metric = class_metric(name, CLASSES)
    value = metric.combine(metric.stack(labels, chances).mean(axis=1))
    expected = WHOLE[name](labels, chances.argmax(axis=1))
    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_slopes_agree_with_differences(name):
    metric = class_metric(name, CLASSES, 1, 2)
    means = metric.stack(LABELS, CHANCES).mean(axis=1)
    slope = metric.slope(means)
    assert slope.shape == (metric.count,)
    for place in range(metric.count):
        step = np.zeros(metric.count)
        step[place] = 1e-4
        change = metric.combine(means + step) - metric.combine(means - step)
        assert slope[place] == pytest.approx(change / 2e-4, abs=1e-4)


def test_labels_of_any_shape_pick_their_terms():
    metric = class_metric("macro-f1", CLASSES)
    many = RNG.integers(CLASSES, size=(5, ROWS)).astype(float)
    terms = metric.stack(many, CHANCES)
    for place in range(5):
        np.testing.assert_array_equal(terms[:, place], metric.stack(many[place], CHANCES))


def test_one_name_of_each_has_a_ratio():
    assert {class_metric(name, 3).kind for name in OF_EACH} == {"ratio", "mean"}
    np.testing.assert_array_equal(called(CHANCES), SAID)


def test_what_is_of_classes_only_is_no_metric_of_other_labels(refused):
    with refused(where="estimand"):
        find_metric("confusion")
