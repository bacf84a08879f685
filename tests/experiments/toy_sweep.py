"""A small sweep to be interrupted: `python -m tests.experiments.toy_sweep FOLDER [SECONDS]`."""

import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from experiments.sweep import Engine, Sweep, Task

TASKS = [Task(f"task/{number}", 1.0) for number in range(8)]
CONFIG = {"study": "toy"}


def work(name: str, wait: float = 0.0, broken: str = "", deadly: str = "") -> list[dict]:
    """Two rows of numbers with all their digits."""
    if name == deadly:  # as the system does to a process that wants too much memory
        os._exit(137)
    if name == broken:
        raise ArithmeticError("it was to be expected")
    time.sleep(wait)
    rng = np.random.default_rng(int(name.split("/")[1]))
    return [{"task": name, "place": place, "number": rng.normal()} for place in range(2)]


def run(
    folder: Path,
    wait: float = 0.0,
    engine: Engine | None = None,
    broken: str = "",
    deadly: str = "",
):
    console = Console(stderr=True, quiet=True)
    doing = partial(work, wait=wait, broken=broken, deadly=deadly)
    return Sweep(folder, CONFIG).run(TASKS, doing, engine or Engine(1), console)


if __name__ == "__main__":
    run(Path(sys.argv[1]), float(sys.argv[2]))
