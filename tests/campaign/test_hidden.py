"""Nothing is hidden: what became of every drawn row, and how far missing ones could move it."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from labelwise.campaign.campaign import Campaign
from labelwise.campaign.store.folder import FolderStore
from labelwise.evaluation.fates import AT_RANDOM, fates_of
from labelwise.evaluation.missing import extremes, missing_rows
from tests.campaign import small
from tests.campaign.conftest import copied

POOL = small.make_tables()["pool"].set_index("id")["psi"]


def never_asked(campaign) -> str:
    asked = {logged.id for logged in campaign.store.history()}
    return next(one for one in POOL.index if one not in asked)


@pytest.fixture
def asked(campaign):
    """Two batches, one labelled, and the ids of the other."""
    campaign.tell(small.labels_of(campaign.ask()["id"]))
    return campaign, list(campaign.ask()["id"])


def count(campaign, **expected):
    """The same in the status, the estimate and its JSON."""
    found = campaign.estimate()
    told = found.to_dict()["fates"]
    assert campaign.status().drawn == told
    assert told | expected == told
    return found


def test_a_campaign_that_nobody_interfered_with_is_not_marked(asked):
    campaign, ids = asked
    campaign.tell(small.labels_of(ids))
    found = count(campaign, drawn=6, labelled=6, missing=0, out=0)
    assert not found.fates.interfered
    assert (found.widest(), found.extremes, found.mark) == (None, (), "")
    assert AT_RANDOM not in str(found)
    # Six draws are too few to check the belief by, which is no interference.
    told = [one for one in found.warnings if "not verified yet" not in one]
    assert not any("drawn" in one for one in told)


def test_rows_that_are_out_are_always_told(asked):
    campaign, _ = asked
    found = count(campaign, drawn=6, labelled=3, out=3, withheld=0, missing=0)
    assert "3 drawn rows are still out." in found.warnings
    assert "3 still out" in str(found)
    assert found.mark == ""  # nothing of their batch has come: nobody withholds them


def test_rows_withheld_mark_the_answer(asked):
    campaign, ids = asked
    campaign.tell(small.labels_of(ids[:2]))
    found = count(campaign, out=1, withheld=1, missing=1)
    assert AT_RANDOM in found.line
    assert found.widest() is not None


@pytest.mark.parametrize("how", ["skip", "fail"])
def test_rows_set_aside_mark_the_answer_and_widen_it(how, asked):
    campaign, ids = asked
    campaign.tell(small.labels_of(ids[1:]))
    getattr(campaign, how)(ids[0])
    fate = {"skip": "skipped", "fail": "failed"}[how]
    found = count(campaign, drawn=6, labelled=5, missing=1, **{fate: 1})
    low, high = found.interval()
    least, most = found.widest()
    assert least <= low < high <= most
    assert most - least > high - low
    assert found.to_dict()["whatever_is_missing"] == [least, most]
    assert found.to_dict()["if_missing_at_random"] is True
    assert any(f"(1 {fate})" in one for one in found.warnings)
    assert AT_RANDOM in str(found)
    assert AT_RANDOM in found.why
    page = campaign.report().read_text()
    assert AT_RANDOM in page
    assert "whatever the missing labels are" in page
    assert f"1 {fate}" in page


def test_extremes_are_the_answers_had_the_worst_and_the_best_labels_come(asked):
    """Labels lie between 0 and 1: the largest loss is at the end further from the prediction,
    the least is none, at the prediction."""
    campaign, ids = asked
    campaign.tell(small.labels_of(ids[1:]))
    campaign.skip(ids[0])
    evaluation = campaign.evaluation()
    question = evaluation.survey.answerable[0]
    found = extremes(evaluation.survey, evaluation.rounds, evaluation.state)[question]
    (row,) = missing_rows(evaluation.rounds, evaluation.state)
    furthest = 0.0 if POOL[ids[0]] > 0.5 else 1.0
    for answer, label in zip(found, [POOL[ids[0]], furthest], strict=True):
        state = evaluation.state.told({row: label}, 2)
        expected = evaluation.survey.answers(evaluation.rounds, state)[question]
        assert answer.value == pytest.approx(expected.value, rel=1e-12)
    # Equal chances: the values differ by the loss, times what a draw weighs.
    assert found[0].value < found[1].value


def test_whatever_the_label_was_the_wide_interval_holds_the_answer(asked):
    campaign, ids = asked
    campaign.tell(small.labels_of(ids[1:]))
    campaign.fail(ids[0])
    least, most = campaign.estimate().widest()
    for label in np.linspace(0.0, 1.0, 5):
        evaluation = campaign.evaluation()
        (row,) = missing_rows(evaluation.rounds, evaluation.state)
        state = evaluation.state.told({row: float(label)}, 2)
        answer = evaluation.survey.answers(evaluation.rounds, state)
        (found,) = answer.values()
        assert least <= found.value <= most


def test_without_a_range_the_largest_errors_seen_are_what_may_be(tmp_path):
    campaign = small.make(tmp_path / "campaign", label_range=None)
    campaign.tell(small.labels_of(campaign.ask(6)["id"]))
    ids = list(campaign.ask()["id"])
    campaign.tell(small.labels_of(ids[1:]))
    campaign.skip(ids[0])
    evaluation = campaign.evaluation()
    known = {one: small.label_of(one) for one in POOL.index}
    told = [logged.id for logged in campaign.store.history() if logged.event.label is not None]
    off = max(abs(known[one] - POOL[one]) for one in told)
    (row,) = missing_rows(evaluation.rounds, evaluation.state)
    question = evaluation.survey.answerable[0]
    _, worst = extremes(evaluation.survey, evaluation.rounds, evaluation.state)[question]
    seen = [small.label_of(f"r{1000 + one}") for one in range(small.LABELLED)]
    ends = [*seen, *(known[one] for one in told)]
    ends = max(abs(max(ends) - POOL[ids[0]]), abs(min(ends) - POOL[ids[0]]), off)
    state = evaluation.state.told({row: POOL[ids[0]] + ends}, 2)
    expected = evaluation.survey.answers(evaluation.rounds, state)[question]
    assert worst.value == pytest.approx(expected.value, rel=1e-9)


def test_rows_skipped_before_they_could_be_drawn_are_told_apart(asked):
    campaign, ids = asked
    campaign.tell(small.labels_of(ids))
    free = never_asked(campaign)
    campaign.skip(free)
    found = count(campaign, drawn=6, skipped=0, skipped_undrawn=1, missing=1)
    assert any("1 skipped before chance could draw them" in one for one in found.warnings)
    assert found.widest() is not None


def test_expired_rows_are_told_and_count_again_when_they_come(fresh_folder, tmp_path):
    now = [datetime(2024, 1, 1, tzinfo=UTC)]
    path = copied(fresh_folder, tmp_path).path
    campaign = Campaign(FolderStore.open(path, lambda: now[0]))
    campaign.tell(small.labels_of(campaign.ask()["id"]))
    ids = list(campaign.ask()["id"])
    campaign.tell(small.labels_of(ids[1:]))
    now[0] += timedelta(days=31)
    assert count(campaign, expired=1, missing=1).mark
    campaign.tell(small.labels_of(ids[:1]))
    assert count(campaign, expired=0, missing=0, labelled=6).mark == ""


def test_corrections_are_told_with_the_answer_without_them(asked):
    campaign, ids = asked
    campaign.tell(small.labels_of(ids))
    before = campaign.estimate()
    campaign.correct({one: float(POOL[one]) for one in ids}, "looked again")
    found = count(campaign, drawn=6, labelled=6, corrected=3)
    assert found.design.value < before.design.value
    assert found.uncorrected.value == pytest.approx(before.value, rel=1e-9)
    assert found.uncorrected.interval() == pytest.approx(before.interval(), rel=1e-9)
    assert "3 labels of drawn rows were corrected after coming." in found.warnings
    assert any(one.startswith("Without the corrections") for one in found.warnings)
    assert found.to_dict()["uncorrected"]["value"] == found.uncorrected.value
    assert "without corrections" in campaign.report().read_text()
    campaign.correct(small.labels_of(ids), "no, it was right")  # and back
    assert count(campaign, corrected=0).uncorrected is None


def test_corrections_of_labels_that_were_not_drawn_are_told(asked):
    campaign, ids = asked
    campaign.tell(small.labels_of(ids))
    campaign.correct({"r1000": 0.5, "r1001": 0.25}, "looked again")  # from the start
    free = never_asked(campaign)
    campaign.tell(small.labels_of([free]), unasked="accept")
    campaign.correct({free: float(POOL[free])})
    found = count(campaign, corrected=0, corrected_undrawn=3, missing=0)
    assert any("3 labels that chance did not draw were corrected" in w for w in found.warnings)


def test_the_wide_interval_holds_whether_or_not_corrections_are_right(asked):
    """Some of the worst rows skipped, others corrected: one must not shrink the other's."""
    campaign, ids = asked
    campaign.tell(small.labels_of(ids[1:]))
    campaign.skip(ids[0])
    before = campaign.estimate()
    campaign.correct({one: float(POOL[one]) for one in ids[1:]}, "looked again")
    found = count(campaign, corrected=2, skipped=1)
    values = lambda answers: [answer.value for answer in answers]
    assert values(found.extremes[2:]) == pytest.approx(values(before.extremes), rel=1e-9)
    assert max(values(found.extremes[:2])) < max(values(before.extremes))
    (least, most), (low, high) = found.widest(), before.widest()
    assert least <= low < high <= most


