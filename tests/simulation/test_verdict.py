"""What `labelwise simulate` says in the end, for each way that it can come out."""

import numpy as np
import pandas as pd
import pytest

from labelwise.cli import simulation
from labelwise.cli.simulation import read_labelled, read_settings


def summary(share, standard_errors, own=20, chance=50, held=0.9):
    return {
        "advantage": {"campaign": {"share": share, "standard_errors": standard_errors}},
        "labels_needed": {"campaign": {"rmse": own}, "random": {"rmse": chance}},
        "policies": {"campaign": {"coverage": [1.0, held]}},
    }


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (summary(0.13, 1.2), "No clear difference: a campaign's squared error is 13 % lower"),
        (summary(-0.3, -1.9), "30 % higher than random sampling's, 1.9 standard errors"),
        (summary(-0.4, -2.5), "does not help on this table: its squared error is 40 % higher"),
        (summary(0.5, 3.0), "50 % lower than random sampling's (3.0 standard errors)."),
        (summary(0.5, 3.0, own=20), "It needs 20 labels where random sampling needs 50."),
    ],
)
def test_the_verdict_says_how_sure_it_is(outcome, words):
    assert words in simulation._verdict(outcome)


def test_without_both_there_is_no_verdict():
    outcome = summary(0.5, 3.0) | {"advantage": {}}
    assert simulation._verdict(outcome).startswith("Run random and campaign together")


def test_labels_that_never_sufficed_are_not_counted():
    assert "It needs" not in simulation._verdict(summary(0.5, 3.0, own=None))


def test_intervals_that_held_too_seldom_are_told():
    assert simulation._beware(summary(0.5, 3.0)) is None
    assert "campaign 70 %" in str(simulation._beware(summary(0.5, 3.0, held=0.7)))


def test_words_are_asked_for_their_accuracy(tmp_path):
    """As `new` would, and with its --positive; what was asked is on record."""
    rng = np.random.default_rng(0)
    score = rng.uniform(size=60)
    income = np.where(rng.uniform(size=60) < score, ">50K", "<=50K")
    path = tmp_path / "all.csv"
    pd.DataFrame({"score": score, "income": income}).to_csv(path, index=False)
    columns = {"id": "(row)", "label": "income", "prediction": "score", "positive": ">50K"}
    settings = read_settings({"columns": columns, "question": {"estimand": None}}, [])
    source = read_labelled(path, (), settings)
    assert source.table.quantity.title == "accuracy at 0.5"
    assert source.config["question"]["estimand"] == "accuracy"
    assert source.table.truth == pytest.approx(np.mean((score >= 0.5) == (income == ">50K")))
