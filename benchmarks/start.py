"""What a command costs in a new process: CPU seconds, and programs handed to the compiler.

The demonstration's campaign, step by step, each step in a process of its own, with a folder for
compiled programs that is empty at first; then a wide one (see `wide`). Cores are shared, so CPU
seconds are counted, not those on the wall; programs do not depend on load at all.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.wide import COLUMNS, ESTIMANDS, write_tables

# Runs a command line, or Python, and says how many programs were compiled or read from the
# cache; none if JAX was not loaded.
WATCHED = """
import atexit, json, os, sys

def tell():
    jax = "jax" in sys.modules
    with open(os.environ["LABELWISE_COUNT"], "w") as file:
        json.dump({"programs": len(compiled), "jax": jax}, file)

compiled = []

atexit.register(tell)
if sys.argv[1] != "light":
    import jax
    event = "/jax/core/compile/backend_compile_duration"
    jax.monitoring.register_event_duration_secs_listener(
        lambda name, seconds, **_: compiled.append(1) if name == event else None
    )
sys.argv = sys.argv[2:]
if sys.argv[0] == "python":
    exec(sys.argv[1])
else:
    from labelwise.cli import main
    main()
"""
LIBRARY = "from labelwise import Campaign; Campaign.open({path!r}).{verb}()"
PATIENTS = ("patient", "log_cost", "predicted_log_cost")  # id, label and prediction
SEEDS, KINDS = 5, 4  # of a simulation: campaigns of each kind, and kinds
TOTAL = 17  # steps


class Costs:
    """Seconds of CPU, programs, and whether JAX was loaded, by step."""

    def __init__(self, home: Path, advance: Callable[[], None]):
        self.home, self.advance = home, advance
        self.found: dict[str, dict[str, Any]] = {}

    def of(self, step: str, *command: Any, light: bool = False) -> None:
        self.found[step] = measure(self.home, command, light)
        self.advance()

    def new(self, step: str, path: Path, tables: Path, columns: Sequence[str], *more: str):
        sources = [f"--{name}={tables / name}.csv" for name in ("labelled", "pool", "target")]
        roles = zip(("id", "label", "prediction"), columns, strict=True)
        named = [f"--{role}={column}" for role, column in roles]
        self.of(step, "labelwise", "new", path, *sources, *named, *more)

    def ask(self, step: str, path: Path) -> None:
        self.of(step, "labelwise", "ask", path)


def run(advance: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Cost of each step; of the library's, also over the same step's by the command line."""
    with tempfile.TemporaryDirectory() as folder:
        costs = Costs(Path(folder), advance)
        _patients(costs)
        _rehearsal(costs)
        _wide(costs)
    found = costs.found
    for verb in ("ask", "estimate"):
        own, command = found[f"{verb} from Python"], found[f"{verb} after labels"]
        own["over_command"] = own["cpu_seconds"] / command["cpu_seconds"]
    return found


def _patients(costs: Costs) -> None:
    """The demonstration's campaign."""
    tables, audit = costs.home / "tables", costs.home / "audit"
    measure(costs.home, ["labelwise", "demo", "--tables", tables])
    tell = ("labelwise", "tell", audit, tables / "answers.csv", "--unasked", "ignore")
    told = lambda: measure(costs.home, tell, light=True)
    library = LIBRARY.format(path=str(audit), verb="ask")
    # Few at a time, so that all steps have labels of one padded size.
    costs.new("new", audit, tables, PATIENTS, "--batch=5")
    costs.ask("first ask", audit)
    costs.of("tell", *tell, light=True)
    costs.of("status", "labelwise", "status", audit, light=True)
    costs.of("help", "labelwise", "--help", light=True)
    costs.ask("ask after labels", audit)
    told()
    costs.of("plan after labels", "labelwise", "plan", audit)
    costs.of("estimate after a plan", "labelwise", "estimate", audit)
    costs.ask("ask after a plan", audit)
    told()
    costs.of("estimate after labels", "labelwise", "estimate", audit)
    measure(costs.home, ["labelwise", "ask", audit])
    told()
    costs.of("ask from Python", "python", library)
    told()
    costs.of("estimate from Python", "python", library.replace(".ask", ".estimate"))


def _rehearsal(costs: Costs) -> None:
    """Campaigns on a table whose labels are known; those of the first seed compile."""
    table, out = costs.home / "tables" / "all.csv", costs.home / "simulation"
    _, label, prediction = PATIENTS
    columns = [f"--label={label}", f"--prediction={prediction}", "--ignore=patient"]
    command = ["labelwise", "simulate", table, *columns, "--jobs=1", f"--out={out}"]
    measure(costs.home, [*command, "--seeds=1"])
    costs.of("simulate", *command, f"--seeds={1 + SEEDS}")
    costs.found["simulate"]["a_campaign"] = costs.found["simulate"]["cpu_seconds"] / (
        SEEDS * KINDS
    )


def _wide(costs: Costs) -> None:
    """Many rows, columns and questions."""
    tables, audit = costs.home / "wide", costs.home / "wide-audit"
    write_tables(tables)
    questions = [f"--estimand={name}" for name in ESTIMANDS]
    costs.new("wide: new", audit, tables, COLUMNS, *questions)
    costs.ask("wide: first ask", audit)
    answers = tables / "answers.csv"
    tell = ["labelwise", "tell", audit, answers, "--unasked", "ignore"]
    measure(costs.home, tell, light=True)
    costs.of("wide: estimate after labels", "labelwise", "estimate", audit)
    costs.ask("wide: ask after an estimate", audit)
    measure(costs.home, tell, light=True)
    costs.ask("wide: ask after labels", audit)


def measure(home: Path, command: Sequence[Any], light: bool = False) -> dict[str, Any]:
    """Run a command in a process of its own, without settings of the caller's."""
    count = home / "count.json"
    kind = "light" if light else "heavy"
    before = _cpu_seconds()
    subprocess.run(
        [sys.executable, "-c", WATCHED, kind, *map(str, command)],
        env=_environment(home, count),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return {"cpu_seconds": _cpu_seconds() - before, **json.loads(count.read_text())}


def _environment(home: Path, count: Path) -> Mapping[str, str]:
    """As a user's: nothing is said of threads or of JAX."""
    ours = ("JAX_", "XLA_", "OPENBLAS_", "LABELWISE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {"LABELWISE_CACHE": str(home / "programs"), "LABELWISE_COUNT": str(count)}


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
