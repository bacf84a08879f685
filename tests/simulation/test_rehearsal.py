"""Rehearsals: a table with known labels becomes a fair campaign, and summaries add up."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from labelwise.campaign.campaign import Campaign
from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Limits, Question, Sampling, Tables
from labelwise.simulation.bias import BIASES
from labelwise.simulation.rehearsal import Design, Table, average, begin, deal, rehearse
from labelwise.simulation.summary import advantage, labels_needed, summarise
from labelwise.tables.columns import Columns

DESIGN = Design(initial=10, pool=60, rounds=2, batch=4)


def make_frame(size=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, 2))
    y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=size)
    return pd.DataFrame(
        {
            "a": x[:, 0],
            "b": x[:, 1],
            "guess": 0.5 * x[:, 0],
            "w": rng.uniform(size=size),
            "y": y,
        }
    )


COLUMNS = Columns("(row)", "y", prediction="guess", weight="w")
MSE, MEAN = Question("mse"), Question("mean")


def test_the_truth_is_that_of_the_labels_themselves():
    frame = make_frame()
    table = Table.of(frame, COLUMNS, MSE)
    weight = frame["w"] / frame["w"].sum()
    assert table.truth == pytest.approx(
        float((weight * (frame["y"] - frame["guess"]) ** 2).sum())
    )
    mean = Table.of(frame, Columns("(row)", "y"), MEAN)
    assert mean.truth == pytest.approx(float(frame["y"].mean()))


@pytest.mark.parametrize("bias", BIASES)
def test_initial_rows_and_pool_are_apart_and_keep_their_labels(bias):
    frame = make_frame()
    table = Table.of(frame, COLUMNS, MSE)
    design = Design(bias, 10, 60, 2, 4)
    initial, pool = deal(table, design, seed=1)
    assert (len(set(initial)), len(set(pool)), len({*initial, *pool})) == (10, 60, 70)
    start = begin(table, design, "campaign", initial, pool, seed=1)
    assert_array_equal(start.arrays.labels, frame["y"].to_numpy()[initial])
    assert len(start.arrays.pool) == 60
    assert len(start.arrays.target) == len(frame)


@pytest.mark.slow
def test_a_rehearsal_is_the_campaign_that_would_be_made(tmp_path):
    """Played on the engine, and through a folder with asks and labels: the same figures."""
    frame = make_frame()
    table = Table.of(frame, COLUMNS, MSE)
    initial, pool = deal(table, DESIGN, seed=2)
    rows = rehearse(table, DESIGN, "campaign", seed=2)
    hidden = table.frame.drop(columns="y")
    campaign = Campaign.create(
        tmp_path / "campaign",
        Tables(table.frame.iloc[initial], hidden.iloc[pool], hidden),
        COLUMNS,
        MSE,
        sampling=Sampling(batch=DESIGN.batch),
        limits=Limits(budget=DESIGN.rounds * DESIGN.batch),
        seed=2,
    )
    label = table.frame.set_index("(row)")["y"]
    for row in rows:
        estimate = campaign.estimate()
        assert row["estimate"] == pytest.approx(estimate.value, rel=1e-9)
        assert row["belief_low"] == pytest.approx(estimate.credible.interval()[0], rel=1e-9)
        if row["round"] < DESIGN.rounds:
            batch = campaign.ask()
            campaign.tell(batch.assign(y=label.loc[batch["(row)"].astype(str)].to_numpy()))


@pytest.mark.slow
def test_policies_start_alike_and_a_seed_repeats_itself():
    table = Table.of(make_frame(), COLUMNS, MSE)
    planned = rehearse(table, DESIGN, "lookahead", seed=3)
    chance = rehearse(table, DESIGN, "random", seed=3)
    figures = ("estimate", "std", "low", "high", "error", "covered")
    assert [planned[0][name] for name in figures] == [chance[0][name] for name in figures]
    assert [row["labels"] for row in planned] == [0, 4, 8]
    again = rehearse(table, DESIGN, "lookahead", seed=3)
    assert [row["estimate"] for row in again] == [row["estimate"] for row in planned]
    assert planned[-1]["error"] == pytest.approx(abs(planned[-1]["estimate"] - table.truth))


def test_a_summary_gives_root_mean_squares_and_shares():
    rows = pd.DataFrame(
        {
            "policy": ["random"] * 4,
            "seed": [0, 0, 1, 1],
            "labels": [0, 5, 0, 5],
            "std": [1.0, 0.5, 3.0, 0.7],
            "low": [0.0, 1.0, 1.0, 2.0],
            "high": [1.0, 3.0, 4.0, 4.0],
            "error": [3.0, 1.0, 4.0, 1.0],
            "covered": [0.0, 1.0, 1.0, 1.0],
        }
    )
    found = summarise(rows, truth=2.0)["policies"]["random"]
    assert found["rmse"] == pytest.approx([12.5**0.5, 1.0])
    assert found["std"] == pytest.approx([2.0, 0.6])
    assert found["width"] == [2.0, 2.0]
    assert found["coverage"] == [0.5, 1.0]
    assert found["belief"] is None


def test_an_advantage_is_taken_within_seeds():
    rows = pd.DataFrame(
        [
            {"policy": policy, "seed": seed, "labels": labels, "error": error}
            for seed, start in enumerate((1.0, 2.0, 4.0))
            for policy, factor in (("random", 1.0), ("lookahead", 0.5))
            for labels, error in ((0, 99.0), (5, start * factor), (10, start * factor))
        ]
    )
    found = advantage(rows, "lookahead")
    gaps = 0.75 * np.array([1.0, 4.0, 16.0])  # 1 - 0.5² of random's squares
    assert found["share"] == pytest.approx(0.75)
    assert found["standard_errors"] == pytest.approx(gaps.mean() / (gaps.std(ddof=1) / 3**0.5))
    assert advantage(rows[rows["seed"] == 0], "lookahead")["standard_errors"] == 0.0


def test_the_labels_needed_come_from_curves_that_fall():
    outcome = lambda values: {"labels": [0, 5, 10, 15], "std": values, "rmse": values}
    found = labels_needed(
        {
            "random": outcome([9.0, 7.0, 3.0, 5.0]),  # ends at 4, reached after 10
            "lookahead": outcome([9.0, 2.0, 4.0, 1.0]),  # 3 after 5, though 4 later
            "never": outcome([9.0, 8.0, 7.0, 6.0]),
        }
    )
    needed = {policy: figures["rmse"] for policy, figures in found.items()}
    assert needed == {"random": 10, "lookahead": 5, "never": None}
    assert labels_needed({"lookahead": outcome([1.0] * 4)}) == {}
    rising = labels_needed({"random": outcome([1.0, 2.0, 3.0, 4.0])})
    assert rising["random"] == {"std": None, "rmse": None}


@pytest.mark.slow
def test_the_plain_average_has_students_interval():
    frame = make_frame()
    table = Table.of(frame, Columns("(row)", "y", prediction="guess"), MSE)
    initial, pool = deal(table, DESIGN, seed=0)
    found = average(table, pool[:5])
    losses = ((frame["y"] - frame["guess"]) ** 2).to_numpy()
    five = losses[pool[:5]]
    assert found.value == pytest.approx(five.mean())
    assert found.std == pytest.approx(five.std(ddof=1) / 5**0.5)
    low, high = stats.t.interval(0.9, 4, five.mean(), stats.sem(five))
    assert found.interval() == pytest.approx((low, high))
    assert average(table, pool[:1]).interval() == (-np.inf, np.inf)
    assert average(table, initial).value == pytest.approx(losses[initial].mean())
    rows = rehearse(table, DESIGN, "average", seed=0)
    assert [row["labels"] for row in rows] == [0, 4, 8]
    # One file holds the rows of all: the same columns in the same order.
    chance = rehearse(table, Design(initial=10, pool=60, rounds=1, batch=4), "random", seed=0)
    assert list(rows[0]) == list(chance[0])


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (Design(bias="none"), "There is no bias 'none'"),
        (Design(initial=100, pool=50), "need 150 rows; the table has 120"),
        (Design(initial=5, pool=10, rounds=3, batch=4), "exceed the pool of 10"),
        (Design(initial=1), "initial must be at least 2"),
    ],
)
def test_a_design_that_cannot_be_is_refused(design, message):
    with pytest.raises(InvalidInput, match=message):
        design.check(120)


def test_a_table_without_predictions_cannot_give_an_mse():
    with pytest.raises(InvalidInput, match="needs predictions"):
        Table.of(make_frame(), Columns("(row)", "y"), MSE)
