"""Many at once on one campaign: no row goes out twice, no label is lost, none fails."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.campaign import small
from tests.campaign.worker import TIMES, work

pytestmark = pytest.mark.slow
WORKERS = 3  # more than there are cores here, so that they do meet
ROOT = Path(__file__).parents[2]


def check_log(folder: Path, told: list[list[str]]) -> None:
    """Replay the log: asked only if free, labelled once, and all that was acknowledged."""
    log = small.dump(folder)
    names = {item: name for item, _, _, name in log["items"]}
    out: set[str] = set()
    labels: dict[str, float] = {}
    for _, _, kind, item, _, _, _, label, *_ in sorted(log["events"]):
        name = names[item]
        if kind == "asked":
            assert name not in out, "handed out twice"
            assert name not in labels, "handed out after its label came"
            out.add(name)
        else:
            assert name in out
            out.remove(name)
        if kind == "labelled":
            labels[name] = label
    acknowledged = [one for ids in told for one in ids]
    assert len(acknowledged) == len(set(acknowledged)) == WORKERS * TIMES
    assert labels == small.labels_of(acknowledged)
    assert [row[0] for row in log["rounds"]] == list(range(1, WORKERS * (TIMES + 1) + 1))


def test_processes_share_a_campaign(tmp_path):
    folder = tmp_path / "campaign"
    small.make(folder, budget=None, policy="lookahead")
    command = [sys.executable, "-m", "tests.campaign.worker", str(folder)]
    workers = [
        subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(WORKERS)
    ]
    try:
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        with ThreadPoolExecutor(WORKERS) as threads:
            ended = list(threads.map(lambda worker: worker.communicate("go\n"), workers))
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    complaints = [error for _, error in ended if error]
    assert [worker.returncode for worker in workers] == [0] * WORKERS, complaints
    assert not any("locked" in error for error in complaints)
    check_log(folder, [json.loads(said) for said, _ in ended])


def test_threads_share_a_campaign(tmp_path):
    campaign = small.make(tmp_path / "campaign", budget=None)
    with ThreadPoolExecutor(WORKERS) as threads:
        told = list(threads.map(lambda _: work(campaign), range(WORKERS)))
    check_log(campaign.path, told)
