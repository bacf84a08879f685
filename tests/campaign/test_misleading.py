"""Sentences that once misled: each is reproduced here, as it should be said."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from labelwise.campaign.campaign import Campaign
from labelwise.cli.app import app
from labelwise.evaluation import stop
from labelwise.evaluation.round import verdict
from labelwise.evaluation.spec import Question
from tests.campaign.small import make_tables
from tests.campaign.test_questions import (
    binary_tables,
    classifier,
    create,
    gaussian,
    trial_tables,
    unfitted,
)

HEAVY = "rests on a few large losses"


def run(*arguments) -> str:
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def pool_only(tables):
    return {name: table for name, table in tables.items() if name != "target"}


def told(campaign, label, n=12):
    batch = campaign.ask(n)
    campaign.tell(batch.assign(y=[label(place) for place in range(len(batch))]))
    return campaign.estimate()


def test_bounded_losses_have_no_few_large_ones(tmp_path):
    """One large error in twelve: the spread rests on one draw, but the loss has a bound."""
    given = {"prediction": "psi", "estimand": ["mse", "mae"], **unfitted(gaussian())}
    pool = make_tables()["pool"].set_index("id")["psi"]
    campaign = create(tmp_path / "c", make_tables(), label_range=(-100, 100), **given)
    batch = campaign.ask(12)
    labels = batch["id"].map(pool)
    labels[0] += 60.0
    campaign.tell(batch.assign(y=labels))
    found = campaign.estimate()
    assert all(one.design.heavy for one in (found, *found.parts) if one.design)
    assert HEAVY not in " ".join(found.warnings)


def test_unbounded_losses_are_warned_of_once_for_all_that_they_concern(tmp_path):
    campaign = create(
        tmp_path / "c",
        make_tables(),
        prediction="psi",
        estimand=["mse", "mae", "bias"],
        **unfitted(gaussian()),
    )
    found = told(campaign, lambda place: 60.0 if place == 0 else 0.5)
    heavy = [warning for warning in found.warnings if HEAVY in warning]
    assert len(heavy) == 1
    assert "mean squared error" in heavy[0]
    assert "mean absolute error" in heavy[0]


@pytest.mark.parametrize("share", [1.01, 0.97])
def test_drawn_rows_that_teach_no_more_than_random_ones_are_said_to(share):
    said = verdict("lookahead", share, 1.0, drawn=True)
    assert "%" not in said
    assert "about as much as random ones" in said


@cache
def widths_and_verdict():
    from labelwise.evaluation.plan import Forecast
    from labelwise.evaluation.survey_forecast import Widths

    widths = Widths((10,), (0.8,), (1.0,))
    return widths, Forecast("lookahead", (0, 10), (1.0, 1.01), (1.0, 1.0), widths).verdict


def test_a_forecast_of_drawn_rows_says_one_thing():
    """That of the interval: not also 101 % of what random rows would leave."""
    widths, said = widths_and_verdict()
    assert said == widths.verdict
    assert "80 % as wide" in said


UNVERIFIED = "not verified yet"


def test_before_ten_draws_the_answer_is_marked_as_unverified(tmp_path):
    """However well the target is covered by labelled rows."""
    campaign = create(
        tmp_path / "c", make_tables(), prediction="psi", budget=20, **unfitted(gaussian())
    )
    start = campaign.estimate()
    assert UNVERIFIED in start.warnings[0]
    assert "none of the 10" in start.warnings[0]
    assert UNVERIFIED in campaign.status()._repr_html_()
    asked = run("ask", campaign.path, "-n", "1")  # whose last line has the interval
    assert UNVERIFIED in " ".join(asked.partition("So far")[2].split())
    campaign.tell(campaign.pending().assign(y=0.5))
    campaign.estimate()
    four = told(campaign, lambda place: 0.5, n=3)
    assert "4 of the 10" in four.warnings[0]
    assert UNVERIFIED not in " ".join(told(campaign, lambda place: 0.4, n=6).warnings)


def test_a_start_that_nothing_will_draw_for_is_marked_too(tmp_path):
    """As of a trial whose treatments are given: the belief alone answers, and may miss."""
    tables = trial_tables()
    tables["pool"]["z"] = np.arange(len(tables["pool"])) % 2
    campaign = Campaign.create(
        tmp_path / "c", tables, {"id": "id", "label": "y", "treatment": "z"}, belief=gaussian()
    )
    assert campaign.spec.sampling.assign["mode"] == "given"
    assert UNVERIFIED in campaign.estimate().warnings[0]
    assert "none of the 10 bought labels" in campaign.estimate().warnings[0]


def test_labels_that_are_not_zero_or_one_get_the_way_out(tmp_path, refused):
    with refused(where="labelled.y"):
        create(tmp_path / "c", make_tables(), prediction="psi", estimand="accuracy")


def test_a_pool_that_is_the_target_is_not_compared_with_it(tmp_path):
    campaign = create(
        tmp_path / "c", pool_only(make_tables()), prediction="psi", **unfitted(gaussian())
    )
    shown = run("status", campaign.path)
    assert "pool − target" not in shown
    assert "labelled − pool" in shown
    page = campaign.report().read_text()
    assert "pool against the target" not in page


def test_the_status_names_all_that_is_asked(tmp_path):
    campaign = create(
        tmp_path / "c",
        binary_tables(),
        prediction="psi",
        estimand=["accuracy", "recall", "auc"],
        by="sex",
        **unfitted(classifier()),
    )
    assert campaign.status().estimands == ["accuracy", "recall", "auc"]
    shown = run("status", campaign.path)
    assert "accuracy, recall, auc; each by sex" in shown


def test_a_rule_that_is_met_is_said(tmp_path):
    campaign = create(
        tmp_path / "c",
        make_tables(),
        prediction="psi",
        stop=stop.width(50.0),
        **unfitted(gaussian()),
    )
    assert campaign.estimate().enough is None  # nothing was drawn yet
    told(campaign, lambda place: 0.5 + 0.01 * place)
    said = "Enough is known: the 90 % any-time interval is"
    for command in ("estimate", "status"):
        assert said in " ".join(run(command, campaign.path).split())
    assert said in campaign.report().read_text()
    assert said.partition(": ")[2] in Campaign.open(campaign.path).status().enough


def test_an_estimate_as_json_is_short_unless_quantiles_are_asked_for(tmp_path):
    campaign = create(
        tmp_path / "c",
        make_tables(),
        prediction="psi",
        estimand=["mse", "mae", "bias"],
        **unfitted(gaussian()),
    )
    told(campaign, lambda place: 0.5 + 0.01 * place)
    short = run("estimate", campaign.path, "--json")
    assert len(short.splitlines()) < 400  # and 1,963 of old
    assert "quantiles" not in short
    whole = json.loads(run("estimate", campaign.path, "--json", "--quantiles"))
    assert len(whole["quantiles"]) == len(whole["probabilities"])
    assert len(whole["parts"][0]["credible"]["quantiles"]) == len(whole["probabilities"])
    assert json.loads(short)["interval"] == whole["interval"]


def embedded_tables() -> dict[str, pd.DataFrame]:
    tables, rng = make_tables(), np.random.default_rng(2)
    for table in tables.values():
        many = pd.DataFrame(
            rng.normal(size=(len(table), 12)), columns=[f"emb_{one}" for one in range(12)]
        )
        table[many.columns] = many
        table["score_b"] = rng.uniform(size=len(table))
    return tables


def test_batches_show_labellers_what_they_need(tmp_path):
    """No numbered columns of an embedding, and only what one says, such as no other model."""
    given = unfitted(gaussian())
    campaign = create(tmp_path / "c", embedded_tables(), prediction="psi", **given)
    assert list(campaign.ask(2).columns) == ["batch_id", "id", "a", "b", "score_b", "y"]
    assert list(campaign.pending().columns) == ["batch_id", "id", "a", "b", "score_b", "y"]
    only = create(
        tmp_path / "d", embedded_tables(), prediction="psi", show=["a", "emb_3"], **given
    )
    assert list(only.ask(2).columns) == ["batch_id", "id", "a", "emb_3", "y"]
    run("ask", campaign.path, "-n", "2", "--show", "b", "--out", tmp_path / "batch.csv")
    assert list(pd.read_csv(tmp_path / "batch.csv").columns) == ["batch_id", "id", "b", "y"]


def test_a_column_that_nobody_can_show_is_refused(tmp_path, refused):
    with refused(where="columns.show"):
        create(tmp_path / "c", make_tables(), prediction="psi", show=["c"])


def test_a_trial_is_asked_for_its_effect(tmp_path):
    campaign = Campaign.create(
        tmp_path / "c",
        trial_tables(),
        {"id": "id", "label": "y", "treatment": "z"},
        belief=gaussian(),
    )
    assert campaign.spec.question.estimand == ("ate",)
    named = Campaign.create(
        tmp_path / "d",
        trial_tables(),
        {"id": "id", "label": "y", "treatment": "z"},
        Question(),
        belief=gaussian(),
    )
    assert named.spec.question.estimand == ("ate",)
