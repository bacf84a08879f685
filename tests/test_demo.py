"""The demonstration plays its campaigns to their end, and says what came of them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from labelwise.cli.demo import CLASSICAL, POLICIES, _compared, _survey, _verdict
from tests.test_cli import ok_json


@pytest.mark.slow
@pytest.mark.usefixtures("few_patients")
def test_the_demo_plays_one_campaign_and_many_and_writes_a_report(tmp_path):
    found = ok_json("demo", "--rounds", 2, "--campaigns", 2, "--out", tmp_path / "new")
    assert [step["labels"] for step in found["steps"]] == [0, 10, 20]
    rows = pd.DataFrame(found["rows"])
    each = rows.groupby(["way", "seed"])["labels"].apply(list)
    assert each["planned"].tolist() == each["random"].tolist() == [[0, 20]] * 2
    assert each["classical"].tolist() == [[10, 20]] * 2
    start = rows[rows["labels"] == 0].pivot(index="seed", columns="way", values="estimate")
    assert start["planned"].tolist() == pytest.approx(start["random"].tolist(), rel=1e-9)
    for name in ("demo.png", "demo.csv", "report.html"):
        assert (tmp_path / "new" / name).stat().st_size > 100
    assert ok_json("status", tmp_path / "new" / "campaign")["pool"]["labelled"] == 20
    first, line, *_, why = found["answers"]
    assert f"it is {found['steps'][-1]['estimate']:.3f}, " in first
    assert line.startswith("accuracy")
    assert "the interval" in why


def made_up(planned, random, held=True):
    """The ends of campaigns with these errors; classical intervals are twice as wide."""
    ways = (planned, random, random)
    return pd.DataFrame(
        {
            "way": way,
            "seed": seed,
            "labels": 20,
            "error": error,
            "width": 4.0 if way == CLASSICAL else 2.0,
            "held": held,
        }
        for way, errors in zip((*POLICIES, CLASSICAL), ways, strict=True)
        for seed, error in enumerate(errors)
    )


def ends(rows):
    return [rows[rows["way"] == way].set_index("seed") for way in POLICIES]


def test_what_is_said_of_many_campaigns_comes_from_them():
    first, saved, _ = _verdict(made_up([3.0, 4.0], [6.0, 8.0]))
    assert f"planned: root mean squared error {np.sqrt(12.5):.3f}" in first
    assert f"random: root mean squared error {np.sqrt(50.0):.3f}" in first
    assert first.count("2.000 wide on average, held in 2 of 2") == 2
    assert "needs about 4.0 times as many labels" in saved


def test_the_survey_beside_them_is_the_textbooks():
    """Share of those drawn, Student's interval, the finite ward allowed for."""
    right = np.random.default_rng(3).uniform(0.3, 0.7, size=40)
    *_, last = _survey(right, 10, seed=5)
    drawn = right[np.random.default_rng([5, 2]).permutation(40)[:20]]
    error = drawn.std(ddof=1) / np.sqrt(20) * np.sqrt(1.0 - 20 / 40)
    low, high = stats.t.interval(0.9, 19, drawn.mean(), error)
    assert [last["low"], last["high"]] == pytest.approx([low, high], rel=1e-6)
    assert last["error"] == pytest.approx(abs(drawn.mean() - right.mean()), rel=1e-12)


@pytest.mark.parametrize(
    ("planned", "random", "said"),
    [
        ([1.0, 1.1, 0.9], [2.0, 2.1, 2.0], "A clear difference: the planned"),
        ([2.0, 2.1, 2.0], [1.0, 1.1, 0.9], "higher than the random ones'"),
        ([1.0, 3.0, 1.0], [2.0, 1.0, 2.0], "No clear difference"),
    ],
)
def test_a_difference_is_called_one_only_where_it_is_clear(planned, random, said):
    assert said in _compared(*ends(made_up(planned, random)))
