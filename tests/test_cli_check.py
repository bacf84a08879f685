"""`labelwise check` on the command line: tables, the verdict, warnings and JSON."""

import json

import pytest
from typer.testing import CliRunner

from labelwise.campaign.campaign import Campaign
from labelwise.cli.app import app
from labelwise.diagnostics.contest import Contest, Standing
from labelwise.evaluation.belief_check import BeliefCheck
from tests.campaign.small import labels_of, make


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """A campaign with a batch, whose beliefs have been judged already."""
    campaign = make(tmp_path / "c")
    campaign.tell(labels_of(campaign.ask(3)["id"]))
    standings = (
        Standing("gp", (1.0, 2.0), (3.0,), 0),
        Standing("mlp", (4.0, 5.0), (6.5,), 0),
        Standing("epinet", (), (), 0, "it broke down"),
    )

    def check(self, candidates=None, advance=lambda: None):
        advance()
        return BeliefCheck(Contest(standings, 15), None, tuple(self.checks()))

    monkeypatch.setattr(Campaign, "check", check)
    return tmp_path / "c"


def run(*words):
    done = CliRunner().invoke(app, ["check", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_beliefs_stand_side_by_side_with_a_verdict(judged):
    told = " ".join(run(judged).replace("│", " ").split())
    assert "Labels against their prediction" in told
    assert "gp 1.50 3.00 0 of 2" in told
    assert "mlp 4.50 6.50 0 of 2" in told
    assert "Trust gp: ten labels cost it 3.17 ± 0.17 nats less than mlp." in told
    assert "warning: no belief is calibrated here" in told
    assert "warning: epinet could not be judged (it broke down)" in told


def test_beliefs_in_json(judged):
    told = json.loads(run(judged, "--json"))
    assert told["best"] == "gp"
    assert told["margin"] == pytest.approx(19 / 6)
    assert told["standings"][2]["loss"] is None  # infinite
    assert len(told["batches"]) == 1
    assert told["clear"]


def test_batches_alone_judge_nobody(judged, monkeypatch):
    monkeypatch.setattr(Campaign, "check", None)
    told = json.loads(run(judged, "--batches", "--json"))
    assert [one["labels"] for one in told["batches"]] == [3]
    assert "in their 90 % interval" in " ".join(run(judged, "--batches").split())
