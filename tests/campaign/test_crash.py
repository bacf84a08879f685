"""A campaign that is killed again and again ends as one that never was."""

import pytest

from tests.campaign.torture import INSTANTS, torture

pytestmark = pytest.mark.slow
KILLS = len(INSTANTS)  # `make torture` has many more


def test_nothing_acknowledged_is_lost_however_often_it_is_killed(tmp_path):
    result = torture(tmp_path, kills=KILLS, seed=1, say=lambda _: None)
    assert result.kills == KILLS
    assert result.campaigns > 0
    assert set(result.instants.values()) == {1}
    # What a child was told is looked for again after every later kill.
    assert result.acknowledged > 2 * KILLS
