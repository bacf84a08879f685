"""Campaigns ask and answer as they did in version 0.1.0, and its folders still open.

`campaigns.py` says what of the answers was recorded later, and why; of the folder's too.
"""

import json
import shutil

import pytest

from labelwise.campaign.campaign import Campaign
from tests.recorded.campaigns import (
    EXPECTED,
    FILE,
    FOLDER,
    KINDS,
    ROUNDING,
    answers_of,
    play,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", KINDS)
def test_a_campaign_asks_and_answers_as_before(kind, tmp_path):
    check("", play(kind, tmp_path / "campaign"), json.loads(FILE.read_text())[kind])


def test_a_folder_of_an_older_version_opens_and_answers_alike(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "old")
    campaign = Campaign.open(tmp_path / "old")
    expected = json.loads(EXPECTED.read_text())
    check("", answers_of(campaign), expected["answers"])
    status = campaign.status().to_dict()
    check("", {name: status[name] for name in expected["status"]}, expected["status"])
    assert len(campaign.ask()) == campaign.spec.sampling.batch  # and it goes on


def check(where, found, expected):
    """The same throughout; numbers to rounding."""
    if isinstance(expected, dict):
        assert set(found) == set(expected), where
        for key in expected:
            check(f"{where}/{key}", found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for place, one in enumerate(expected):
            check(f"{where}/{place}", found[place], one)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING), where
    else:
        assert found == expected, where
