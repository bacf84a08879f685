"""Every command of a campaign's life, stopped and killed at random instants.

A life is a list of commands: new, ask, tell, correct, skip, fail, estimate, report, export,
backup, and the migration of an old folder. It is lived once undisturbed. Then again and again,
each command in a process of its own that gets KILL, TERM or INT some time after it began, until
it is let finish. After every signal the folder is looked at: its log is sound and as its hashes
say, holds all that was acknowledged and is the undisturbed one's up to the end of some command.
At the end rounds, predictions, the answer, exported rows, the backup and the migrated folder
are the undisturbed one's too. TERM and INT end in one word and leave nothing half made, unless
they come before the command has got as far as to mind them.

Processes are forked from this one, which has loaded everything and started nothing. Results are
added to a file, and a run that is broken off goes on from there, unless the code has changed.

    python -m tests.campaign.commands --kills 2000 --results results.jsonl
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import labelwise.cli
from labelwise.campaign.store.folder import LOG, FolderStore
from tests.campaign import small
from tests.campaign.torture import EVENTS

OLD = Path(__file__).parents[1] / "recorded" / "made-by-0.1.0"
FIRST = 1.0  # seconds that a command may seem to take the first time: programs are compiled
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
WORDS = {signal.SIGTERM: "Terminated.\n", signal.SIGINT: "Interrupted.\n"}
MANY = 1000  # kills among which every command must be
KILLED = 0.95  # share of the tries that are meant to be stopped
MAKES = {"new": "camp", "backup": "backup"}  # commands that make a folder, once
SETTINGS = ["--set", "belief.components=1", "--set", "sampling.policy=random"]
SETTINGS += ["--batch", "3", "--seed", "3"]
MINDS = "minds"  # a file that says that the command has got as far as to mind signals
TIMES = ("at", "created", "head")  # what is another in every life


@dataclass
class Step:
    """One command, and what the log holds once it is done."""

    name: str
    words: list[str]  # {life} stands for the folder of this life
    events: int = 0
    seconds: float = 0.0


@dataclass
class Result:
    """What a run came to."""

    kills: int = 0
    lives: int = 0  # that ended like the undisturbed one
    by_command: Counter = field(default_factory=Counter)
    by_signal: Counter = field(default_factory=Counter)
    unacknowledged: int = 0  # commands that were stopped after their commit

    def add(self, other: "Result") -> None:
        self.kills += other.kills
        self.lives += other.lives
        self.by_command += other.by_command
        self.by_signal += other.by_signal
        self.unacknowledged += other.unacknowledged


def steps_of(tables: Path) -> list[Step]:
    """A life; what is told is read from the log when its time has come."""
    camp = "{life}/camp"
    new = ["new", camp, "--id", "id", "--label", "y", "--prediction", "psi", *SETTINGS]
    new += [f"--{name}={tables / name}.csv" for name in ("labelled", "pool", "target")]
    labels = [Step("tell", ["tell", camp, "{part}"]) for _ in range(2)]
    return [
        Step("new", new),
        Step("ask", ["ask", camp, "--out", "{life}/first.csv"]),
        *labels,
        Step("correct", ["correct", camp, "{mended}", "--reason", "misread"]),
        Step("ask", ["ask", camp, "--out", "{life}/second.csv"]),
        Step("skip", ["skip", camp, "{out}", "--reason", "torn"]),
        Step("fail", ["fail", camp, "{out}", "--reason", "blurred"]),
        Step("tell", ["tell", camp, "{part}"]),
        Step("estimate", ["estimate", camp, "--json"]),
        Step("report", ["report", camp, "--out", "{life}/report.html"]),
        Step("export", ["export", camp, "{life}/rows.csv"]),
        Step("backup", ["backup", camp, "{life}/backup"]),
        Step("migrate", ["status", "{life}/old"]),
    ]


def spelt_out(step: Step, life: Path) -> list[str]:
    """Its words, with what the log says is out now."""
    given, text = {"life": str(life)}, " ".join(step.words)
    if "{part}" in text or "{out}" in text or "{mended}" in text:
        store = FolderStore.open(life / "camp")
        state, items = store.state(), store.items.values()
        ids = {item.position: item.id for item in items if item.origin == "pool"}
        out = [ids[row] for row in state.pending_in_order()]
        mended = {ids[row]: 0.125 for row in sorted(state.labels)[:1]}
        given["out"] = out[0] if out else ""
        given["part"] = _labels(life / "part.csv", small.labels_of(out[:2]))
        given["mended"] = _labels(life / "mended.csv", mended)
    return [word.format(**given) for word in step.words]


def _labels(path: Path, labels: dict[str, float]) -> str:
    path.write_text("id,y\n" + "".join(f"{one},{label}\n" for one, label in labels.items()))
    return str(path)


def run(words: list[str], said: Path, number: int | None = None, after: float = 0.0) -> int:
    """A command in a process of its own, stopped after a while; how it ended."""
    said.write_text("")
    said.with_name(MINDS).unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _be_command(words, said)
    if number is not None:
        time.sleep(after)
        os.kill(child, number)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _be_command(words: list[str], said: Path) -> None:
    """What `labelwise` does, in this process, which ends here."""
    code = 70
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # whatever our parent ignores
    try:
        for number, name in ((1, said.with_suffix(".out")), (2, said)):
            os.dup2(os.open(name, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), number)
        mind = labelwise.cli.end_in_one_word
        labelwise.cli.end_in_one_word = lambda: (mind(), said.with_name(MINDS).touch())
        sys.argv = ["labelwise", *words]
        labelwise.cli.main()
    except SystemExit as done:
        code = int(done.code or 0)
    finally:
        sys.stdout.flush()
        os._exit(code)


def live(folder: Path, steps: list[Step]) -> list[tuple]:
    """Live a life undisturbed; what its log holds at the end, and at each step, is noted."""
    life = _begin(folder / "whole")
    for step in steps:
        began = time.monotonic()
        code = run(spelt_out(step, life), life / "said")
        assert code == 0, (step, (life / "said").read_text())
        assert (life / MINDS).exists(), step
        _keep_answer(step, life)
        step.seconds = min(time.monotonic() - began, FIRST)
        step.events = len(_events(life))
    return _events(life)


def _keep_answer(step: Step, life: Path) -> None:
    """What the estimate said, before another command says something."""
    if step.name == "estimate":
        shutil.copy(life / "said.out", life / "answer.json")


def outcome(life: Path) -> dict[str, Any]:
    """All that a life comes to, but for the times."""
    answer = json.loads((life / "answer.json").read_text())
    found = {"answer": {name: one for name, one in answer.items() if name not in TIMES}}
    found["rows"] = (life / "rows.csv").read_text()
    for name in ("camp", "backup", "old"):
        stored = small.dump(life / name)
        found[f"{name}, rounds"] = [(row[0], row[2]) for row in stored["rounds"]]
        found[f"{name}, predictions"] = stored["predictions"]
        found[f"{name}, items"] = stored["items"]
        found[f"{name}, events"] = [(row[0], *row[2:]) for row in stored["events"]]
    return found


def _begin(life: Path) -> Path:
    life.mkdir()
    shutil.copytree(OLD, life / "old")
    return life


def _events(life: Path) -> list[tuple]:
    with closing(sqlite3.connect(life / "camp" / LOG)) as log:
        assert log.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return log.execute(EVENTS).fetchall()


def live_again(folder: Path, steps: list[Step], whole: list[tuple], seed: int) -> Result:
    """Live it with as many signals as come; raise at the first thing that is wrong."""
    rng, result = random.Random(f"life {seed}"), Result(lives=1)
    life = _begin(folder / f"life {seed}")
    before = 0
    for step in steps:
        while not _tried(step, life, before, rng, result):
            check(life, step, before, whole)
        check(life, step, step.events, whole)
        _keep_answer(step, life)
        before = step.events
    assert _events(life) == whole
    expected, found = outcome(folder / "whole"), outcome(life)
    assert [name for name in expected if found[name] != expected[name]] == []
    shutil.rmtree(life)
    return result


def _tried(step: Step, life: Path, before: int, rng: random.Random, result: Result) -> bool:
    """Whether the command was let finish, or had done its work when it was stopped."""
    number = rng.choice(SIGNALS) if rng.random() < KILLED else None
    after, left = rng.uniform(0.0, step.seconds), _half_made(life)
    words, began = spelt_out(step, life), time.monotonic()
    code = run(words, life / "said", number, after)
    said = (life / "said").read_text()
    if code == 0:  # it is known better now how long it takes
        step.seconds = (step.seconds + time.monotonic() - began) / 2.0
        return True
    assert number is not None, (step, code, said)
    stopped = code == -signal.SIGKILL if number == signal.SIGKILL else code == 128 + number
    early = code == -number and not (life / MINDS).exists()
    assert stopped or early, (step, code, said)
    assert not stopped or said == WORDS.get(number, said), (step, said)
    if number != signal.SIGKILL and not early:
        assert _half_made(life) <= left, (step, _half_made(life) - left)
    result.kills += 1
    result.by_command[step.name] += 1
    result.by_signal[signal.Signals(number).name] += 1
    done = _is_done(step, life, before)
    result.unacknowledged += done
    return done


def _half_made(life: Path) -> set[str]:
    """What is in the making, or was when it was killed."""
    return {path.name for path in life.rglob(".*.????????")}


def _is_done(step: Step, life: Path, before: int) -> bool:
    """Whether a command that was stopped had done all of its work, and cannot be repeated."""
    if step.name in MAKES:
        return (life / MAKES[step.name]).exists()
    return step.events > before and len(_events(life)) == step.events


def check(life: Path, step: Step, before: int, whole: list[tuple]) -> None:
    """What is there is whole: the log up to a step's end, and every file that has its name."""
    if not (life / "camp").exists():
        assert step.name == "new", step
        return
    state = FolderStore.open(life / "camp").state()  # held to its hashes, and to its head
    events = _events(life)
    assert len(events) in (before, step.events), (step, len(events))
    assert events == whole[: len(events)]
    assert state.event == (len(events) and max(event[0] for event in events))
    if (life / "report.html").exists():
        assert (life / "report.html").read_text().rstrip().endswith("</html>")
    if (life / "rows.csv").exists():
        assert len((life / "rows.csv").read_text().splitlines()) == small.POOL + 1
    if (life / "backup").exists():
        assert FolderStore.open(life / "backup").state().head == state.head
    if step.name == "migrate":
        copy = shutil.copytree(life / "old", life / "copy")
        assert FolderStore.open(copy).state().event == _last_event(OLD)
        shutil.rmtree(copy)


