"""Every metric of the catalogue: against scikit-learn, and what a belief says of it."""

from functools import cache
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sklearn.metrics as metrics
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression

from labelwise.estimands.catalogue import ESTIMANDS
from labelwise.estimands.forms import build_estimand
from labelwise.estimands.metrics import Metric, compared
from labelwise.likelihoods import BernoulliLikelihood, GaussianLikelihood

RNG = np.random.default_rng(0)
SIZE = 60
BINARY = (RNG.uniform(size=SIZE) < 0.4).astype(float)
SCORE = np.clip(0.5 * BINARY + RNG.uniform(-0.2, 0.7, SIZE), 0.02, 0.98)
OTHER = RNG.uniform(0.02, 0.98, SIZE)
NUMBERS = 3.0 + RNG.normal(size=SIZE)
GUESS = NUMBERS + RNG.normal(size=SIZE)
THRESHOLD = 0.45
CALLED = (SCORE >= THRESHOLD).astype(int)

# From labels, predictions and the classes called; sklearn's arguments are (truth, prediction).
TRUTHS = {
    "mse": lambda y, p, c: metrics.mean_squared_error(y, p),
    "mae": lambda y, p, c: metrics.mean_absolute_error(y, p),
    "bias": lambda y, p, c: np.mean(p) - np.mean(y),
    "r2": lambda y, p, c: metrics.r2_score(y, p),
    "mean": lambda y, p, c: np.mean(y),
    "positive-rate": lambda y, p, c: np.mean(y),
    "accuracy": lambda y, p, c: metrics.accuracy_score(y, c),
    "error-rate": lambda y, p, c: metrics.zero_one_loss(y, c),
    "recall": lambda y, p, c: metrics.recall_score(y, c),
    "precision": lambda y, p, c: metrics.precision_score(y, c),
    "f1": lambda y, p, c: metrics.f1_score(y, c),
    "specificity": lambda y, p, c: metrics.recall_score(y, c, pos_label=0),
    "false-positive-rate": lambda y, p, c: np.sum((c == 1) & (y == 0)) / np.sum(y == 0),
    "brier": lambda y, p, c: metrics.brier_score_loss(y, p),
    "log-loss": lambda y, p, c: metrics.log_loss(y, p),
    "within": lambda y, p, c: np.mean(np.abs(y - p) <= 0.45),
    "quantile-loss": lambda y, p, c: metrics.mean_pinball_loss(y, p, alpha=0.45),
    "median-error": lambda y, p, c: metrics.median_absolute_error(y, p),
    "balanced-accuracy": lambda y, p, c: metrics.balanced_accuracy_score(y, c),
    "mcc": lambda y, p, c: metrics.matthews_corrcoef(y, c),
    "macro-recall": lambda y, p, c: metrics.recall_score(y, c, average="macro"),
    "macro-precision": lambda y, p, c: metrics.precision_score(y, c, average="macro"),
    "macro-f1": lambda y, p, c: metrics.f1_score(y, c, average="macro"),
    "kappa": lambda y, p, c: metrics.cohen_kappa_score(y, c),
    "auc": lambda y, p, c: metrics.roc_auc_score(y, p),
    "average-precision": lambda y, p, c: metrics.average_precision_score(y, p),
    "ece": lambda y, p, c: calibration_error(y, p),
    "calibration-slope": lambda y, p, c: logistic(y, p).coef_[0, 0],
    "calibration-intercept": lambda y, p, c: level(y, p),
}


def calibration_error(y, p):
    """From scikit-learn's reliability curve, which leaves out bins without rows."""
    ones, means = calibration_curve(y, p, n_bins=10)
    rows = np.histogram(p, np.linspace(0.0, 1.0, 11))[0]
    return rows[rows > 0] / len(y) @ np.abs(ones - means)


def log_odds(p):
    return np.log(p) - np.log1p(-p)


def logistic(y, p):
    return LogisticRegression(C=np.inf, tol=1e-13, max_iter=1000).fit(log_odds(p)[:, None], y)


def level(y, p):
    """Added to the log-odds, it makes the predicted number of ones that of the labels."""
    excess = lambda move: np.sum(expit(log_odds(p) + move)) - np.sum(y)
    return brentq(excess, -10.0, 10.0, xtol=1e-13)


METRICS = {name: metric for name, metric in ESTIMANDS.items() if not metric.is_effect}
OF_MEANS = [name for name, metric in METRICS.items() if metric.functional is None]
ANY_NUMBER = [name for name in OF_MEANS if METRICS[name].labels == "any"]
# Beyond rounding: scikit-learn's solver of logistic regressions stops there.
TOLERANCE = {"calibration-slope": 1e-6}

