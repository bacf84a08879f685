"""Small versions of what `make torture` does at length."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaign import commands
from tests.campaign.crowd import crowd
from tests.campaign.flips import flips

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def test_a_flipped_bit_is_detected_or_without_effect(tmp_path):
    found = flips(tmp_path, 40, seed=1)
    assert found.total() == 40
    assert found["detected"] > 10
    assert found["without effect"] > 5


def test_a_crowd_loses_nothing_and_its_backups_are_whole(tmp_path):
    assert crowd(tmp_path, 4)["lost"] == 0


def test_every_command_may_be_stopped_at_any_instant():
    """In a process of its own, which forks before it starts JAX."""
    command = [sys.executable, "-m", "tests.campaign.commands", "--kills", "30"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_what_other_code_withstood_does_not_count(tmp_path):
    life = {"kills": 40, "lives": 1, "by_command": {"ask": 40}, "by_signal": {"SIGKILL": 40}}
    lines = [life, life | {"code": "other"}, life | {"code": commands.code()}]
    results = tmp_path / "results.jsonl"
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (found,) = commands._earlier(results)
    assert (found.kills, found.by_command["ask"]) == (40, 40)
    assert commands._earlier(tmp_path / "none") == commands._earlier(None) == []