def _last_event(folder: Path) -> int:
    with closing(sqlite3.connect(f"file:{folder / LOG}?immutable=1", uri=True)) as log:
        return log.execute("SELECT max(event) FROM events").fetchone()[0]


def torture(folder: Path, kills: int, seed: int = 0, results: Path | None = None, say=print):
    """Live lives until there were enough kills."""
    import labelwise.cli.app
    import labelwise.evaluation.evaluation
    import labelwise.report  # noqa: F401 - loaded here, once, and started in each fork

    for name, table in small.make_tables().items():
        table.to_csv(folder / f"{name}.csv", index=False)
    steps = steps_of(folder)
    whole, total = live(folder, steps), Result()
    for life in _earlier(results):
        total.add(life)
    while total.kills < kills:
        life = live_again(folder, steps, whole, seed + total.lives)
        total.add(life)
        if results is not None:
            with results.open("a") as file:
                file.write(json.dumps(vars(life) | {"code": code()}) + "\n")
        say(f"{total.kills} kills, {total.lives} lives equal to the undisturbed one")
    spared = {step.name for step in steps} - {*total.by_command}
    assert kills < MANY or not spared, spared
    return total


def _earlier(results: Path | None) -> list[Result]:
    """Lives that were lived before, by the same code: what other code withstood is no proof."""
    lines = results.read_text().splitlines() if results and results.exists() else []
    stored = [json.loads(line) for line in lines]
    return [_read(life) for life in stored if life.pop("code", "") == code()]


def _read(stored: dict) -> Result:
    counters = {name: Counter(stored[name]) for name in ("by_command", "by_signal")}
    return Result(**stored | counters)


@cache
def code() -> str:
    """A hash of the package, and of how it is tried."""
    package = Path(labelwise.__file__).parent
    files = [*sorted(package.rglob("*.py")), Path(__file__)]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, help="a file to go on from")
    chosen = parser.parse_args()
    say = lambda text: print(text, file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        total = torture(Path(folder), chosen.kills, chosen.seed, chosen.results, say)
    print(json.dumps(vars(total)))


if __name__ == "__main__":
    main()
