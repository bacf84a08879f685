"""Classification metrics against scikit-learn on known labels, and in expectation by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics

from labelwise.errors import InvalidInput
from labelwise.estimands.named import (
    Accuracy,
    BrierScore,
    ErrorRate,
    F1Score,
    FalsePositiveRate,
    LogLoss,
    Precision,
    Recall,
    Specificity,
)
from labelwise.likelihoods import GaussianLikelihood
from tests.estimands.chances import (
    BERNOULLI,
    CHANCE,
    LABELS,
    MASS,
    SCORE,
    SIZE,
    WHERE,
    X,
    function_of,
    weights,
)

CALLED = (SCORE >= 0.4).astype(float)


def of_called(metric, **options):
    return lambda y, called, w: metric(y, called, sample_weight=w, **options)


# By scikit-learn, from labels, called positives and sample weights.
AT_A_THRESHOLD = {
    Accuracy: of_called(metrics.accuracy_score),
    ErrorRate: of_called(metrics.zero_one_loss),
    Precision: of_called(metrics.precision_score),
    Recall: of_called(metrics.recall_score),
    Specificity: of_called(metrics.recall_score, pos_label=0),
    FalsePositiveRate: lambda y, called, w: (
        1 - metrics.recall_score(y, called, pos_label=0, sample_weight=w)
    ),
    F1Score: of_called(metrics.f1_score),
}
OF_PROBABILITIES = {BrierScore: metrics.brier_score_loss, LogLoss: metrics.log_loss}
KINDS = pytest.mark.parametrize("kind", AT_A_THRESHOLD, ids=lambda kind: kind.__name__)
MASSES = pytest.mark.parametrize("mass", [None, MASS], ids=["even", "weighted"])
GROUPS = pytest.mark.parametrize("where", [None, WHERE], ids=["all", "group"])


def value(estimand, chance, labels=BERNOULLI):
    return float(estimand.value(function_of(chance), labels))


@KINDS
@MASSES
@GROUPS
def test_on_known_labels_it_is_what_scikit_learn_says(kind, mass, where):
    estimand = kind(X, SCORE, 0.4, mass, where)
    expected = AT_A_THRESHOLD[kind](LABELS, CALLED, weights(mass, where))
    assert value(estimand, LABELS) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", OF_PROBABILITIES, ids=lambda kind: kind.__name__)
@MASSES
@GROUPS
def test_scores_of_probabilities_are_what_scikit_learn_says(kind, mass, where):
    estimand = kind(X, SCORE, mass, where)
    expected = OF_PROBABILITIES[kind](LABELS, SCORE, sample_weight=weights(mass, where))
    assert value(estimand, LABELS) == pytest.approx(expected, rel=1e-12)


RATIOS = {
    Recall: lambda w, p: (w * CALLED * p, w * p),
    Specificity: lambda w, p: (w * (1 - CALLED) * (1 - p), w * (1 - p)),
    FalsePositiveRate: lambda w, p: (w * CALLED * (1 - p), w * (1 - p)),
    F1Score: lambda w, p: (2 * w * CALLED * p, w * CALLED + w * p),
    Precision: lambda w, p: (w * CALLED * p, w * CALLED),
}


@pytest.mark.parametrize("kind", RATIOS, ids=lambda kind: kind.__name__)
@MASSES
def test_between_it_is_the_ratio_of_expectations(kind, mass):
    part, whole = RATIOS[kind](weights(mass, None), CHANCE)
    estimand = kind(X, SCORE, 0.4, mass)
    assert value(estimand, CHANCE) == pytest.approx(part.sum() / whole.sum(), rel=1e-12)


LINEAR = {
    "accuracy": (Accuracy, (SCORE, 0.4), lambda y: y == CALLED),
    "error rate": (ErrorRate, (SCORE, 0.4), lambda y: y != CALLED),
    "brier": (BrierScore, (SCORE,), lambda y: (y - SCORE) ** 2),
    "log loss": (
        LogLoss,
        (SCORE,),
        lambda y: -np.where(y, np.log(SCORE), np.log1p(-SCORE)),
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_metrics_are_means_over_drawn_labels(name):
    kind, given, loss = LINEAR[name]
    draws = np.random.default_rng(0).uniform(size=(20_000, SIZE)) < CHANCE
    losses = loss(draws.astype(float)).mean(axis=1)
    error = losses.std() / np.sqrt(len(losses))
    assert abs(value(kind(X, *given), CHANCE) - losses.mean()) < 4 * error


@KINDS
def test_a_score_at_the_threshold_is_called_positive(kind):
    scores = np.where(np.arange(SIZE) < 5, 0.25, 0.125)  # exact in binary
    called = (np.arange(SIZE) < 5).astype(float)
    expected = AT_A_THRESHOLD[kind](LABELS, called, None)
    assert value(kind(X, scores, 0.25), LABELS) == pytest.approx(expected, rel=1e-12)


def test_scores_may_be_log_odds_and_thresholds_negative():
    log_odds = np.log(SCORE / (1 - SCORE))
    threshold = np.log(0.4 / 0.6)
    for kind in AT_A_THRESHOLD:
        by_odds, by_score = kind(X, log_odds, threshold), kind(X, SCORE, 0.4)
        assert value(by_odds, CHANCE) == value(by_score, CHANCE)


def test_shares_of_nobody_are_zero_and_have_a_slope():
    """As scikit-learn says, with zero_division=0; a gradient planner must not meet NaN."""
    nobody = jnp.zeros(SIZE)
    for estimand, f in (
        (Recall(X, SCORE), nobody),
        (Specificity(X, SCORE), nobody + 1.0),
        (FalsePositiveRate(X, SCORE), nobody + 1.0),
        (F1Score(X, SCORE, 2.0), nobody),
    ):
        labels = GaussianLikelihood(jnp.asarray(0.1))
        found, slope = jax.value_and_grad(estimand.value)(f, labels)
        assert found == 0.0
        assert jnp.isfinite(slope).all()


def test_chances_of_a_belief_that_is_not_about_chances_are_cut_off():
    labels = GaussianLikelihood(jnp.asarray(0.1))
    wild = jnp.asarray(np.where(np.arange(SIZE) % 2, CHANCE, 3.0 * CHANCE - 1.0))
    tame = np.clip(np.asarray(wild), 0.0, 1.0)
    assert tame.min() == 0.0
    for kind in (Recall, Specificity, FalsePositiveRate, F1Score):
        estimand = kind(X, SCORE, 0.4)
        assert_allclose(
            estimand.value(wild, labels), estimand.value(jnp.asarray(tame), labels), rtol=1e-15
        )


def test_certain_predictions_that_are_wrong_cost_a_finite_log_loss():
    loss = value(LogLoss(X, 1.0 - LABELS), LABELS)
    assert loss == pytest.approx(-np.log(1e-6), rel=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Precision(X, SCORE, 0.99), "No target row reaches the threshold 0.99"),
        (
            lambda: Precision(X, SCORE, SCORE.max(), where=SCORE < 0.5),
            "No target row reaches the threshold .* lower the threshold",
        ),
        (lambda: BrierScore(X, SCORE + 1.0), "prediction must hold probabilities for this"),
        (lambda: LogLoss(X, -SCORE), "it ranges from -0.* to -0"),
        (lambda: Accuracy(X, SCORE, np.nan), "threshold is NaN or infinite"),
        (lambda: Recall(X, SCORE[:3]), "prediction has 3 values but target x has 12 rows"),
        (lambda: F1Score(X, SCORE, where=np.zeros(SIZE)), "where holds for no target row that"),
        (lambda: Recall(X, SCORE, where=WHERE[:4]), "where must hold True or False for each"),
        (lambda: Recall(X, SCORE, where=MASS), "where must hold True or False for each of the"),
        (lambda: Accuracy(X, SCORE, mass=-MASS), "target mass must not be negative"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
