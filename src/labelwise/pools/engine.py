"""Where a pass runs: on threads here, on processes that Dask starts, or on a cluster.

All of them do the same: give a function each piece, and hand back what it made of it, with the
piece's number, in whatever order it is ready. `in_order` puts that right, so that the joined
result does not depend on who was quick.
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol, TypeVar

from labelwise.errors import InvalidInput
from labelwise.pools.source import Piece

Result = TypeVar("Result")
AHEAD = 2  # pieces that wait for each worker; more would only fill memory
RETRIES = 3  # times that a piece is tried again whose worker died
LOCAL = "local"


class Engine(Protocol):
    """Gives each piece to a function; numbers and results come as they are ready."""

    def run(
        self, function: Callable[[Piece], Result], pieces: Sequence[Piece]
    ) -> Iterator[tuple[int, Result]]: ...


@dataclass(frozen=True)
class Threads:
    """Threads of this process: reading and arithmetic let one another go on."""

    jobs: int

    def run(
        self, function: Callable[[Piece], Result], pieces: Sequence[Piece]
    ) -> Iterator[tuple[int, Result]]:
        left = iter(pieces)
        with ThreadPoolExecutor(self.jobs) as pool:
            running: dict[Any, int] = {}
            try:
                while True:
                    for piece in left:
                        running[pool.submit(function, piece)] = piece.number
                        if len(running) >= AHEAD * self.jobs:
                            break
                    if not running:
                        return
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        yield running.pop(done), done.result()
            finally:
                for future in running:
                    future.cancel()


@dataclass(frozen=True)
class Dask:
    """Processes that are started and ended here, or those of a cluster that runs."""

    scheduler: str  # its address, or "local"
    jobs: int
    client: Any = None  # of a cluster that is there for several passes

    def run(
        self, function: Callable[[Piece], Result], pieces: Sequence[Piece]
    ) -> Iterator[tuple[int, Result]]:
        if self.client is None:
            with opened(self) as engine:
                yield from engine.run(function, pieces)
            return
        client, distributed = self.client, load_dask()
        ahead = AHEAD * max(len(client.scheduler_info(n_workers=-1)["workers"]), 1)
        submit = lambda piece: client.submit(function, piece, pure=False, retries=RETRIES)
        left = iter(pieces)
        tasks = {submit(piece): piece.number for piece in islice(left, ahead)}
        ready = distributed.as_completed(list(tasks))
        for done in ready:
            number, result = tasks.pop(done), done.result()
            done.release()
            for piece in islice(left, 1):
                task = submit(piece)
                tasks[task] = piece.number
                ready.add(task)
            yield number, result


@contextmanager
def opened(engine: Engine) -> Iterator[Engine]:
    """An engine whose workers, if they are processes, stay for several passes."""
    if not isinstance(engine, Dask) or engine.client is not None:
        yield engine
        return
    with client_of(engine.scheduler, engine.jobs) as client:
        yield replace(engine, client=client)


def make_engine(scheduler: str | None, jobs: int) -> Engine:
    """The engine of a command's options."""
    return Threads(jobs) if scheduler is None else Dask(scheduler, jobs)


def refuse_idle(scheduler: str | None) -> None:
    """Refuse a cluster where no files are read."""
    if scheduler is not None:
        raise InvalidInput(
            "No files of a large pool are read here, so a cluster has nothing to do",
            "leave out the scheduler",
            where="--scheduler",
        )


def in_order(results: Iterable[tuple[int, Result]], numbers: Sequence[int]) -> Iterator[Result]:
    """What came in any order, in the order of the pieces; few have to wait."""
    waiting: dict[int, Result] = {}
    left = iter(numbers)
    following = next(left, None)
    for number, result in results:
        waiting[number] = result
        while following in waiting:
            yield waiting.pop(following)
            following = next(left, None)


def client_of(scheduler: str, jobs: int) -> Any:
    """Of processes that are started here, or of a cluster that runs; to be closed."""
    distributed = load_dask()
    if scheduler == LOCAL:
        return _local_client(distributed, jobs)
    try:
        return distributed.Client(address=scheduler, timeout="10s")
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"No Dask scheduler answers at {scheduler} ({type(error).__name__})",
            "start one with `dask scheduler`, or say --scheduler local",
            where="--scheduler",
        ) from None


def _local_client(distributed: Any, jobs: int) -> Any:
    options = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
    try:
        return distributed.Client(**options)
    except RuntimeError as error:  # as where the program that asks cannot be imported again
        raise InvalidInput(
            f"Dask's processes did not start ({str(error).rstrip('.')})",
            "ask from a file, whose own work is under `if __name__ == '__main__'`, or from the "
            "command line",
            where="--scheduler",
        ) from None


def load_dask() -> Any:
    """Dask, where it is installed."""
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise InvalidInput(
            "A cluster needs Dask", "install labelwise[dask]", where="--scheduler"
        ) from None
