"""A belief that labels choose: at set rounds, on record, with nothing drawn before touched."""

from functools import partial
from html import escape

import numpy as np
import pytest

from labelwise.beliefs.named import fit
from labelwise.campaign.campaign import Campaign
from labelwise.diagnostics.contest import Contest, Standing
from labelwise.errors import InvalidInput
from labelwise.evaluation import belief_check, checked
from labelwise.evaluation.belief_check import BeliefCheck, candidates_for
from labelwise.evaluation.belief_options import check_belief
from labelwise.evaluation.checked import check_candidates, labels_in_order, name_of
from tests.campaign.small import labels_of, make

SMOOTH = {"name": "gp", "components": 1, "starts": 1}
STRAIGHT = {**SMOOTH, "kernel": "linear"}
BELIEF = {"name": "checked", "every": 2, "candidates": [SMOOTH, STRAIGHT]}


def contest(best, other, margin=1.0):
    """As if `best` had won."""
    losses = tuple(np.arange(4.0))
    won, lost = (
        Standing(best, losses, (), 4),
        Standing(other, (*losses[:3], 3.0 + 4 * margin), (), 4),
    )
    return Contest((won, lost), 12)


@pytest.fixture
def judged(monkeypatch):
    """Who wins is up to the test; how often it was asked is counted."""
    calls = []

    def check(winners, evaluation, candidates, advance=None):
        calls.append(evaluation.state.round)
        best = winners[min(len(calls), len(winners)) - 1]
        if best is None:
            raise InvalidInput("3 labels are too few to check beliefs by", where="labels")
        return contest(best, "gp" if best != "gp" else "gp (linear)")

    def let(*winners):
        monkeypatch.setattr(checked, "check_beliefs", partial(check, winners))
        return calls

    return let


def go(campaign, rounds):
    for _ in range(rounds):
        campaign.tell(labels_of(campaign.ask(3)["id"]))


def test_the_choice_is_made_at_set_rounds_and_stays_between(judged, tmp_path):
    calls = judged("gp (linear)", "gp")
    campaign = make(tmp_path / "c", belief=BELIEF)
    assert campaign.estimate().belief["kernel"] == "matern52"  # the first, before any ask
    go(campaign, 2)
    assert calls == [0]
    assert campaign.estimate().belief["kernel"] == "linear"
    go(campaign, 1)
    assert calls == [0, 2]
    assert campaign.estimate().belief["kernel"] == "matern52"
    records = [one.estimate.belief["checked"] for one in campaign.rounds()]
    assert [one["chosen"] for one in records] == ["gp (linear)", "gp (linear)", "gp"]
    assert [one["round"] for one in records] == [1, 1, 3]
    assert records[0]["contest"]["margin"] == pytest.approx(1.0)


def test_another_process_goes_by_what_is_on_record(judged, tmp_path):
    judged("gp (linear)")
    campaign = make(tmp_path / "c", belief=BELIEF)
    go(campaign, 1)
    again = Campaign.open(tmp_path / "c")
    assert again.estimate().belief["kernel"] == "linear"
    assert again.estimate().value == campaign.estimate().value
    assert again.verify().sound


def test_a_choice_leaves_what_was_drawn_as_it_was(judged, tmp_path):
    judged("gp (linear)", "gp")
    campaign = make(tmp_path / "c", belief=BELIEF, policy="lookahead", draw="policy")
    go(campaign, 2)
    before = [one.to_dict() for one in campaign.rounds()]
    by_draws = campaign.evaluation().answers_by_draws
    campaign.ask(3)
    assert campaign.estimate().belief["checked"]["chosen"] == "gp"
    assert [one.to_dict() for one in campaign.rounds()][:2] == before
    after = campaign.evaluation().answers_by_draws
    assert [one.value for one in after.values()] == [one.value for one in by_draws.values()]


def test_a_fit_of_another_belief_is_not_taken_for_its_own(judged, tmp_path):
    judged("gp (linear)")
    campaign = make(tmp_path / "c", belief=BELIEF)
    campaign.estimate()  # whose fit is kept for these labels
    campaign.ask(3)
    assert Campaign.open(tmp_path / "c").estimate().belief["kernel"] == "linear"


def test_too_few_labels_change_nothing_and_say_so(judged, tmp_path):
    judged(None)
    campaign = make(tmp_path / "c", belief=BELIEF)
    campaign.ask(3)
    record = campaign.rounds()[0].estimate.belief["checked"]
    assert record["chosen"] == "gp"
    assert record["contest"] is None
    assert "too few" in record["why"]
    assert "too few" in campaign.report(tmp_path / "report.html").read_text()


def test_the_report_shows_who_was_judged(judged, tmp_path):
    judged("gp (linear)")
    campaign = make(tmp_path / "c", belief=BELIEF)
    go(campaign, 1)
    page = campaign.report(tmp_path / "report.html").read_text()
    assert "gp (linear) was chosen before batch 1 was asked." in page
    assert "Beliefs on labels they had not seen" in page
    assert "then every 2 batches, among gp, gp (linear)" in page


