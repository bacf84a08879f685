"""The study of what people bring, in small, its truths held to scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as reference

from experiments import intake
from experiments.matrix import evaluation_matrix
from labelwise.cli.runs import Task


@pytest.fixture
def small(monkeypatch):
    sizes = {"POOL": 90, "LABELS": 12, "ROUNDS": 1, "ROWS": 90, "MODELS": 8, "TIMES": 20}
    for name, size in sizes.items():
        monkeypatch.setattr(intake, name, size)


def test_a_campaign_of_each_kind_and_its_figures(small):
    rows = [row for name in ("digits", "matrix") for row in intake.work(Task(name, 1))]
    chances, labels, _ = intake.table_of("digits")
    some = np.random.default_rng([1, 3]).permutation(len(labels))[:90]
    said, labels = chances[some].argmax(axis=1), labels[some]
    digits, matrix = rows
    assert digits["first_truth"] == pytest.approx(reference.accuracy_score(labels, said))
    expected = reference.f1_score(labels, said, average="macro")
    assert digits["second_truth"] == pytest.approx(expected)
    assert digits["third_truth"] == pytest.approx(reference.cohen_kappa_score(labels, said))
    assert matrix["first_truth"] == evaluation_matrix(1, 90, 8)[1].mean()
    assert np.isnan(matrix["second_truth"])
    cells = intake.summarise(pd.DataFrame(rows), "")["cells"]
    assert list(cells)[-1] == "matrix positive-rate"
    for cell in cells.values():
        assert cell["covered"] in (0.0, 1.0)
        assert cell["standard_error"] == 0.0  # of one campaign
        assert cell["width"] > 0.0
    told = intake.as_markdown({"cells": cells}).splitlines()
    held = 100.0 * cells["digits kappa"]["covered"]
    assert told[4].startswith(f"| digits kappa | {held:.0f} ± 0 % | ")


def test_a_label_is_worth_what_its_error_says():
    """With a quarter of uniform's variance, near four times the labels; exactly, in a pool."""
    keys = intake.KEYS
    rows = [
        dict(zip(keys, (0.5, 0.5 + off, 0.4, 0.6, 0.04, 0.5, 0.4, 0.6), strict=True))
        for off in (0.1, -0.1)
    ]
    frame = pd.DataFrame([{f"first_{key}": one for key, one in row.items()} for row in rows])
    times = intake._figures(frame, "first")["times_uniform"]
    variance = lambda labels: 1.0 / labels - 1.0 / intake.POOL
    assert variance(times * intake.LABELS) == pytest.approx(variance(intake.LABELS) / 4.0)


def test_a_matrix_is_nearly_of_low_rank():
    results, right = evaluation_matrix(0)
    assert results.shape == (1000, 40)
    explained = np.linalg.svd(results - results.mean(axis=0), compute_uv=False) ** 2
    assert 0.65 < explained[:4].sum() / explained.sum() < 0.85
    assert 0.2 < right.mean() < 0.8
