"""Draws that somebody brings as a belief: against regression by hand, and in campaigns."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import labelwise as lw
from labelwise.beliefs.brought import DrawsPrior, fit_draws
from labelwise.beliefs.stored import build_belief, describe_fit
from labelwise.evaluation.prepare import prepare
from labelwise.tables.columns import Columns

DRAWS, ROWS, NOISE = 40, 30, 0.04


@pytest.fixture(scope="module")
def lines():
    """Draws of lines through noise: rows × draws, and the labels of one more line."""
    rng = np.random.default_rng(0)
    x = np.linspace(-1.0, 1.0, ROWS)
    draws = rng.normal(size=DRAWS) + np.outer(x, rng.normal(1.0, 0.5, DRAWS))
    labels = 0.3 + 0.8 * x + np.sqrt(NOISE) * rng.normal(size=ROWS)
    return draws, labels


def test_it_learns_as_a_normal_law_with_the_draws_moments_does(lines):
    draws, labels = lines
    seen, rest = np.arange(8), np.arange(8, ROWS)
    belief = lw.fit(draws[seen], labels[seen], "draws", noise=NOISE)
    mean, cover = draws.mean(axis=1), np.cov(draws)
    gain = cover[np.ix_(rest, seen)] @ np.linalg.inv(
        cover[np.ix_(seen, seen)] + NOISE * np.eye(8)
    )
    expected = mean[rest] + gain @ (labels[seen] - mean[seen])
    left = cover[np.ix_(rest, rest)] - gain @ cover[np.ix_(seen, rest)]
    assert_allclose(belief.mean(draws[rest]), expected, atol=1e-9)
    assert_allclose(belief.covariance(draws[rest]), left, atol=1e-9)


def test_noise_is_what_the_labels_make_likeliest(lines):
    draws, labels = lines
    found = fit_draws({"labels": "regression"}, draws, labels).noise
    mean, cover = draws.mean(axis=1), np.cov(draws)

    def surprise(noise):
        whole = cover + noise * np.eye(ROWS)
        away = labels - mean
        return np.linalg.slogdet(whole)[1] + away @ np.linalg.solve(whole, away)

    grid = found * np.exp(np.linspace(-2.0, 2.0, 41))
    assert surprise(found) <= min(map(surprise, grid)) + 1e-6


def test_chances_enter_by_their_log_odds():
    rng = np.random.default_rng(1)
    chances = rng.uniform(0.05, 0.95, (6, 20))
    belief = DrawsPrior(0.0, binary=True).build()
    odds = np.log(chances / (1.0 - chances))
    assert_allclose(belief.mean(chances), odds.mean(axis=1), rtol=1e-9)
    assert_allclose(belief.covariance(chances), np.cov(odds), rtol=1e-9)
    assert np.isfinite(belief.mean(np.array([[0.0, 1.0]]))).all()


def test_it_is_stored_and_built_again():
    prior = DrawsPrior(0.3, binary=False)
    again = build_belief(describe_fit(prior))
    assert float(again.likelihood.noise) == pytest.approx(0.3)


COLUMNS = Columns("id", "y", prediction="score", draws="draw_*")


def tables(seed=2, size=120):
    """A score, draws around the truth's chances, and labels of some rows."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size)
    level = x[:, None] + 0.7 * rng.normal(size=12) + 0.3 * rng.normal(size=(size, 12))
    draws = pd.DataFrame(
        1.0 / (1.0 + np.exp(-level)), columns=[f"draw_{index}" for index in range(12)]
    )
    labels = (rng.uniform(size=size) < 1.0 / (1.0 + np.exp(-x))) * 1.0
    frame = draws.assign(id=np.arange(size), score=1.0 / (1.0 + np.exp(-x)), other=rng.normal())
    return frame.assign(y=np.where(np.arange(size) < 15, labels, np.nan)), labels


@pytest.mark.slow
def test_a_campaign_asks_and_answers_by_them_alone():
    frame, labels = tables()
    prepared = prepare(frame, COLUMNS, "accuracy", telling_apart=False)
    assert prepared.spec.belief["name"] == "draws"
    assert prepared.feature_names == tuple(f"draw_{index}" for index in range(12))
    assert any("12 draws" in note for note in prepared.encoder.notes)
    evaluation = prepared.evaluation()
    assert_allclose(evaluation.arrays.pool, frame.iloc[15:, :12])
    round_ = evaluation.ask(10)
    told = evaluation.tell(round_, [labels[15 + row] for row in round_.rows])
    low, high = told.estimate().interval()
    assert low <= ((frame["score"] >= 0.5) == labels)[15:].mean() <= high
    assert told.estimate().combined.draws == 10


@pytest.mark.parametrize(
    ("columns", "belief", "where"),
    [
        (Columns("id", "y", prediction="score"), "draws", "columns.draws"),
        (COLUMNS, "gp-classifier", "columns.draws"),
        (COLUMNS, {"name": "draws", "noise": 0.1}, "noise"),
        (Columns("id", "y", draws="nothing_*"), "auto", "draws"),
        (Columns("id", "y", draws="draw_1"), "auto", "draws"),
        (Columns("id", "y", draws="draw_*", features=("other",)), "auto", "features"),
    ],
    ids=["no columns", "belief", "noise", "none", "one", "features"],
)
def test_what_does_not_fit_is_refused(refused, columns, belief, where):
    with refused(where=where):
        prepare(tables()[0], columns, "mean", belief, telling_apart=False)


def test_draws_of_classes_must_be_chances(refused):
    frame, _ = tables()
    with refused(where="labelled.draw_4"):
        prepare(frame.assign(draw_4=3.0), COLUMNS, "accuracy", telling_apart=False)


def test_noise_must_be_positive(refused):
    draws = np.arange(12.0).reshape(4, 3)
    with refused(where="noise"):
        lw.fit(draws, np.arange(4.0), "draws", noise=-1.0)
