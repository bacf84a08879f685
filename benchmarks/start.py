"""What a command costs in a new process: CPU seconds, and programs handed to the compiler.

The demonstration's campaign, step by step, each step in a process of its own, with a folder for
compiled programs that is empty at first. Cores are shared, so CPU seconds are counted, not
those on the wall; programs do not depend on load at all.
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
TOTAL = 11  # steps


def run(advance: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Cost of each step: seconds of CPU, programs, and whether JAX was loaded."""
    costs: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)

        def measure(name: str, *command: Any, light: bool = False) -> None:
            costs[name] = _measure(home, [str(part) for part in command], light)
            advance()

        tables, audit = home / "tables", home / "audit"
        _measure(home, ["labelwise", "demo", "--tables", str(tables)], False)
        sources = [f"--{name}={tables / name}.csv" for name in ("labelled", "pool", "target")]
        columns = ["--id=patient", "--label=log_cost", "--prediction=predicted_log_cost"]
        measure("new", "labelwise", "new", audit, *sources, *columns)
        measure("first ask", "labelwise", "ask", audit, "--out", home / "first.csv")
        answers = tables / "answers.csv"
        tell = ("labelwise", "tell", audit, answers, "--unasked", "ignore")
        measure("tell", *tell, light=True)
        measure("status", "labelwise", "status", audit, light=True)
        measure("help", "labelwise", "--help", light=True)
        measure("ask", "labelwise", "ask", audit, "--out", home / "second.csv")
        _measure(home, list(map(str, tell)), True)
        measure("plan", "labelwise", "plan", audit)
        measure("estimate", "labelwise", "estimate", audit)
        measure("ask again", "labelwise", "ask", audit, "--out", home / "third.csv")
        _measure(home, list(map(str, tell)), True)
        library = LIBRARY.format(path=str(audit), verb="ask")
        measure("ask from Python", "python", library)
        measure("estimate from Python", "python", library.replace(".ask", ".estimate"))
    return costs


def _measure(home: Path, command: Sequence[str], light: bool) -> dict[str, Any]:
    """Run a command in a process of its own, without settings of the caller's."""
    count = home / "count.json"
    kind = "light" if light else "heavy"
    before = _cpu_seconds()
    subprocess.run(
        [sys.executable, "-c", WATCHED, kind, *command],
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
