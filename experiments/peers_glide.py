"""The same draws as the study `peers` makes, measured by GLIDE, a library of such methods.

GLIDE needs Python 3.12 and an environment of its own, so its estimators run in a process of
another Python (`glide_worker`), whose intervals are kept beside the study's rows.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.peers_methods import LEVEL, METHODS, Drawn
from labelwise.errors import InvalidInput
from labelwise.tables.write import write_text

WORKER = Path(__file__).with_name("glide_worker.py")
WHOSE = ("ppi++", "stratified", "active")  # methods that GLIDE has, too
NAMES = tuple(f"glide {name}" for name in WHOSE)
FILE = "glide.csv"
KEYS = ["policy", "seed", "round"]


def measure(python: str, y: np.ndarray, f: np.ndarray, drawn: list[Drawn]) -> dict[str, Any]:
    """GLIDE's intervals, one a draw (None where it refuses one), and its version."""
    plain = lambda array: None if array is None else array.tolist()
    draws = [{key: plain(value) for key, value in one._asdict().items()} for one in drawn]
    asked = json.dumps({"y": y.tolist(), "f": f.tolist(), "level": LEVEL, "draws": draws})
    try:
        ran = subprocess.run(
            [*python.split(), str(WORKER)], input=asked, capture_output=True, text=True
        )
    except OSError as error:
        raise _unusable(python, str(error)) from None
    if ran.returncode:
        raise _unusable(python, (ran.stderr.strip().splitlines() or ["no word"])[-1])
    return json.loads(ran.stdout)


def _unusable(python: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"{python} cannot run GLIDE ({why})",
        "give a Python of 3.12 or newer whose environment has glide-py",
        where="glide",
    )


def write(rows: pd.DataFrame, python: str, folder: Path, load, draw) -> None:
    """GLIDE's figures for all these rows, into the study's folder.

    `load` gives labels and predictions of a set, `draw` what a method draws in a row's place.
    """
    found = []
    for name, mine in rows.groupby("policy", sort=False):
        (y, f), heads = load(str(name)), mine[KEYS].to_dict("records")
        drawn = [
            draw(f, int(head["seed"]), int(head["round"]), whose)
            for head in heads
            for whose in WHOSE
        ]
        told = measure(python, y, f, drawn)
        intervals = np.array([one or [np.nan] * 3 for one in told["intervals"]])
        of_row = intervals.reshape(len(heads), -1)
        columns = [f"{method}_{end}" for method in NAMES for end in ("value", "low", "high")]
        figures = pd.DataFrame(of_row, columns=columns).map(lambda value: float(f"{value:.5g}"))
        found.append(pd.DataFrame(heads).assign(version=told["version"]).join(figures))
    write_text(pd.concat(found).to_csv(index=False), folder / FILE)


def beside(rows: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """The rows with GLIDE's figures, where the folder has them for every row."""
    file = folder / FILE
    if not file.exists():
        return rows
    both = rows.merge(pd.read_csv(file), on=KEYS, how="left")
    return both if both["version"].notna().all() else rows


def methods_of(rows: pd.DataFrame) -> tuple[str, ...]:
    """The other methods that rows have figures of."""
    return (*METHODS, *(name for name in NAMES if f"{name}_low" in rows))