def test_every_part_has_its_answer_without_corrections(tmp_path):
    campaign = small.make(tmp_path / "campaign", estimand=["mse", "mae"])
    ids = list(campaign.ask(6)["id"])
    campaign.tell(small.labels_of(ids))
    (before,) = campaign.estimate().parts
    campaign.correct({ids[0]: float(POOL[ids[0]])})
    (part,) = campaign.estimate().parts
    assert part.uncorrected.value == pytest.approx(before.value, rel=1e-9)


def test_nobody_is_told_to_stop_by_an_interval_that_leaves_missing_labels_out(asked):
    from dataclasses import replace

    from labelwise.evaluation.stop import Standing, width

    campaign, ids = asked
    campaign.tell(small.labels_of(ids[1:]))
    campaign.skip(ids[0])
    found = campaign.estimate()
    low, high = found.lead.anytime
    rule = width(1.001 * (high - low))
    assert rule.met(Standing(5, found, None, True)) is None
    assert rule.met(Standing(5, replace(found, extremes=()), None, True)) is not None
    told = width(1e6).met(Standing(5, found, None, True))
    assert "any-time interval whatever the missing labels are" in told


def test_the_status_does_not_show_an_answer_from_before_rows_were_set_aside(asked):
    from typer.testing import CliRunner

    from labelwise.cli.app import app

    campaign, ids = asked
    campaign.tell(small.labels_of(ids[1:]))
    campaign.skip(ids[0])
    found = campaign.estimate()
    shown = campaign.status().estimate
    assert shown["current"]
    assert shown["if_missing_at_random"]
    assert shown["whatever_is_missing"] == list(found.widest())
    page = CliRunner().invoke(app, ["status", str(campaign.path)], terminal_width=200).stdout
    assert "whatever the missing labels are" in page
    campaign.skip(never_asked(campaign))
    assert not campaign.status().estimate["current"]


