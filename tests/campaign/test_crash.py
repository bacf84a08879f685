"""A campaign that is killed again and again ends as one that never was."""

from tests.campaign.torture import INSTANTS, torture


def test_nothing_acknowledged_is_lost_in_twenty_kills(tmp_path):
    result = torture(tmp_path, kills=20, seed=1, say=lambda _: None)
    assert result.kills == 20
    assert result.campaigns > 0
    assert set(result.instants) == set(INSTANTS)
    assert result.acknowledged > 100