each_metric = pytest.mark.parametrize("name", METRICS)
each_of_means = pytest.mark.parametrize("name", OF_MEANS)
each_of_numbers = pytest.mark.parametrize("name", ANY_NUMBER)


def means_of(metric: Metric, y, prediction, threshold=THRESHOLD):
    return metric.stack(y, prediction, threshold).mean(axis=1)


def value_of(metric: Metric, y, prediction, threshold=THRESHOLD):
    if metric.functional is not None:
        return metric.functional.value(y, np.full(len(y), 1.0 / len(y)), prediction)
    return metric.combine(means_of(metric, y, prediction, threshold))


def test_every_metric_has_a_truth_here():
    assert TRUTHS.keys() == METRICS.keys()


# Its terms, on known labels.


@each_metric
def test_binary_labels_give_the_number_of_scikit_learn(name):
    found = value_of(METRICS[name], BINARY, SCORE)
    truth = TRUTHS[name](BINARY, SCORE, CALLED)
    assert_allclose(found, truth, rtol=TOLERANCE.get(name, 1e-10))


@each_of_numbers
def test_any_labels_give_the_number_of_scikit_learn(name):
    found = value_of(METRICS[name], NUMBERS, GUESS)
    assert_allclose(found, TRUTHS[name](NUMBERS, GUESS, None), rtol=1e-10)


def test_without_a_threshold_it_is_one_half():
    found = value_of(METRICS["recall"], BINARY, SCORE, None)
    assert_allclose(found, metrics.recall_score(BINARY, SCORE >= 0.5), rtol=1e-12)


def test_a_score_at_the_threshold_is_called_positive():
    terms = METRICS["precision"].stack(np.array([1.0, 1.0]), np.array([0.3, 0.29]), 0.3)
    assert terms.tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_certain_scores_cost_a_finite_log_loss():
    terms = METRICS["log-loss"].stack(np.array([1.0, 0.0]), np.array([0.0, 0.0]), None)[0]
    assert_allclose(terms, [-np.log(1e-6), -np.log1p(-1e-6)], rtol=1e-10)


@pytest.mark.parametrize("models", [1, 2])
@each_of_means
def test_the_slope_is_that_of_finite_differences(name, models):
    metric = METRICS[name] if models == 1 else compared(METRICS[name])
    means = means_of(metric, BINARY, SCORE if models == 1 else (SCORE, OTHER))
    assert means.shape == (metric.count,)
    rise = [
        (metric.combine(means + step) - metric.combine(means - step)) / 2e-6
        for step in 1e-6 * np.eye(metric.count)
    ]
    # The step squared times a third derivative, and rounding over the step.
    assert_allclose(metric.slope(means), rise, atol=1e-7)
    assert np.abs(rise).max() > 0.1


@pytest.mark.parametrize("name", [one for one in METRICS if one != "median-error"])
def test_two_models_are_compared_by_the_difference_of_their_numbers(name):
    pair, metric = (SCORE, OTHER), compared(METRICS[name])
    called = (OTHER >= THRESHOLD).astype(int)
    truth = TRUTHS[name](BINARY, SCORE, CALLED) - TRUTHS[name](BINARY, OTHER, called)
    tolerance = TOLERANCE.get(name, 1e-11)
    assert_allclose(value_of(metric, BINARY, pair), truth, atol=tolerance)
    assert_allclose(value_of(metric, BINARY, pair[::-1]), -truth, atol=tolerance)
    plain = METRICS[name].kind
    assert metric.kind == ("smooth" if plain == "ratio" else plain)
    assert compared(METRICS[name]) is metric  # else all would be compiled anew


@each_metric
def test_predictions_are_spread_over_many_labels_of_a_row(name):
    """As for labels that may come: a column for each, all with the row's prediction."""
    many = np.stack([BINARY, 1.0 - BINARY], axis=1)
    wide = METRICS[name].stack(many, SCORE[:, None], THRESHOLD)
    for column, y in enumerate(many.T):
        assert_allclose(wide[:, :, column], METRICS[name].stack(y, SCORE, THRESHOLD))


# What is declared of the terms.


@each_metric
def test_declared_degrees_are_those_of_the_terms(name):
    """Differences of one order more vanish, those of the degree do not."""
    degree = METRICS[name].degree
    steps = np.linspace(-1.3, 2.1, 5)
    terms = METRICS[name].stack(steps[:, None] + 0.0 * SCORE, SCORE[None, :], THRESHOLD)
    if degree is None:
        assert np.abs(np.diff(terms, 3, axis=1)).max() > 0.05
    else:
        assert_allclose(np.diff(terms, degree + 1, axis=1), 0.0, atol=1e-13)
        assert np.abs(np.diff(terms, degree, axis=1)).max() > 0.1


