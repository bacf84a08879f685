"""Other models' results on the same rows: an evaluation matrix with one column to be filled."""

import numpy as np
import pandas as pd
import pytest

from experiments.matrix import evaluation_matrix
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.prepare import prepare
from labelwise.tables.columns import Columns

QUICK = {"name": "auto", "components": 1}
COLUMNS = Columns(label="right", history=["model_*"])


def matrix(rows=150, seed=0):
    results, right = evaluation_matrix(seed, rows, models=12)
    named = {f"model_{place}": results[:, place] for place in range(results.shape[1])}
    return pd.DataFrame(named), right


def ready(frame, columns=COLUMNS, question="positive-rate"):
    return prepare(frame, columns, question, QUICK, telling_apart=False)


def test_results_become_factors_and_what_is_expected():
    frame, _ = matrix()
    made = ready(frame)
    factors = [f"history ({place})" for place in range(1, 5)]
    assert made.feature_names == (*factors, "history (mean)")
    expected = (frame.sum(axis=1) + 1.0) / 14.0
    np.testing.assert_allclose(made.arrays.pool_predictions["history (mean)"], expected)
    assert made.arrays.output.log_odds
    assert any("12 other models" in note for note in made.encoder.notes)
    assert "model_0" not in made.tables["pool"]


def test_factors_span_the_results_of_a_matrix_of_their_rank():
    """Four factors and a constant give every result of a matrix of rank four exactly."""
    rng = np.random.default_rng(1)
    results = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 9)) + rng.normal(size=9)
    frame = pd.DataFrame(results, columns=[f"model_{place}" for place in range(9)])
    pool = ready(
        frame.assign(score=results[:, 0]), Columns("", "y", "score", history=["model_*"]), "mse"
    )
    factors = pool.tables["pool"][[f"history ({place})" for place in range(1, 5)]]
    span = np.column_stack([factors, np.ones(60)])
    left = results - span @ np.linalg.lstsq(span, results)[0]
    np.testing.assert_allclose(left, 0.0, atol=1e-9)


def test_a_gap_is_no_result():
    frame, _ = matrix()
    frame.loc[0, ["model_1", "model_2"]] = np.nan
    made = ready(frame)
    known = frame.loc[0].dropna()
    expected = (known.sum() + 1.0) / (len(known) + 2.0)
    assert made.arrays.pool_predictions["history (mean)"][0] == pytest.approx(expected)


def test_a_prediction_of_ones_own_stays_the_output():
    frame, _ = matrix()
    rng = np.random.default_rng(3)
    named = Columns("", "right", "score", history=["model_*"])
    made = ready(frame.assign(score=rng.uniform(size=150)), named, "accuracy")
    assert made.spec.columns.prediction == "score"
    assert "history (mean)" in made.feature_names


def test_other_models_are_no_prediction(refused):
    frame, _ = matrix()
    with refused(where="prediction"):
        ready(frame, question="accuracy")
    with refused(where="given.model_0"):
        ready(frame.assign(model_0="fine"))
    with refused(where="history"):
        ready(frame, Columns(label="right", history=["other_*"]))


def test_the_matrix_tells_most_before_any_label():
    """After one round of a start from nothing the interval is far narrower than uniform's."""
    frame, right = matrix(rows=300)
    evaluation = Evaluation.of(frame, COLUMNS, "positive-rate", belief=QUICK)
    round_ = evaluation.ask(30)
    assert round_.draws.together
    after = evaluation.tell(round_, [float(right[row]) for row in round_.rows]).estimate()
    low, high = after.interval()
    assert low < right.mean() < high
    uniform = 2.0 * 1.645 * np.sqrt(right.var() / 30)
    assert high - low < 0.8 * uniform
