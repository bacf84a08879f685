"""Sweeps of many tasks: in processes here or on a cluster, resumable, none lost for another.

A task is a name; what it finds are rows. Every finished task is one line of `tasks.jsonl`,
written whole, so that a run cut off anywhere goes on where it was. `rows.csv` is made of them
in the order of the tasks: it is the same however often the run was cut off and wherever tasks
ran. Of a task that fails the reason is told at the end, and the next run tries it again.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pandas as pd
from joblib import Parallel, delayed
from rich.console import Console

from labelwise.cli.runs import make_folder, progress_bar
from labelwise.errors import InvalidInput, NumericalError
from labelwise.pools.engine import client_of, load_dask
from labelwise.runtime import spare_maps
from labelwise.tables.write import write_text

Rows = list[dict[str, Any]]
Work = Callable[[str], Rows]


@dataclass(frozen=True)
class Task:
    """A name that says what to do, and about how long that takes."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Engine:
    """Where tasks run: in processes of this machine, or on a Dask cluster."""

    jobs: int = 2
    scheduler: str | None = None  # the address of a cluster, or "local"

    def run(self, names: Sequence[str], work: Work) -> Iterator[dict[str, Any]]:
        """What each task came to, as soon as it is there.

        Where a process dies (of too little memory, say), others may go down with it: what is
        left then runs once more, one task at a time, and who dies alone has failed. (One job
        is this very process, which nothing can save.)
        """
        left = list(names)
        for name, found in self._together(names, work):
            if found is not None:
                left.remove(name)
                yield found
        for name in left:
            alone = next((found for _, found in self._together([name], work)), None)
            yield alone or _died(name)

    def _together(
        self, names: Sequence[str], work: Work
    ) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """Tasks with what they came to; of one whose process died that is None, or nothing."""
        if self.scheduler is not None:
            yield from self._on_cluster(names, work)
            return
        # Fresh processes: JAX must never be forked.
        found = Parallel(n_jobs=self.jobs, return_as="generator_unordered")(
            delayed(attempt)(work, name) for name in names
        )
        with suppress(BrokenProcessPool):
            for one in cast(Iterator[dict[str, Any]], found or iter(())):
                yield one["task"], one

    def _on_cluster(self, names: Sequence[str], work: Work):
        distributed = load_dask()
        with client_of(str(self.scheduler), self.jobs) as client:
            tasks = {client.submit(attempt, work, name, pure=False): name for name in names}
            for done in distributed.as_completed(tasks):
                yield tasks[done], done.result() if done.status == "finished" else None


def _died(name: str) -> dict[str, Any]:
    return {"task": name, "seconds": 0.0, "error": "its process died", "rows": []}


def attempt(work: Work, name: str) -> dict[str, Any]:
    """One task, whatever becomes of it: its rows, or why there are none."""
    start = time.perf_counter()
    try:
        rows, error = work(name), None
    except Exception as problem:  # of any kind: others must go on
        rows, error = [], f"{type(problem).__name__}: {problem}"
    spare_maps()
    seconds = round(time.perf_counter() - start, 2)
    return {"task": name, "seconds": seconds, "error": error, "rows": rows}


class Sweep:
    """The tasks of a study in a folder: what is there is not run again."""

    def __init__(self, folder: Path, config: dict[str, Any]):
        make_folder(folder)
        self.folder, self.file = folder, folder / "tasks.jsonl"
        text, known = json.dumps(config, indent=2) + "\n", folder / "config.json"
        if known.exists() and known.read_text() != text:
            raise InvalidInput(
                f"{folder} holds rows of another configuration ({known})",
                "choose another --out",
                where=str(folder),
            )
        write_text(text, known)
        write_text("".join(f"{json.dumps(one)}\n" for one in self.done().values()), self.file)

    def done(self) -> dict[str, dict[str, Any]]:
        """What is finished, by task; a line cut off in the middle is no line."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        found = [one for one in map(_parse, lines) if one is not None and one["error"] is None]
        return {one["task"]: one for one in found}

    def run(
        self, tasks: Sequence[Task], work: Work, engine: Engine, console: Console
    ) -> pd.DataFrame:
        """Run what is missing, and return all rows in the order of the tasks."""
        left = [task for task in tasks if task.name not in self.done()]
        console.print(forecast(left, engine.jobs), highlight=False)
        failed = self._run(left, len(tasks), work, engine, console) if left else []
        rows = self.rows(tasks)
        write_text(rows.to_csv(index=False), self.folder / "rows.csv")
        if failed:
            raise NumericalError(
                f"{len(failed)} of {len(tasks)} tasks failed, the first ({failed[0]['task']}) "
                f"with {failed[0]['error']}",
                "the others are kept: mend it and run the command again",
                where=str(self.file),
            )
        return rows

    def _run(self, left, total: int, work: Work, engine: Engine, console: Console) -> Rows:
        failed = []
        with progress_bar(console) as progress:
            bar = progress.add_task("tasks", total=total, completed=total - len(left))
            for found in engine.run([task.name for task in left], work):
                with self.file.open("a") as file:
                    file.write(json.dumps(found) + "\n")
                failed += [found] if found["error"] else []
                progress.advance(bar)
        return failed

    def rows(self, tasks: Iterable[Task]) -> pd.DataFrame:
        """Rows of the finished tasks."""
        done = self.done()
        every = [row for task in tasks if task.name in done for row in done[task.name]["rows"]]
        return pd.DataFrame(every)


def forecast(tasks: Sequence[Task], jobs: int) -> str:
    """What the work would take, here and with more workers."""
    if not tasks:
        return "Every task is done already."
    total, longest = sum(task.seconds for task in tasks), max(task.seconds for task in tasks)
    spans = ", ".join(
        f"{_minutes(span(tasks, workers))} on {workers}" for workers in sorted({jobs, 8, 64})
    )
    return (
        f"{len(tasks)} tasks, about {_minutes(total)} of work, by what they took elsewhere: "
        f"{spans} workers; the longest task takes {_minutes(longest)}."
    )


def span(tasks: Sequence[Task], workers: int) -> float:
    """Seconds until all are done, each worker taking the next task when it is free."""
    free = [0.0] * workers
    for task in tasks:
        first = min(range(workers), key=free.__getitem__)
        free[first] += task.seconds
    return max(free)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _parse(line: str) -> dict[str, Any] | None:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None
