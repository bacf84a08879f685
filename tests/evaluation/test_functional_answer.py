"""Numbers of all labels together by drawn rows: consistent, with intervals that hold."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from labelwise.estimands.catalogue import ESTIMANDS
from labelwise.evaluation.functional_answer import (
    functional_values,
    influence_of_known,
    linearise,
)
from labelwise.survey.aipw import estimates
from labelwise.survey.draws import DrawRecord, RoundDraws
from labelwise.survey.intervals import mean_interval

SIZE, ROUNDS, BATCH, RUNS = 300, 4, 25, 300
FUNCTIONALS = [name for name, metric in ESTIMANDS.items() if metric.functional is not None]
NOBODY = np.zeros(SIZE, bool)


def functional_named(name):
    functional = ESTIMANDS[name].functional
    assert functional is not None
    return functional


@cache
def pool():
    """Masses, scores, 0/1 labels that scores tell something of, and numbers."""
    rng = np.random.default_rng(7)
    score = rng.uniform(0.05, 0.95, SIZE)
    y = (rng.uniform(size=SIZE) < 0.2 + 0.6 * score**2).astype(float)
    return rng.uniform(0.5, 1.5, SIZE), score, y, score + rng.normal(0.0, 0.3, SIZE)


def labels_of(name):
    _, _, y, numbers = pool()
    return numbers if name == "median-error" else y


def predicted(name, rng):
    """Bad predictions of the terms: too flat, and with noise."""
    _, score, *_ = pool()
    mean = 0.3 + 0.2 * score + 0.05 * rng.normal(size=SIZE)
    if name != "median-error":
        return mean[None]
    return np.stack([mean - score, (mean - score) ** 2 + 0.2])


def played(name, seed):
    """The record of a survey in rounds, with draws that prefer high scores."""
    rng = np.random.default_rng([seed, 1])
    mass, score, *_ = pool()
    labels, known, rounds = labels_of(name), NOBODY.copy(), []
    for _ in range(ROUNDS):
        open_, rows, chances, left = ~known, [], [], ~known
        for _ in range(BATCH):
            law = (0.3 + score) * left
            row = int(rng.choice(SIZE, p=law / law.sum()))
            chances.append(law[row] / law.sum())
            rows.append(row)
            left = left & (np.arange(SIZE) != row)
        terms = predicted(name, rng)
        rounds.append(RoundDraws(np.array(rows), np.array(chances), open_, terms))
        known = known | np.isin(np.arange(SIZE), rows)
    seen = np.where(known, labels, np.nan)
    terms = ESTIMANDS[name].stack(seen, score)
    return DrawRecord(mass, terms, tuple(rounds), NOBODY, NOBODY), seen


def truth_of(name):
    mass, score, *_ = pool()
    return float(functional_named(name).value(labels_of(name), mass / mass.sum(), score))


@pytest.mark.parametrize("name", FUNCTIONALS)
def test_drawn_rows_tell_the_truth_on_average_and_their_intervals_hold(name):
    """100 of 300 rows; intervals hold in 90 % of 300 surveys, up to three standard errors."""
    functional, score, truth = functional_named(name), pool()[1], truth_of(name)
    found, held = [], []
    for seed in range(RUNS):
        values = estimates(linearise(functional, *played(name, seed), score)).values[:, 0]
        low, high = mean_interval(values, 0.9)
        found.append(values.mean())
        held.append(low <= truth <= high)
    spread = np.std(found, ddof=1)
    # The bias of a bent number falls as one over the draws: a tenth of the spread here.
    assert abs(np.mean(found) - truth) < 5.0 * spread / np.sqrt(RUNS)
    assert abs(np.mean(held) - 0.9) < 3.0 * np.sqrt(0.9 * 0.1 / RUNS)


@pytest.mark.parametrize("name", FUNCTIONALS)
def test_once_all_rows_are_drawn_it_is_the_number_of_all_labels(name):
    mass, score, *_ = pool()
    labels, rng = labels_of(name), np.random.default_rng(0)
    rows = rng.permutation(SIZE)
    open_ = ~NOBODY
    first = RoundDraws(rows, 1.0 / np.arange(SIZE, 0, -1), open_, predicted(name, rng))
    known = RoundDraws(rows[-1:], np.ones(1), np.arange(SIZE) == rows[-1], first.predictions)
    record = DrawRecord(mass, ESTIMANDS[name].stack(labels, score), (known,), NOBODY, NOBODY)
    found = estimates(linearise(functional_named(name), record, labels, score)).values
    np.testing.assert_allclose(found, truth_of(name), rtol=1e-9)
    assert first.size == SIZE


@pytest.mark.parametrize("name", FUNCTIONALS)
def test_in_imagined_pools_known_and_imagined_rows_count_by_their_weight(name):
    """Two labels for each imagined row, half its weight each."""
    mass, score, *_ = pool()
    functional, labels = functional_named(name), labels_of(name)
    rng = np.random.default_rng(3)
    some = rng.permutation(labels[:200])[None, None] * np.ones((2, 3, 1))
    some[1] = 1.0 - some[1]
    parts = [(some, mass[:200], score[:200]), (labels[200:], mass[200:], score[200:])]
    found = functional_values(functional, parts)
    weight = np.concatenate([mass[:200] / 2, mass[:200] / 2, mass[200:]])
    joined = np.concatenate([some[0, 0], some[1, 0], labels[200:]])
    truth = functional.value(
        joined, weight / weight.sum(), np.concatenate([score[:200], score[:200], score[200:]])
    )
    np.testing.assert_allclose(found, np.full(3, truth), rtol=1e-9)


def test_labels_that_are_all_alike_have_no_answer():
    record, seen = played("auc", 0)
    rounds = tuple(replace(one, predictions=0.0 * one.predictions) for one in record.rounds)
    nothing = np.where(np.isnan(seen), np.nan, 0.0)
    bare = replace(record, terms=nothing[None], rounds=rounds)
    assert linearise(functional_named("auc"), bare, nothing, pool()[1]) is None


def test_missing_labels_pull_where_they_move_the_number():
    mass, score, y, _ = pool()
    some = np.where(np.arange(SIZE) < 100, y, np.nan)
    moved = influence_of_known(functional_named("auc"), some, mass, score)
    slope = moved.of_labels(np.ones(SIZE))
    assert slope[np.argmax(score)] > 0.0 > slope[np.argmin(score)]
