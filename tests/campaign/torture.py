"""Kill a working campaign again and again, and see that nothing acknowledged is ever lost.

A child process works a small campaign off: it asks, tells the labels in parts, asks again. It
says on a pipe what it is about to do and what was acknowledged. The parent kills it while it
plans, commits or tells, looks at what is on disk, and starts the next child, which carries on
from the log. A finished campaign must equal an uninterrupted one in every row of its log,
times apart.

    python -m tests.campaign.torture --kills 200
"""

import argparse
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labelwise.campaign.store.folder import LOG, FolderStore
from tests.campaign.small import label_of, labels_of, make

ROOT = Path(__file__).parents[2]
ROUNDS, BATCH, PART = 6, 3, 2
# Where a child may be killed: the message to wait for, and the longest wait after it. A first
# plan takes seconds; a commit takes some milliseconds.
INSTANTS = {"planning": 1.0, "keeping": 0.02, "committing": 0.02, "telling": 0.02}
EVENTS = (
    "SELECT event, kind, id, round, place, probability, label, reason "
    "FROM events JOIN items USING (item) ORDER BY event"
)


@dataclass
class Result:
    """What a run of the torture came to."""

    kills: int = 0
    campaigns: int = 0  # finished, and equal to the uninterrupted one
    instants: Counter = field(default_factory=Counter)
    acknowledged: int = 0  # labels and batches checked after kills
    unacknowledged: int = 0  # calls that were killed after they had been written
    seconds: float = 0.0


class Nursery:
    """The next child starts up while the present one works."""

    def __init__(self):
        self._next: Any = self._spawn()

    def take(self, folder: Path, last: bool = False) -> subprocess.Popen:
        """A child that has begun to work on the folder."""
        child, self._next = self._next, None if last else self._spawn()
        child.stdin.write(f"{folder}\n")
        child.stdin.flush()
        return child

    def close(self) -> None:
        if self._next is not None:
            self._next.kill()
            self._next.communicate()

    def _spawn(self) -> Any:
        command = [sys.executable, "-m", "tests.campaign.torture", "--child"]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)


def torture(folder: Path, kills: int, seed: int = 0, fitted: bool = False, say=print) -> Result:
    """Kill children until there were enough kills; raise at the first thing that is wrong."""
    blank, result, start = folder / "blank", Result(), time.monotonic()
    options = {"belief": "gp"} if fitted else {}
    make(blank, policy="lookahead", batch=BATCH, budget=ROUNDS * BATCH, **options)
    with closing(Nursery()) as nursery:
        _torture(folder, blank, kills, random.Random(seed), nursery, result, say)
    result.seconds = round(time.monotonic() - start, 1)
    return result


def _torture(folder: Path, blank: Path, kills: int, rng, nursery, result: Result, say) -> None:
    whole = Path(shutil.copytree(blank, folder / "whole"))
    expected = _work_off(whole, lambda *_, **__: None)  # here, where nobody kills it
    while result.kills < kills:
        broken = Path(shutil.copytree(blank, folder / "broken"))
        found = _break(broken, kills, rng, nursery, result)
        compare(whole, broken, expected, found)
        shutil.rmtree(broken)
        result.campaigns += 1
        say(
            f"{result.kills} kills, {result.campaigns} campaigns equal to the uninterrupted one"
        )


def _break(folder: Path, kills: int, rng, nursery: Nursery, result: Result) -> dict[str, Any]:
    """Work one campaign off with as many kills as it takes; the last child's last word."""
    known: list[dict[str, Any]] = []
    while True:
        spare = result.kills >= kills  # the last campaign is let finish
        instant = None if spare else _least_tried(result, rng)
        child = nursery.take(folder, last=spare)
        said = list(work(child, instant, rng.randint(1, 2), rng.random()))
        known += said
        check(folder, known, result)
        if said and said[-1]["did"] == "done":
            _count_unacknowledged(folder, known, result)
            return said[-1]["estimate"]
        assert not spare, said
        result.kills += 1
        result.instants[str(instant)] += 1


def _least_tried(result: Result, rng) -> str:
    """So that a few kills fall at every instant."""
    fewest = min(result.instants[instant] for instant in INSTANTS)
    return rng.choice([one for one in INSTANTS if result.instants[one] == fewest])


def work(
    child: subprocess.Popen, instant: str | None = None, count: int = 1, share: float = 0.0
) -> Iterator[dict[str, Any]]:
    """What a child says; it is killed some time after the `count`-th word about `instant`."""
    with child:
        assert child.stdout is not None
        killed = False
        for line in child.stdout:
            if not line.endswith("\n"):
                break
            said = json.loads(line)
            if instant and said["did"] == instant and not killed:
                count -= 1
                if count == 0:
                    time.sleep(share * INSTANTS[instant])
                    child.kill()
                    killed = True
            yield said
    assert child.returncode in ((0, -9) if killed else (0,)), child.returncode


