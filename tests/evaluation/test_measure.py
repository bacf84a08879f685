"""An interval from arrays: against scikit-learn, by simulation, and as notebooks show it."""

from functools import cache

import numpy as np
import pytest
import sklearn.metrics as metrics

import labelwise as lw
from labelwise.metric_words import METRICS

SIZE, LABELS, RUNS = 4000, 120, 300
ASKED = [name for name in METRICS if name not in ("ate", "att", "ece")]
OPTIONS = {"within": {"tolerance": 0.4}, "quantile-loss": {"quantile": 0.7}}
NUMBERS = ("median-error", "within", "quantile-loss", "mae", "r2")


@cache
def population():
    rng = np.random.default_rng(5)
    score = rng.uniform(0.05, 0.95, SIZE)
    y = (rng.uniform(size=SIZE) < score**1.5).astype(float)
    return score, y, score + 0.3 * rng.normal(size=SIZE)


def labels_for(name):
    _, y, numbers = population()
    return numbers if name in NUMBERS else y


@pytest.mark.parametrize("name", ["accuracy", "auc", "mse", "mcc", "recall", "median-error"])
def test_all_labels_give_the_number_of_scikit_learn(name):
    score, labels = population()[0], labels_for(name)
    found = lw.measure(labels, score, metric=name)
    truth = {
        "accuracy": lambda: metrics.accuracy_score(labels, score >= 0.5),
        "auc": lambda: metrics.roc_auc_score(labels, score),
        "mse": lambda: metrics.mean_squared_error(labels, score),
        "mcc": lambda: metrics.matthews_corrcoef(labels, score >= 0.5),
        "recall": lambda: metrics.recall_score(labels, score >= 0.5),
        "median-error": lambda: metrics.median_absolute_error(labels, score),
    }[name]()
    assert found.value == pytest.approx(truth, rel=2e-3)
    assert found.labels == SIZE


@pytest.mark.parametrize("weighted", [False, True], ids=["uniform", "unequal"])
@pytest.mark.parametrize("name", ASKED)
def test_intervals_hold_whatever_rows_were_drawn(name, weighted):
    """Of 300 samples, in 90 % up to three standard errors, and two for a bent number's bend."""
    score, labels = population()[0], labels_for(name)
    options, draw = OPTIONS.get(name, {}), np.random.default_rng(9)
    chance = (0.3 + score) / (0.3 + score).sum() if weighted else np.full(SIZE, 1 / SIZE)
    truth = lw.measure(labels, score, metric=name, **options).value
    held, found = [], []
    for _ in range(RUNS if name in ("accuracy", "auc") else 60):
        rows = draw.choice(SIZE, LABELS, p=chance)
        given = {"probabilities": chance[rows]} if weighted else {}
        one = lw.measure(labels[rows], score[rows], score, name, **given, **options)
        low, high = one.interval()
        held.append(low <= truth <= high)
        found.append(one.value)
    error = np.sqrt(0.9 * 0.1 / len(held))
    assert np.mean(held) > 0.9 - 5.0 * error
    spread = np.std(found, ddof=1)
    assert abs(np.mean(found) - truth) < (0.15 + 4.0 / np.sqrt(len(found))) * spread


def test_predictions_that_tell_make_it_narrower():
    score, y, _ = population()
    rows = np.random.default_rng(1).choice(SIZE, 400)
    alone = lw.measure(y[rows], score[rows], metric="mean")
    helped = lw.measure(y[rows], score[rows], score, metric="mean")
    assert helped.std < 0.9 * alone.std
    assert alone.value == pytest.approx(y[rows].mean())
    assert alone.std == pytest.approx(y[rows].std(ddof=1) / 20.0)


def test_the_calibration_error_is_not_the_noise_of_its_bins():
    rng = np.random.default_rng(2)
    score = rng.uniform(size=20_000)
    y = (rng.uniform(size=20_000) < score).astype(float)
    found = lw.measure(y[:150], score[:150], score, metric="ece")
    bins = np.floor(score[:150] * 10)
    plain = sum(abs((y - score)[:150][bins == one].sum()) for one in range(10)) / 150
    assert found.value < 0.75 * plain
    assert found.interval()[0] < 0.03


