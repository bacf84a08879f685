"""The answers of an estimate: intervals at any level, words, and stored ones of before."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from labelwise.errors import InvalidInput
from labelwise.evaluation.answer import GRID, Answer
from labelwise.evaluation.estimate import Estimate


def make_answer(value, std, **more):
    return Answer(value, std, tuple(scipy.stats.norm(value, std).ppf(GRID).tolist()), **more)


DRAWN = make_answer(1.0, 0.2, rests_on="design", draws=12, anytime=(0.4, 1.6))
BOTH = make_answer(1.5, 0.15, rests_on="combined", draws=12, anytime=(1.1, 1.9))
ALONE = {"headline": "belief", "design": None, "combined": None}
BEFORE = {"headline": "design", "combined": None}  # as stored before there was a combined one


def make_estimate(**changes):
    options = {
        "estimand": "mse",
        "title": "mean squared error",
        "quantity": "its mean",
        "initial": 20,
        "bought": 12,
        "belief": {},
        "warnings": (),
        "headline": "combined",
        "why": "chance drew the rows",
        "credible": make_answer(2.0, 0.1),
        "design": DRAWN,
        "combined": BOTH,
    }
    return Estimate(**(options | changes))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_an_answer_has_an_interval_at_any_level(level):
    found = make_answer(3.0, 2.0).interval(level)
    assert found == pytest.approx(scipy.stats.norm(3.0, 2.0).interval(level), abs=0.05)


def test_a_level_that_is_no_probability_is_refused():
    with pytest.raises(InvalidInput, match="level must lie between 0 and"):
        make_answer(0.0, 1.0).interval(90)


def test_the_interval_that_an_answer_carries_is_the_usual_one():
    answer = make_answer(3.0, 2.0)
    assert answer.to_dict()["interval"] == list(answer.interval())


def test_an_answer_reads_back_as_it_was():
    for answer in (make_answer(3.0, 2.0), DRAWN, BOTH):
        assert Answer.from_dict(answer.to_dict(), answer.rests_on) == answer


def test_the_answer_that_leads_is_the_estimates_own():
    found = make_estimate()
    assert found.lead is BOTH
    assert (found.value, found.std, found.interval()) == (1.5, 0.15, BOTH.interval())
    assert make_estimate(headline="belief").value == 2.0
    for one in (found, make_estimate(**ALONE), make_estimate(**BEFORE)):
        assert Estimate.from_dict(one.to_dict()) == one


def test_drawn_rows_led_before_there_was_a_combined_answer():
    found = make_estimate(**BEFORE)
    assert found.lead is DRAWN
    assert (found.value, found.std, found.interval()) == (1.0, 0.2, DRAWN.interval())
    stored = {key: value for key, value in found.to_dict().items() if key != "combined"}
    assert Estimate.from_dict(stored) == found


def test_ingredients_are_told_at_the_level_asked_for():
    found = make_estimate()
    by_belief = "by the belief alone: 2.000 ± 0.10, 90 % interval 1.836 to 2.164"
    by_draws = "by drawn rows alone: 1.000 ± 0.20, 90 % interval 0.6710 to 1.329"
    assert found.ingredients == (found.credible, DRAWN)
    assert found.ingredients_at() == [by_belief, by_draws]
    assert "50 % interval 1.933 to 2.067" in found.ingredients_at(0.5)[0]
    assert make_estimate(**BEFORE).ingredients_at() == [by_belief]
    assert make_estimate(**ALONE | {"design": DRAWN}).ingredients_at() == [by_draws]
    assert make_estimate(**ALONE).ingredients_at(0.5) == []


def test_words_have_the_answer_alone():
    told = str(make_estimate())
    assert told.startswith("mean squared error: 1.500 ± 0.15")
    assert "alone" not in told


def test_what_is_right_at_every_look_is_that_of_the_answer_that_leads():
    assert make_estimate().anytime == (1.1, 1.9)
    assert make_estimate(**BEFORE).anytime == (0.4, 1.6)
    assert make_estimate(**ALONE).anytime is None
    assert make_estimate(combined=replace(BOTH, anytime=None)).anytime is None


def test_stored_estimates_of_before_are_read_as_the_beliefs_own():
    stored = make_estimate(**ALONE).to_dict()
    early = {key: value for key, value in stored.items() if key not in ("why", "credible")}
    found = Estimate.from_dict(early)
    assert "the belief's own" in found.why
    assert found.ingredients == ()
    assert np.allclose(found.interval(), stored["interval"])
