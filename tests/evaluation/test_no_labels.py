"""A start from nothing: no label is known, and the model's output is all there is."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from labelwise.beliefs.learnt_prior import CLASSES
from labelwise.campaign.campaign import Campaign
from labelwise.cli.app import app
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.spec import Tables
from labelwise.tables.columns import Columns

SIZE = 120
COLUMNS = Columns("id", "y", prediction="score")
QUICK = {"name": "auto", "components": 2}


def pool(binary=True, seed=0):
    """Rows with scores, and labels that go by them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=SIZE)
    chance = 1.0 / (1.0 + np.exp(-x))
    y = (rng.random(SIZE) < chance).astype(float) if binary else x + rng.normal(size=SIZE)
    score = chance if binary else x
    return pd.DataFrame({"id": [f"p{row}" for row in range(SIZE)], "score": score}), y


def start(question, binary=True, **options):
    rows, _ = pool(binary)
    return Evaluation.of(Tables(None, rows), COLUMNS, question, belief=QUICK, **options)


def play(evaluation, y, rounds, batch=20):
    for _ in range(rounds):
        round_ = evaluation.ask(batch)
        evaluation = evaluation.tell(round_, {row: float(y[row]) for row in round_.rows})
    return evaluation


def test_before_any_label_the_belief_is_the_prior_around_the_models_output():
    """A line in log-odds of the expected slope, on average over rows."""
    evaluation = start("brier")
    rows, _ = pool()
    odds = np.log(rows["score"] / (1.0 - rows["score"])).to_numpy()
    expected = odds.mean() + CLASSES.slope * (odds - odds.mean())
    found = np.asarray(evaluation.posterior.belief.mean(evaluation.arrays.pool))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    warnings = evaluation.estimate().warnings
    assert any("no labels yet" in one for one in warnings)


@pytest.mark.parametrize(("question", "binary"), [("accuracy", True), ("mse", False)])
def test_all_labels_drawn_give_the_number_itself(question, binary):
    rows, y = pool(binary)
    estimate = play(start(question, binary), y, 6).estimate()
    said = (rows["score"] >= 0.5) == (y == 1.0) if binary else (rows["score"] - y) ** 2
    assert estimate.interval() == pytest.approx((said.mean(), said.mean()), abs=1e-6)


def test_draws_are_unbiased_from_the_first_on():
    """The mean of the drawn rows' answers over many starts, to four standard errors."""
    rows, y = pool()
    truth = float(((rows["score"] >= 0.5) == (y == 1.0)).mean())
    answers = [
        play(start("accuracy", seed=seed), y, 1, 12).estimate().design.value
        for seed in range(24)
    ]
    off = np.mean(answers) - truth
    assert abs(off) < 4.0 * np.std(answers, ddof=1) / np.sqrt(len(answers))


def test_classes_are_known_by_what_is_asked_of_them():
    assert start("recall").spec.belief["name"] == "gp-classifier"
    assert start("mse", binary=False).spec.belief["name"] == "gp"


def test_numbers_without_a_prediction_have_no_unit(refused):
    rows, _ = pool(binary=False)
    columns = Columns("id", "y")
    with refused(where="labelled"):
        Evaluation.of(Tables(None, rows.rename(columns={"score": "x"})), columns, "mean")


def test_a_label_that_contradicts_the_question_is_refused(refused):
    evaluation = start("accuracy")
    round_ = evaluation.ask(3)
    with refused(where="labels"):
        evaluation.tell(round_, {round_.rows[0]: 0.7})


@pytest.mark.slow
def test_a_folder_without_labels_from_new_to_report(tmp_path):
    rows, y = pool()
    rows.to_csv(tmp_path / "pool.csv", index=False)
    path = tmp_path / "audit"
    flags = [
        "--id",
        "id",
        "--label",
        "y",
        "--prediction",
        "score",
        "--estimand",
        "accuracy",
        "--batch",
        "12",
    ]
    made = CliRunner().invoke(
        app, ["new", str(path), "--pool", str(tmp_path / "pool.csv"), *flags]
    )
    assert made.exit_code == 0, made.output
    campaign = Campaign.open(path)
    assert "no labels yet" in str(campaign.estimate())
    labels = dict(zip(rows["id"], y, strict=True))
    batch = campaign.ask()
    campaign.tell({one: labels[one] for one in batch["id"]})
    estimate = campaign.estimate()
    assert estimate.design.draws == 12
    assert estimate.initial == 0
    page = campaign.report(tmp_path / "report.html").read_text()
    assert "there is nothing to compare" in page
    assert "no initially labelled row" not in page
