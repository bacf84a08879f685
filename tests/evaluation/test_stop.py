"""When enough is known: each rule on facts made up for it, and in a campaign."""

from dataclasses import replace

import numpy as np
import pytest

import labelwise as lw
from labelwise.errors import StoreError
from labelwise.evaluation.answer import GRID, Answer
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.stop import Standing, budget, gain, read_rule, read_stop, width
from tests.campaign.test_drawn import answer, make

QUANTILES = tuple(float(level) for level in GRID)  # uniform on (0, 1)
BELIEF = Estimate(
    estimand="mse",
    title="mean squared error",
    quantity="its expected value",
    initial=10,
    bought=5,
    belief={},
    warnings=(),
    credible=Answer(0.5, 0.29, QUANTILES),
)
BY_DRAWS = replace(
    BELIEF.credible,
    rests_on="design",
    anytime=(0.0, 3.0),
    anytime_at={"0.8": [0.2, 2.8], "0.9": [0.0, 3.0]},
)
DRAWN = replace(
    BELIEF,
    headline="combined",
    design=BY_DRAWS,
    combined=replace(
        BY_DRAWS,
        rests_on="combined",
        anytime=(0.0, 2.0),
        anytime_at={"0.8": [0.2, 1.8], "0.9": [0.0, 2.0]},
    ),
)


def facts(estimate=BELIEF, bought=5, share=None, by_chance=False):
    return Standing(bought, estimate, share, by_chance)


def test_a_width_is_the_beliefs_if_nothing_was_drawn():
    assert (
        width(0.9).met(facts()) == "the belief's 90 % interval is 0.90 wide, no more than 0.90"
    )
    assert width(0.89).met(facts()) is None
    assert width(0.8, level=0.8).met(facts()) is not None


def test_a_width_is_judged_by_the_any_time_interval_of_the_answer():
    """The interval that is right at one look, 0.9 wide, must not decide."""
    assert width(1.9).met(facts(DRAWN)) is None
    assert "90 % any-time interval is 2.0 wide" in str(width(2.0).met(facts(DRAWN)))
    assert width(1.6, level=0.8).met(facts(DRAWN)) is not None


def test_no_any_time_interval_yet_means_going_on():
    assert width(1e9, level=0.99).met(facts(DRAWN)) is None


def test_the_belief_decides_nothing_where_rows_are_drawn():
    assert width(1e9).met(facts(by_chance=True)) is None


def test_a_campaign_that_draws_is_not_ended_by_its_first_belief(tmp_path):
    campaign = make(tmp_path / "campaign", stop=lw.stop.width(1e9))
    assert campaign.stop() is None
    assert len(campaign.ask()) == 6


def test_a_budget_counts_labels():
    assert budget(5).met(facts()) == "5 labels are bought"
    assert budget(6).met(facts()) is None


def test_a_gain_looks_at_the_next_batch():
    assert gain(below=0.02).met(facts(share=0.01)) is not None
    assert gain(below=0.02).met(facts(share=0.02)) is None
    assert gain(below=0.02).met(facts(share=None)) is None
    assert (gain(0.1) | budget(3)).needs_gain
    assert not (width(0.1) & budget(3)).needs_gain


@pytest.mark.parametrize(
    ("rule", "stops"),
    [
        (width(0.9) | budget(6), True),
        (width(0.1) | budget(6), False),
        (width(0.9) & budget(6), False),
        (width(0.9) & budget(5), True),
        ((width(0.1) | budget(5)) & gain(0.5), False),
    ],
)
def test_rules_join(rule, stops):
    assert (rule.met(facts()) is not None) == stops
    stored = read_stop(rule)
    assert stored is not None
    assert read_rule(stored) == rule
    assert read_rule(stored).words == rule.words


def test_a_file_gives_rules_of_which_the_first_to_be_met_ends_it():
    assert read_rule(read_stop({"width": 0.9})) == width(0.9)
    both = read_rule(read_stop({"width": 0.1, "labels": 5}))
    assert both == width(0.1) | budget(5)
    assert both.met(facts()) is not None


STRANGE = {
    "an entry that is no rule": ("stop", lambda: read_stop({"widht": 0.1})),
    "no entry": ("stop", lambda: read_stop({})),
    "no width": ("width", lambda: width(0.0)),
    "an infinite width": ("width", lambda: width(np.inf)),
    "another level": ("level", lambda: width(0.1, level=0.85)),
    "a missing gain": ("gain", lambda: gain(np.nan)),
    "no budget": ("budget", lambda: budget(0)),
    "no rule": ("stop", lambda: read_stop(0.1)),
}


@pytest.mark.parametrize("name", STRANGE)
def test_strange_rules_are_refused(name, refused):
    where, make_rule = STRANGE[name]
    with refused(where=where):
        make_rule()


def test_a_rule_of_another_version_is_named(refused):
    with refused(where="stop", error=StoreError, remedy="upgrade Labelwise"):
        read_rule({"rule": "mood"})


def test_a_campaign_stops_by_its_rule_unless_told_to_go_on(tmp_path, refused):
    campaign = make(tmp_path / "campaign", stop=lw.stop.budget(6) | lw.stop.width(1e-9))
    assert campaign.stop() is None
    answer(campaign)
    assert campaign.stop() == "6 labels are bought"
    with refused(where="stop", what="Enough is known: 6 labels are bought"):
        campaign.ask()
    assert campaign.status().rounds == 1
    assert len(campaign.ask(go_on=True)) == 6


def test_a_campaign_stops_when_a_batch_would_teach_too_little(tmp_path):
    campaign = make(tmp_path / "campaign", stop=lw.stop.gain(below=0.999))
    assert "the next batch should lower" in str(campaign.stop())


def test_a_campaign_without_a_rule_goes_on(tmp_path):
    assert make(tmp_path / "campaign").stop() is None