@each_metric
def test_declared_shapes_are_those_of_the_terms(name):
    metric, move = METRICS[name], RNG.normal(size=SIZE)
    steps = np.linspace(-1.3, 2.1, 9)
    terms = metric.stack(steps[:, None] + 0.0 * SCORE, SCORE[None, :], THRESHOLD)
    if metric.convex:
        assert np.diff(terms, 2, axis=1).min() > -1e-13
    if metric.invariance == "row":
        moved = metric.stack(BINARY + move, SCORE + move, THRESHOLD)
        assert_allclose(moved, metric.stack(BINARY, SCORE, THRESHOLD), atol=1e-13)
    if metric.invariance == "shift":
        moved = value_of(metric, NUMBERS + 0.7, GUESS + 0.7)
        assert_allclose(moved, value_of(metric, NUMBERS, GUESS), rtol=1e-12)
    if metric.known_whole:
        assert metric.kind == "ratio"
        assert_allclose(np.ptp(terms[1], axis=0), 0.0)
    assert not metric.known_whole or metric.labels == "binary"


# Its form for a belief.


def form_of(name, score, mass=None):
    x = np.zeros((len(score), 1))
    return build_estimand(METRICS[name], x, score, THRESHOLD, mass)


@pytest.mark.parametrize("name", [one for one in METRICS if one != "median-error"])
def test_labels_without_noise_give_the_number_of_the_terms(name):
    """Without noise an outcome is a label: the estimand of it is that of the sample."""
    truth = form_of(name, SCORE).value(
        jnp.asarray(BINARY), GaussianLikelihood(jnp.asarray(0.0))
    )
    assert_allclose(value_of(METRICS[name], BINARY, SCORE), truth, rtol=1e-10)


@cache
def few():
    """Six rows: scores, function values, masses, and all labels that they may have."""
    rng = np.random.default_rng(4)
    mass = rng.uniform(0.5, 2.0, 6)
    every = np.array(list(product([0.0, 1.0], repeat=6)))
    return rng.uniform(0.1, 0.9, 6), rng.normal(size=6), mass / mass.sum(), every


@pytest.mark.parametrize("link", ["logit", "probit"])
@each_of_means
def test_of_binary_labels_it_combines_the_means_over_all_that_may_come(name, link):
    score, f, mass, every = few()
    likelihood = BernoulliLikelihood(link)
    chance = np.asarray(likelihood.mean(jnp.asarray(f)))
    odds = np.prod(np.where(every == 1.0, chance, 1.0 - chance), axis=1)
    terms = METRICS[name].stack(every, score[None, :], THRESHOLD)
    means = np.einsum("tln,n,l->t", terms, mass, odds)
    found = form_of(name, score, mass).value(jnp.asarray(f), likelihood)
    assert_allclose(found, METRICS[name].combine(means), rtol=1e-11)


@pytest.mark.parametrize("far", [0.0, 1e6], ids=["near 0", "far off"])
@each_of_numbers
def test_of_normal_labels_it_combines_the_means_over_all_that_may_come(name, far):
    """By Gauss–Hermite nodes where terms are polynomials, which they integrate exactly.

    Of other terms, by 200,001 quantiles of the label.
    """
    score, f, mass, _ = few()
    noise, metric = 0.3, METRICS[name]
    if metric.degree is None:
        share = (np.arange(200_001) + 0.5) / 200_001
        nodes, weight = jax.scipy.stats.norm.ppf(share), np.full(200_001, 1 / 200_001)
    else:
        nodes, weight = np.polynomial.hermite_e.hermegauss(8)
        weight = weight / weight.sum()
    y = f[:, None] + np.sqrt(noise) * np.asarray(nodes)[None, :]
    terms = metric.stack(y, score[:, None], THRESHOLD)
    means = np.einsum("tnl,n,l->t", terms, mass, weight)
    found = form_of(name, far + score, mass).value(
        jnp.asarray(far + f), GaussianLikelihood(jnp.asarray(noise))
    )
    moved = far if name == "mean" else 0.0
    # Labels of a million have ten digits after the point.
    tolerance = 1e-6 if metric.degree is None else 1e-11 + 1e-15 * far
    assert_allclose(found - moved, metric.combine(means), rtol=tolerance, atol=tolerance)