@pytest.mark.slow
def test_candidates_are_judged_by_the_labels_of_a_campaign(tmp_path):
    campaign = make(tmp_path / "c", belief=SMOOTH)
    go(campaign, 1)
    steps = []
    found = campaign.check([SMOOTH, STRAIGHT], lambda: steps.append(1))
    assert len(steps) == 2
    assert found.own == "gp"
    assert {one.name for one in found.contest.standings} == {"gp", "gp (linear)"}
    assert all(one.error is None for one in found.contest.standings)
    assert len(found.batches) == 1
    assert found.recommended in found.verdict
    page = campaign.report(tmp_path / "report.html", found).read_text()
    assert escape(found.verdict) in page


def test_labels_come_in_the_order_of_their_batches(tmp_path):
    campaign = make(tmp_path / "c")
    first, second = campaign.ask(3), campaign.ask(2)
    campaign.tell(labels_of(second["id"]))
    campaign.tell(labels_of(first["id"]))
    loose = next(
        f"r{row}" for row in range(30) if f"r{row}" not in {*first["id"], *second["id"]}
    )
    campaign.tell(labels_of([loose]), unasked="accept")
    known, batches = labels_in_order(campaign.evaluation())
    assert [len(batch) for batch in batches] == [3, 2]
    sent = lambda batch: sorted(labels_of(batch["id"]).values())
    np.testing.assert_allclose(np.sort(known.y[batches[0]]), sent(first))
    np.testing.assert_allclose(np.sort(known.y[batches[1]]), sent(second))
    assert known.y[12] == labels_of([loose])[loose]  # after those from the start
    assert len(known.y) == 12 + 6


def verdict(**words):
    return BeliefCheck(contest("gp", "mlp", **words), "gp", ())


def test_a_verdict_says_whether_it_may_be_chance():
    assert "may be chance" in verdict().verdict  # one cluster of four decided
    assert "campaign's own" in verdict().verdict
    clear = Contest((Standing("gp", (1.0, 1.0), (), 2), Standing("mlp", (2.0, 2.1), (), 2)), 20)
    assert BeliefCheck(clear, None, ()).clear
    assert "chance" not in BeliefCheck(clear, None, ()).verdict
    close = Contest((Standing("gp", (2.0, 1.0), (), 2), Standing("mlp", (1.5, 1.2), (), 2)), 20)
    assert "mlp is not clearly better (0.15" in BeliefCheck(close, None, ()).verdict


def test_a_warning_comes_where_no_belief_is_calibrated():
    none = Contest((Standing("gp", (1.0,) * 8, (), 2), Standing("mlp", (), (), 0, "no")), 60)
    told = BeliefCheck(none, None, ()).warnings
    assert "no belief is calibrated" in told[0]
    assert "mlp could not be judged (no)" in told[1]
    assert verdict().warnings == ()


def test_where_nobody_can_be_judged_the_check_is_refused(tmp_path, monkeypatch, refused):
    failed = Contest((Standing("gp", (), (), 0, "it broke down"),), 12)
    monkeypatch.setattr(belief_check, "check_beliefs", lambda *_: failed)
    campaign = make(tmp_path / "c")
    with refused(where="labels"):
        campaign.check(["gp", "mlp"])


def test_the_usual_candidates_come_with_the_campaigns_own(tmp_path):
    own = {"name": "gp", "components": 2}
    campaign = make(tmp_path / "c", belief=own)
    made = candidates_for(campaign.evaluation())
    assert [name_of(one) for one in made] == [
        "gp",
        "gp (linear)",
        "last-layer",
        "ensemble-plus",
    ]
    assert made[0]["components"] == 2


def test_options_of_a_checked_belief_are_complete():
    made = check_belief("checked", 3, True)
    assert made["labels"] == "binary"
    assert [name_of(one) for one in made["candidates"]] == [
        "gp-classifier", "gp-classifier (linear)", "last-layer", "ensemble-plus",
    ]  # fmt: skip
    assert all("name" in one for one in made["candidates"])


@pytest.mark.parametrize("given", [{"candidates": ["gp"]}, {"candidates": ["gp", "gp"]}])
def test_one_candidate_is_none(given, refused):
    with refused(where="candidates"):
        check_candidates(given, 3, False)


@pytest.mark.parametrize("strange", ["gp-classifier", "draws"])
def test_a_candidate_must_suit_labels_and_features(refused, strange):
    with refused(where="candidates"):
        check_candidates({"candidates": ["gp", strange]}, 3, False)


def test_what_is_checked_is_no_candidate_itself(refused):
    with refused(where="belief"):
        check_candidates({"candidates": ["gp", "checked"]}, 3, False)


def test_without_a_campaign_nothing_can_be_checked(refused):
    with refused(where="belief"):
        fit(np.zeros((3, 1)), np.zeros(3), "checked")


def test_an_unknown_option_of_a_checked_belief_is_refused(refused):
    with refused(where="often"):
        check_candidates({"often": 3}, 3, False)