BAD = {
    "y": lambda: lw.measure([1.0], [0.5]),
    "prediction": lambda: lw.measure([1, 0, 1]),
    "pool_prediction": lambda: lw.measure([1, 0], [0.5, 0.1], [np.nan]),
    "probabilities": lambda: lw.measure([1, 0], [0.5, 0.1], [0.5, 0.1], probabilities=[0, 1]),
    "metric": lambda: lw.measure([1, 0], metric="ate"),
    "options": lambda: lw.measure([1, 0], [0.5, 0.1], cut=3),
    "estimand": lambda: lw.measure([1, 0], [0.5, 0.1], metric="acuracy"),
}


@pytest.mark.parametrize("where", BAD)
def test_arrays_that_do_not_suit_are_refused(where, refused):
    with refused(where=where):
        BAD[where]()


SCORES = np.linspace(0.05, 0.95, 20)
HALF = (SCORES > 0.4).astype(float)


def broken(y, prediction):
    raise RuntimeError("no such rate")


STRANGE = {
    "classes": ("y", lambda: lw.measure([1, 2], [0.5, 0.1])),
    "words": ("y", lambda: lw.measure(["polite", "rude"], [0.5, 0.1])),
    "a gap": ("y", lambda: lw.measure([1, 0, np.nan], [0.5, 0.1, 0.2])),
    "two columns": ("prediction", lambda: lw.measure([1, 0], [[0.5, 0.1], [0.2, 0.3]])),
    "one class": ("y", lambda: lw.measure(0.0 * SCORES, SCORES, SCORES, "auc")),
    "a class has no median error": (
        "y",
        lambda: lw.measure(HALF, SCORES, None, "median-error"),
    ),
    "per cent": ("prediction", lambda: lw.measure(HALF, 100 * SCORES, None, "brier")),
    "own code that fails": ("estimand", lambda: lw.measure(HALF, SCORES, None, broken)),
    "own code without a number": (
        "estimand",
        lambda: lw.measure(HALF, SCORES, None, lambda y, p: y * np.nan),
    ),
    "chances of being in the sample": (
        "probabilities",
        lambda: lw.measure(
            HALF, SCORES, np.resize(SCORES, 400), probabilities=np.full(20, 20 / 400)
        ),
    ),
}


@pytest.mark.parametrize("case", STRANGE)
def test_what_would_give_a_wrong_number_is_refused(case, refused):
    where, call = STRANGE[case]
    with refused(where=where):
        call()


def test_yes_and_no_are_one_and_zero():
    said = np.where(HALF == 1.0, "Yes", "no")
    assert lw.measure(said, SCORES).value == lw.measure(HALF, SCORES).value
    assert lw.measure(HALF == 1.0, SCORES).value == lw.measure(HALF, SCORES).value


def test_a_function_that_only_this_session_has():
    cost = lambda y, prediction: 3.0 * y * (prediction < 0.5)
    found = lw.measure(HALF, SCORES, metric=cost)
    assert found.value == pytest.approx(np.mean(3.0 * HALF * (SCORES < 0.5)))


def test_the_value_stays_within_what_the_number_can_be():
    """Three labels put right what the population is expected to be, by more than there is."""
    score, y, _ = population()
    rows = np.random.default_rng(0).choice(SIZE, (50, 3))
    mixed = [three for three in rows if 0.0 < y[three].mean() < 1.0]
    values = [lw.measure(y[three], score[three], score, "auc").value for three in mixed]
    assert len(values) > 10
    assert 0.0 <= min(values) <= max(values) <= 1.0


def test_it_is_told_in_a_line_and_in_a_notebook():
    score, y, _ = population()
    found = lw.measure(y[:50], score[:50], score)
    assert str(found).startswith("accuracy: 0.")
    assert "from 50 labels" in str(found)
    assert "<table>" in found._repr_html_()
    assert found.interval(0.5)[0] > found.interval(0.95)[0]


def test_the_front_door_shows_what_there_is():
    shown = dir(lw)
    assert {"measure", "Campaign", "Evaluation", "Question", "estimands", "stop"} <= set(shown)
    assert not [name for name in shown if name.startswith("_") and name != "__version__"]
    assert "import_module" not in shown
