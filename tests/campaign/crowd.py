"""Many processes that plan and tell on one campaign, and a thread that backs it up meanwhile.

Each process asks by lookahead, lets a row fail, and tells the rest (`worker`). Every backup
must open, be as its hashes say, and be a stage that the campaign went through; at the end
nothing that was acknowledged is missing, and no row was out twice at a time.

    python -m tests.campaign.crowd --processes 16
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.campaign import small
from tests.campaign.worker import TIMES

ROOT = Path(__file__).parents[2]
MORE = 4  # rows of the pool for each process, so that none goes without


def make(folder: Path, processes: int):
    """A campaign with rows for all of them."""
    import pandas as pd

    tables = small.make_tables()
    copies = -(-MORE * processes // small.POOL)
    pool = [
        tables["pool"].assign(id=[f"{one}-{copy}" for one in tables["pool"]["id"]])
        for copy in range(copies)
    ]
    tables["pool"] = pd.concat(pool, ignore_index=True)
    return small.make(folder, budget=None, policy="lookahead", **tables)


def crowd(folder: Path, processes: int) -> dict[str, int]:
    """Let them loose; raise at the first thing that is wrong."""
    campaign = make(folder / "campaign", processes)
    workers = [_start(campaign.path) for _ in range(processes)]
    done, backups = threading.Event(), []
    copier = threading.Thread(target=_back_up, args=(campaign, folder, done, backups))
    try:
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        copier.start()
        with ThreadPoolExecutor(processes) as threads:
            ended = list(threads.map(lambda worker: worker.communicate("go\n"), workers))
    finally:
        done.set()
        for worker in workers:
            worker.kill()
            worker.communicate()
    copier.join()
    codes = [worker.returncode for worker in workers]
    assert codes == [0] * processes, [error for _, error in ended if error]
    told = [one for said, _ in ended for one in json.loads(said)]
    return _check(campaign, told, backups, processes)


def _start(folder: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "tests.campaign.worker", str(folder)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def _back_up(campaign, folder: Path, done: threading.Event, backups: list) -> None:
    """Copy and open again, and keep what each copy held."""
    from labelwise.campaign.campaign import Campaign

    while not done.is_set():
        copy = Campaign.open(campaign.backup(folder / "copy"))
        backups.append([logged.event for logged in copy.store.history()])
        assert copy.state().head
        shutil.rmtree(folder / "copy")


def _check(campaign, told: list[str], backups: list, processes: int) -> dict[str, int]:
    history = campaign.store.history()
    events = [logged.event for logged in history]
    out: set[int] = set()
    for event in events:
        assert (event.kind == "asked") == (event.position not in out), event
        out ^= {event.position}
    labels = {one.id: one.event.label for one in history if one.event.kind == "labelled"}
    assert len(told) == len(set(told)) == processes * TIMES
    assert labels == small.labels_of(told)
    assert campaign.state().round == processes * (TIMES + 1)
    assert backups
    for backup in backups:
        assert backup == events[: len(backup)]
    return {"processes": processes, "labels": len(told), "backups": len(backups), "lost": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--processes", type=int, default=16)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(crowd(Path(folder), chosen.processes)))


if __name__ == "__main__":
    main()