def check(folder: Path, said: list[dict[str, Any]], result: Result) -> None:
    """After a kill: the log opens, is sound, and holds all that was acknowledged, whole."""
    FolderStore.open(folder)
    log = sqlite3.connect(folder / LOG)
    try:
        assert log.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        events = log.execute(EVENTS).fetchall()
        rounds = dict(log.execute("SELECT round, content FROM rounds"))
    finally:
        log.close()
    labels = {event[2]: event[6] for event in events if event[1] == "labelled"}
    assert len(labels) == sum(event[1] == "labelled" for event in events), "labelled twice"
    assert labels == labels_of(labels)
    batches = {
        number: [event[2] for event in events if event[1] == "asked" and event[3] == number]
        for number in rounds
    }
    for number, ids in batches.items():
        assert len(ids) == BATCH == len(json.loads(rounds[number])["plan"]["rows"]), ids
    asked = [event[2] for event in events if event[1] == "asked"]
    assert len(asked) == len(set(asked)), "asked twice"
    _check_acknowledged(said, labels, batches, result)


def _check_acknowledged(said, labels, batches, result: Result) -> None:
    for word in said:
        if word["did"] == "asked":
            assert batches[word["round"]] == word["ids"], word
            result.acknowledged += 1
        if word["did"] == "told":
            assert all(labels[one] == label_of(one) for one in word["ids"]), word
            result.acknowledged += len(word["ids"])
        if word["did"] == "telling":  # all of a part, or none of it
            assert len({one in labels for one in word["ids"]}) == 1, word


def _count_unacknowledged(folder: Path, said: list[dict[str, Any]], result: Result) -> None:
    """How often a kill fell between a commit and its acknowledgement: the narrowest place."""
    told = {one for word in said if word["did"] == "told" for one in word["ids"]}
    numbers = {word["round"] for word in said if word["did"] == "asked"}
    events = _rows(folder, EVENTS)
    result.unacknowledged += len({event[3] for event in events} - numbers)
    result.unacknowledged += len({event[2] for event in events} - told)


def compare(whole: Path, broken: Path, expected: dict[str, Any], found: dict[str, Any]) -> None:
    """Batch for batch, label for label, number for number."""
    assert found == expected
    for query in (EVENTS, "SELECT round, content FROM rounds", "SELECT labels FROM fits"):
        assert _rows(broken, query) == _rows(whole, query), query


def _rows(folder: Path, query: str) -> list[tuple]:
    log = sqlite3.connect(folder / LOG)
    try:
        return log.execute(query).fetchall()
    finally:
        log.close()


def be_child() -> None:
    """Work a campaign off, from wherever its log stands."""
    from labelwise.campaign.campaign import Campaign

    Campaign._commit = _announced("committing", Campaign._commit)
    Campaign._keep = _announced("keeping", Campaign._keep)
    folder = sys.stdin.readline().strip()  # the imports are done: from here on it may be killed
    if folder:
        _say("done", estimate=_work_off(Path(folder), _say))


def _work_off(folder: Path, say: Any) -> dict[str, Any]:
    """Ask and tell until the budget is spent; the estimate at the end, as JSON has it."""
    from labelwise.campaign.campaign import Campaign

    campaign = Campaign.open(folder)
    while True:
        out = [str(one) for one in campaign.pending()["id"]]
        if out:
            _tell(campaign, out[:PART], say)
        elif campaign.status().budget["left"]:
            say("planning")
            batch = campaign.ask()
            say("asked", round=int(batch["batch_id"].iloc[0]), ids=list(batch["id"]))
        else:
            answer = campaign.estimate().to_dict() | {"head": ""}  # which knows the times
            return json.loads(json.dumps(answer))


def _announced(did: str, function: Any) -> Any:
    """The same function, which says so before it runs."""

    def announced(*arguments):
        _say(did)
        return function(*arguments)

    return announced


def _tell(campaign, ids: list[str], say: Any) -> None:
    say("telling", ids=ids)
    campaign.tell(labels_of(ids))
    say("told", ids=ids)


def _say(did: str, **more: Any) -> None:
    """One write a message, so that it is on the pipe whole or not at all."""
    os.write(1, (json.dumps({"did": did, **more}) + "\n").encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fitted", action="store_true", help="fit the belief to the labels")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        return be_child()
    say = lambda text: print(text, file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        result = torture(Path(folder), chosen.kills, chosen.seed, chosen.fitted, say)
    print(json.dumps(vars(result)))


if __name__ == "__main__":
    main()
