"""The study of reported metrics: its truths, and what it makes of rows."""

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics as metrics

from experiments import metrics as study
from experiments.coverage_draws import Drawn
from labelwise.estimands.catalogue import ESTIMANDS


def drawn(numbers: bool) -> Drawn:
    rng = np.random.default_rng(0)
    x, score = rng.normal(size=(60, 2)), rng.uniform(0.05, 0.95, 60)
    y = score + rng.normal(size=60) if numbers else (rng.uniform(size=60) < score) * 1.0
    return Drawn(x[:20], y[:20], x[20:], y[20:], score[:20], score[20:])


def test_truths_are_scikit_learns():
    problem = drawn(numbers=False)
    y, score = problem.pool_y, problem.pool_prediction
    assert study.truth_of(problem, "auc") == pytest.approx(metrics.roc_auc_score(y, score))
    truth = metrics.matthews_corrcoef(y, score >= 0.5)
    assert study.truth_of(problem, "mcc") == pytest.approx(truth)
    problem = drawn(numbers=True)
    y, score = problem.pool_y, problem.pool_prediction
    assert study.truth_of(problem, "within") == np.mean(np.abs(y - score) <= 0.5)
    truth = metrics.mean_pinball_loss(y, score, alpha=0.8)
    assert study.truth_of(problem, "quantile-loss") == pytest.approx(truth)


def test_every_metric_asked_for_is_of_the_tables_kind():
    assert set(study.tables("class")) == {"support2", "credit"}
    assert all(ESTIMANDS[name].labels == "binary" for name in study.ASKED["class"])
    assert not any(ESTIMANDS[name].labels == "binary" for name in study.ASKED["number"])


def test_rows_are_summed_by_hand():
    rows = pd.DataFrame(
        {
            "policy": ["support2"] * 4,
            "metric": ["auc"] * 4,
            "seed": range(4),
            "truth": [0.5] * 4,
            **{f"{one}value": [0.5, 0.5, 0.5, 0.9] for one in study.KINDS.values()},
            **{f"{one}low": [0.4, 0.4, 0.4, 0.8] for one in study.KINDS.values()},
            **{f"{one}high": [0.6, 0.6, 0.6, 1.0] for one in study.KINDS.values()},
        }
    )
    rows["drawn_low"] = [0.4, np.nan, 0.4, np.nan]
    cell = study.summarise(rows, "by hand")["cells"]["support2, auc"]
    assert (cell["campaigns"], cell["combined"]["coverage"]) == (4, 0.75)
    assert cell["combined"]["rms_error"] == pytest.approx(0.2)
    assert cell["drawn"]["coverage"] == 1.0
    shown = study.tabulate({"cells": {"a": cell}})
    assert list(shown.columns[1].cells) == ["75 % / 0.2"]
    told = study.as_markdown({"cells": {"a": cell}}).splitlines()
    assert told[-1] == "| a | 75 % / 0.2 | 75 % / 0.2 | 100 % / 0.2 | 4 |"