def test_labels_that_nobody_asked_for_are_told(asked):
    campaign, ids = asked
    campaign.tell(small.labels_of(ids))
    free = never_asked(campaign)
    campaign.tell(small.labels_of([free]), unasked="accept")
    found = count(campaign, unasked=1)
    assert any("1 label is of rows that nobody asked for" in one for one in found.warnings)


def test_nothing_that_was_interfered_with_is_advised_to_be_trusted(asked):
    from dataclasses import replace

    from labelwise.evaluation.draw_caveats import draw_caveats

    campaign, ids = asked
    campaign.tell(small.labels_of(ids[1:]))
    campaign.skip(ids[0])
    found = campaign.estimate()
    far = replace(found, credible=replace(found.credible, value=found.design.value + 100.0))
    assert "neither is above doubt" in draw_caveats(far, None, True)[0]
    whole = replace(far, fates=fates_of([], campaign.state()))
    assert "leans on the rows" in draw_caveats(whole, None, True)[0]


def test_what_is_kept_reads_back_with_its_fates(asked):
    campaign, ids = asked
    campaign.tell(small.labels_of(ids[1:]))
    campaign.skip(ids[0])
    found = campaign.estimate()
    kept = campaign.store.estimate().estimate
    assert kept == found
    assert kept.widest() == found.widest()
