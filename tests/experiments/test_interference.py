"""The study of interference: its worlds, its arms, and what it makes of answers."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import interference as study
from labelwise.cli.runs import Task

FOLDER = Path(__file__).parents[2] / "experiments" / "results" / "interference"


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["correct", "skip"])
def test_an_arm_is_marked_and_its_answer_is_better_than_the_truth(arm, monkeypatch):
    monkeypatch.setattr(study, "ROUNDS", 1)
    (row,) = study.work(Task(f"{arm}, numbers", 0))
    assert row["flagged"] == 1
    assert row["value"] < row["truth"]
    assert row["wide"] > row["width"]
    assert (row["corrected"], row["missing"]) == {"correct": (4, 0), "skip": (0, 4)}[arm]


def test_the_worst_rows_are_those_of_the_largest_losses():
    world = study.World.__new__(study.World)
    world.loss = {f"pool {row}": float(row) for row in range(9)}
    assert world.worst(list(world.loss)) == ["pool 8", "pool 7", "pool 6", "pool 5"]
    assert world.truth == 4.0


def test_rows_are_summed_by_hand():
    rows = pd.DataFrame(
        {
            "policy": ["honest, 0/1"] * 2 + ["skip, 0/1"] * 2,
            "seed": [0, 1] * 2,
            "covered": [1, 1, 0, 1],
            "width": [1.0, 3.0, 1.0, 2.0],
            "covered_wide": [1, 1, 0, 1],
            "wide": [1.0, 3.0, 4.0, 6.0],
            "flagged": [0, 0, 1, 0],
            "seconds": [1.0] * 4,
        }
    )
    found = study.summarise(rows, "by hand")
    skipped = found["arms"]["skip, 0/1"]
    assert (skipped["covered"], skipped["covered_wide"], skipped["flagged"]) == (0.5, 0.5, 0.5)
    assert (skipped["width"], skipped["wide"]) == (0.75, 2.5)
    assert found["held_or_flagged"] == skipped["held_or_flagged"] == 1.0


def test_every_distorted_arm_is_held_or_marked():
    summary = json.loads((FOLDER / "summary.json").read_text())
    assert summary["held_or_flagged"] == 1.0
    assert len(summary["arms"]) == len(study.NAMES) == 16
    rows = pd.read_csv(FOLDER / "rows.csv")
    again = study.summarise(rows, summary["command"])
    for name, arm in summary["arms"].items():
        np.testing.assert_allclose(list(again["arms"][name].values()), list(arm.values()))
