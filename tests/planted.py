"""Plant errors in the package, one at a time, and see that the tests catch each of them.

`planted.toml` lists errors that a developer could make: a sign, a factor, a forgotten mask.
Each is planted in a copy of the tree, where the tests that should notice it are run. First
these tests are run without any error, so that a broken suite is not taken for a watchful one.

    python -m tests.planted                          # all errors
    python -m tests.planted gain-coupling-halved     # some of them, by id
    python -m tests.planted --area design --json     # those of an area
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[1]
ERRORS = Path(__file__).with_suffix(".toml")
COPIED = ("src", "tests", "experiments", "benchmarks", "pyproject.toml")
APART = (".git", ".venv")  # tests need neither
# Some errors make a loop endless; no list of tests takes nearly as long as this.
LONGEST = 1800.0
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)

Outcome = Literal["caught", "NOT CAUGHT", "does not apply"]


@dataclass(frozen=True)
class Error:
    """A deliberate error, and who should notice."""

    id: str
    area: str
    kind: str
    file: str
    old: str
    new: str
    why: str  # it matters to a user
    tests: tuple[str, ...]
    caught_before: bool  # by the tests as they were when the error was chosen

    def plant(self, root: Path) -> bool:
        """Write the error into a tree; False if its place is not found, or not one place."""
        path = root / self.file
        # What is linked is the tree that one works in.
        assert path.resolve().is_relative_to(root.resolve()), f"{self.file} is not copied"
        text = path.read_text("utf-8") if path.is_file() else ""
        if text.count(self.old) != 1:
            return False
        path.write_text(text.replace(self.old, self.new), "utf-8")
        return True


@dataclass(frozen=True)
class Found:
    """What the tests said of one error."""

    id: str
    outcome: Outcome
    by: str = ""  # the test that failed

    def __str__(self) -> str:
        return f"{self.id}: {self.outcome}" + (f" by {self.by}" if self.by else "")


def read_errors() -> list[Error]:
    """All errors, in the order of the file."""
    found = tomllib.loads(ERRORS.read_text("utf-8"))["error"]
    errors = [Error(**{**one, "tests": tuple(one["tests"])}) for one in found]
    assert len({one.id for one in errors}) == len(errors), "two errors have one id"
    return errors


def try_all(errors: Sequence[Error], processes: int, say: Callable[[str], None]) -> list[Found]:
    """Plant each error in a tree of its own, some at the same time."""
    found: dict[str, Found] = {}
    with ThreadPoolExecutor(processes) as pool:
        for future in as_completed([pool.submit(try_one, error) for error in errors]):
            one = future.result()
            found[one.id] = one
            say(f"[{len(found)}/{len(errors)}] {one}")
    return [found[error.id] for error in errors]


def try_one(error: Error) -> Found:
    """Plant one error and run its tests."""
    with tempfile.TemporaryDirectory() as folder:
        root = copy_tree(Path(folder))
        if not error.plant(root):
            return Found(error.id, "does not apply")
        by = failing(root, error.tests, "-x")
    return Found(error.id, "NOT CAUGHT" if by is None else "caught", by or "")


def check_sound(errors: Sequence[Error], processes: int) -> str | None:
    """Run all tests that are named without any error; one that fails, if any does."""
    tests = list(dict.fromkeys(test for error in errors for test in error.tests))
    with tempfile.TemporaryDirectory() as folder:
        root = copy_tree(Path(folder))
        return failing(root, tests, f"--numprocesses={processes}", "--dist=loadfile")


def copy_tree(folder: Path) -> Path:
    """A tree of its own for what an error or a test may write to; the rest is linked."""
    (ROOT / ".cache").mkdir(exist_ok=True)  # what was compiled, for all trees
    for entry in ROOT.iterdir():
        if entry.name in APART:
            continue
        if entry.name not in COPIED:
            (folder / entry.name).symlink_to(entry)
        elif entry.is_dir():
            shutil.copytree(entry, folder / entry.name)
        else:
            shutil.copy2(entry, folder / entry.name)
    _check_imported(folder)
    return folder


def _check_imported(root: Path) -> None:
    """Python must find the copy, not the package as it is installed."""
    where = "import importlib.util as u; print(u.find_spec('labelwise').origin)"
    found = _run(root, "-c", where).stdout.strip()
    assert Path(found).is_relative_to(root), f"{found} would be tested, not the copy in {root}"


def failing(root: Path, tests: Sequence[str], *options: str) -> str | None:
    """The first test that fails in a tree; None if all pass."""
    pytest = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *tests)
    try:
        done = _run(root, *pytest)
    except subprocess.TimeoutExpired:
        return "tests that did not end"
    if done.returncode == 0:
        return None
    named = FAILED.search(done.stdout)
    assert named, done.stdout + done.stderr  # no test failed: pytest itself did not like it
    return named[1]


def _run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, timeout=LONGEST
    )


def choose(errors: Sequence[Error], ids: Sequence[str], area: str | None) -> list[Error]:
    """The errors that are asked for."""
    unknown = {*ids} - {error.id for error in errors}
    if unknown:
        sys.exit(f"There is no error called {', '.join(sorted(unknown))}; see --list.")
    chosen = [one for one in errors if not ids or one.id in ids]
    chosen = [one for one in chosen if area in (None, one.area)]
    if not chosen:
        sys.exit(f"There are no such errors in the area {area!r}; see --list.")
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("ids", nargs="*", help="errors to plant; default: all")
    parser.add_argument("--area", help="only errors of this area")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print JSON at the end")
    parser.add_argument("--list", action="store_true", help="show the errors, plant none")
    chosen = parser.parse_args()
    errors = choose(read_errors(), chosen.ids, chosen.area)
    if chosen.list:
        for one in errors:
            print(f"{one.id} ({one.area}, {one.kind}; {one.file}): {one.why}")
        return
    say = lambda text: print(text, file=sys.stderr if chosen.json else sys.stdout, flush=True)
    broken = check_sound(errors, chosen.processes)
    if broken is not None:
        sys.exit(f"Without any error {broken} fails; mend it first.")
    say(f"Without any error all tests of {len(errors)} errors pass.")
    found = try_all(errors, chosen.processes, say)
    if chosen.json:
        print(json.dumps([asdict(one) for one in found], indent=2))
    missed = [one for one in found if one.outcome != "caught"]
    say(f"{len(found) - len(missed)} of {len(found)} errors are caught.")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
