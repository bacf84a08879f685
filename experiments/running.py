"""What the commands of all studies share: names chosen, tasks run or resumed, results shown."""

import json
import sys
from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from labelwise.errors import LabelwiseError


@contextmanager
def one_sentence():
    """What goes wrong is said in one sentence, in red."""
    try:
        yield
    except LabelwiseError as error:
        Console(stderr=True).print(str(error), style="red", highlight=False, markup=False)
        raise typer.Exit(2) from None


def choose(wanted: list[str] | None, known: Iterable[str], what: str = "policy") -> list[str]:
    known = list(known)
    unknown = [name for name in wanted or () if name not in known]
    if unknown:
        raise LabelwiseError(
            f"There is no {what} {unknown[0]!r}", f"there are {', '.join(known)}", where=what
        )
    return wanted or known


def run(
    out: Path, config, work, names: list[str], seeds: int, jobs: int, by_seed: bool = False
):
    """All policies on all seeds; what the folder already holds is not run again."""
    from labelwise.cli.runs import Study, Task

    tasks = [Task(name, seed) for name in names for seed in range(seeds)]
    if by_seed:
        tasks.sort(key=lambda task: task.seed)
    return Study(out, config).run(tasks, work, jobs, Console(stderr=True))


def report(summary, out: Path, as_json: bool, tabulate) -> None:
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    if as_json:
        json.dump(summary, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(tabulate(summary))


def command() -> str:
    return " ".join(["python -m experiments", *sys.argv[1:]])
