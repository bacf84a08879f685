"""Labels for a width, against widths that fall by a known law."""

import json
from pathlib import Path

import pytest
from scipy.special import ndtri

from labelwise.evaluation.needed import MEASURED, Course, Needed
from labelwise.evaluation.plan import Forecast
from labelwise.evaluation.survey_forecast import Widths

LABELS = (20.0, 30.0, 40.0, 60.0, 80.0)


def course(power, scale=1.0):
    return Course(LABELS, [scale * count**-power for count in LABELS])


@pytest.mark.parametrize("power", [0.3, 0.5, 0.9])
@pytest.mark.parametrize("count", [20.0, 25.0, 71.5, 80.0, 200.0])
def test_a_power_of_the_labels_is_read_back(power, count):
    found, beyond = course(power).reach(count**-power)
    assert found == pytest.approx(count)
    assert beyond == (count > 80.0)


@pytest.mark.parametrize(("power", "used"), [(0.01, 0.25), (3.0, 1.0)])
def test_beyond_what_was_looked_at_widths_fall_neither_slowly_nor_fast(power, used):
    last = 80.0**-power
    found, beyond = course(power).reach(last / 2.0)
    assert beyond
    assert found == pytest.approx(80.0 * 2.0 ** (1.0 / used))


def test_a_width_that_stays_or_grows_again_is_reached_where_it_was_reached_first():
    found, _ = Course((10.0, 20.0, 40.0), (2.0, 1.0, 1.5)).reach(1.0)
    assert found == pytest.approx(20.0)
    found, _ = Course((10.0, 20.0, 40.0, 80.0), (2.0, 1.0, 1.0, 0.5)).reach(1.0)
    assert found == pytest.approx(20.0)


def test_further_labels_are_counted_from_those_that_are_known():
    needed = Needed.of(
        0.1, course(0.5), course(0.5, scale=2.0), known=20, left=1000, measured=True
    )
    assert (needed.labels, needed.random) == (80, 380)
    few, many = MEASURED  # of the hundred in all
    assert (needed.least, needed.most) == (round(100 * few) - 20, round(100 * many) - 20)
    assert needed.beyond
    assert not needed.everything
    assert f"about 80 further labels (in eight of ten campaigns it took {needed.least}" in str(
        needed
    )
    assert "farther than was looked at" in needed.line


def test_nobody_can_label_more_rows_than_are_left():
    needed = Needed.of(
        0.1, course(0.5), course(0.5, scale=2.0), known=20, left=70, measured=True
    )
    assert (needed.labels, needed.most, needed.random) == (70, 70, None)
    assert needed.everything
    assert "every row that is left, 70" in needed.line


def test_a_width_that_is_there_needs_nothing():
    same = course(0.5)
    needed = Needed.of(1.0, same, same, known=20, left=70, measured=True)
    assert (needed.labels, needed.least, needed.random) == (0, 0, 0)
    assert "there already" in str(needed)


def test_a_forecast_of_drawn_rows_speaks_of_the_interval_that_is_shown():
    """The width of now is a point of the course, too."""
    widths = Widths((10, 30), (0.8, 0.4), (1.6, 0.8), drawn=10, now=1.6, left=200)
    forecast = Forecast("lookahead", (0, 10), (1.0, 0.9), (1.0, 0.9), widths)
    assert forecast.labels_for(1.6).labels == 0
    assert forecast.labels_for(0.8).labels == 10
    assert forecast.labels_for(0.8).random == 30
    assert forecast.labels_for(0.4).labels == 30


def test_without_draws_it_speaks_of_the_belief():
    stds = tuple(count**-0.5 for count in (50.0, 60.0, 70.0))
    forecast = Forecast("lookahead", (0, 10, 20), stds, stds, known=50, left=200)
    width = 2.0 * ndtri(0.95) * 65.0**-0.5 * (1.0 + 1e-12)
    assert forecast.labels_for(width).labels == 15
    assert forecast.labels_for(width).random == 15
    assert forecast.labels_for(width).most is None  # how far it is off was not measured
    assert "in eight of ten" not in forecast.labels_for(width).line


@pytest.mark.parametrize("width", [0.0, -1.0, float("nan"), True])
def test_a_width_must_be_positive(width, refused):
    with refused(where="width"):
        Needed.of(width, course(0.5), course(0.5), known=0, left=10, measured=True)


def test_how_far_forecasts_are_off_is_what_the_study_found():
    summary = json.loads(Path("experiments/results/settings/summary.json").read_text())
    found = summary["forecast"]["labels"]
    assert found["campaigns"] >= 100
    ends = found["quantile 0.1"], found["quantile 0.9"]
    assert tuple(float(f"{end:.2g}") for end in ends) == MEASURED
