"""Running many simulations: in parallel, resumable, rows saved as they come."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import pandas as pd
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from labelwise.errors import InvalidInput, NumericalError
from labelwise.tables.write import write_text

COLUMNS = ["policy", "seed", "round", "seconds"]  # that every row has, besides its figures


class Task(NamedTuple):
    """One simulated campaign of a study."""

    policy: str
    seed: int


def make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"Cannot write to {out}: {error.strerror}", "choose another --out", where=str(out)
        ) from None


class Study:
    """Rows of a study in a folder: what is there is not run again."""

    def __init__(self, folder: Path, config: dict[str, Any]):
        make_folder(folder)
        self.rows_file = folder / "rows.csv"
        self.rounds = config["rounds"]
        self._claim(folder, json.dumps(config, indent=2) + "\n")
        rows = self.rows()
        if rows.empty:  # a first line cut off in the middle must not become the header
            self.rows_file.unlink(missing_ok=True)
        else:  # nor must another one meet the next
            write_text(rows.to_csv(index=False), self.rows_file)

    def _claim(self, folder: Path, config: str) -> None:
        """Leave the configuration in the folder, unless it holds something else."""
        known, strange = folder / "config.json", None
        if not known.exists() and self.rows_file.exists():
            strange, where = f"{self.rows_file} is not of a study", self.rows_file
        elif known.exists() and known.read_text() != config:
            strange = f"{folder} holds rows of another configuration ({known})"
            where = folder
        if strange is not None:
            raise InvalidInput(strange, "choose another --out", where=str(where))
        write_text(config, known)

    def rows(self) -> pd.DataFrame:
        """Rows of the tasks that were finished; a task cut off in the middle does not count."""
        try:
            rows = pd.read_csv(self.rows_file, on_bad_lines="skip")
        except (FileNotFoundError, pd.errors.EmptyDataError):
            rows = pd.DataFrame()
        if not set(COLUMNS) <= set(rows.columns):
            return pd.DataFrame(columns=COLUMNS)
        rows = rows.drop_duplicates(["policy", "seed", "round"], keep="last")
        rows = rows.dropna(subset=["seconds"])
        whole = rows.groupby(["policy", "seed"])["round"].transform("size") == self.rounds + 1
        return rows[whole].sort_values(["policy", "seed", "round"], ignore_index=True)

    def missing(self, tasks: Sequence[Task]) -> list[Task]:
        done = set(_tasks_of(self.rows()))
        return [task for task in tasks if task not in done]

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Append the rows of one finished task in one write."""
        header = not self.rows_file.exists() or self.rows_file.stat().st_size == 0
        with self.rows_file.open("a") as file:
            file.write(pd.DataFrame(rows).to_csv(index=False, header=header))

    def run(
        self,
        tasks: Sequence[Task],
        work: Callable[[Task], list[dict[str, Any]]],
        jobs: int,
        console: Console,
    ) -> pd.DataFrame:
        """Run the tasks that are missing, `jobs` at a time, and return all rows."""
        left = self.missing(tasks)
        with progress_bar(console) as progress:
            done = len(tasks) - len(left)
            bar = progress.add_task("simulating", total=len(tasks), completed=done)
            # Fresh processes: JAX must never be forked. Rows are written here alone.
            results = Parallel(n_jobs=jobs, return_as="generator_unordered")(
                delayed(work)(task) for task in left
            )
            for rows in results or ():
                self.add(cast(list[dict[str, Any]], rows))
                progress.advance(bar)
        left = self.missing(tasks)
        if left:
            raise NumericalError(
                f"{left[0]} left no whole set of rows",
                "run the command again",
                where=str(self.rows_file),
            )
        rows, wanted = self.rows(), set(tasks)
        return rows[[task in wanted for task in _tasks_of(rows)]]


def progress_bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def _tasks_of(rows: pd.DataFrame) -> list[Task]:
    return [Task(*pair) for pair in zip(rows["policy"], rows["seed"], strict=True)]
