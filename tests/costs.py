"""What the suite costs, file by file: CPU seconds, and programs handed to JAX's compiler.

Most of the time of a suite like this one is compilation, and it grows unseen: every new shape,
every operation on a JAX array outside `jit`, is a program. So it is counted in every run, and
the whole suite fails if it compiles more than `most_programs` of pyproject.toml.
`python -m tests.profile` prints the table.
"""

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import jax
import pytest

COMPILED = "/jax/core/compile/backend_compile_duration"  # also of programs found in the cache
COLLECTION = "(collection)"


@dataclass
class Cost:
    """What the tests of one file took."""

    tests: int = 0
    seconds: float = 0.0  # of CPU, processes that they started included
    programs: int = 0

    def add(self, tests: int, seconds: float, programs: int) -> None:
        self.tests += tests
        self.seconds += seconds
        self.programs += programs


class Meter:
    """Counts as tests run; a worker hands its counts to the process that started it."""

    def __init__(self) -> None:
        self.costs: dict[str, Cost] = {}
        self.programs = 0
        jax.monitoring.register_event_duration_secs_listener(self._hear)

    def _hear(self, event: str, duration: float, **_: Any) -> None:
        self.programs += event == COMPILED

    def add(self, name: str, tests: int, seconds: float, programs: int) -> None:
        self.costs.setdefault(name, Cost()).add(tests, seconds, programs)

    def total(self) -> Cost:
        total = Cost()
        for cost in self.costs.values():
            total.add(cost.tests, cost.seconds, cost.programs)
        return total

    def pytest_collection_finish(self) -> None:
        self.add(COLLECTION, 0, cpu_seconds(), self.programs)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        seconds, programs = cpu_seconds(), self.programs
        found = yield
        self.add(item.location[0], 1, cpu_seconds() - seconds, self.programs - programs)
        return found

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """A worker has ended: its counts join."""
        for name, cost in getattr(node, "workeroutput", {}).get("costs", {}).items():
            self.add(name, **cost)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["costs"] = {name: asdict(cost) for name, cost in self.costs.items()}
        elif is_whole(session.config) and self.total().programs > most_programs(session.config):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        if config.getoption("costs"):
            terminalreporter.section("costs")
            terminalreporter.write_line(table(self.costs, self.total()))
        most, programs = most_programs(config), self.total().programs
        if is_whole(config) and programs > most:
            terminalreporter.section("too many programs")
            terminalreporter.write_line(
                f"The suite compiled {programs} programs, pyproject.toml allows {most}; see "
                "`python -m tests.profile`, and share shapes or jit what runs eagerly."
            )


def cpu_seconds() -> float:
    """Of this process and of those it started that have ended, user and system."""
    used = os.times()
    return time.process_time() + used.children_user + used.children_system


def is_whole(config: pytest.Config) -> bool:
    """Whether every test was asked for."""
    narrowed = config.option.keyword or config.option.markexpr or config.getoption("lf", False)
    return not narrowed and config.args == config.getini("testpaths")


def most_programs(config: pytest.Config) -> int:
    return int(config.getini("most_programs"))


def table(costs: Mapping[str, Cost], total: Cost, most: int = 20) -> str:
    """The most expensive files first."""
    ranked = sorted(costs.items(), key=lambda named: -named[1].seconds)[:most]
    line = lambda name, cost: (
        f"{cost.seconds:8.1f} s {cost.programs:6d} programs {cost.tests:5d} tests  {name}"
    )
    return "\n".join(line(*row) for row in [*ranked, ("all", total)])
