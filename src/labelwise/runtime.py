"""How Labelwise treats the process it runs in: programs that are kept, threads that are few.

Most of what a command waits for would be XLA's compiler. Labelwise is made of few programs,
whose shapes repeat, and keeps each of them in a folder of its own, so that only the first
process waits. What the user has chosen for JAX stays as it is; `LABELWISE_CACHE=off` keeps
nothing, another value is the folder.

JAX factorises matrices by SciPy's OpenBLAS, whose threads fight over busy cores: ten times the
time for matrices as small as ours. They are held to one while Labelwise works, and let go.
"""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import jax

from labelwise.own_code import failure

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

OFF = ("off", "0", "")


def keep_programs() -> None:
    """Keep every compiled program, unless the user has settings of their own, or no folder."""
    if jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    folder = _folder()
    if folder is None:
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # However small and quick to compile: a command has dozens of such.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@cache
def kept_folder() -> Path | None:
    """Where Labelwise keeps its programs; None where the user has another place for JAX's."""
    folder = _folder()
    chosen = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    return folder if folder is not None and chosen == str(folder) else None


def _folder() -> Path | None:
    """Where programs are kept, if anything can be written there."""
    chosen = os.environ.get("LABELWISE_CACHE")
    if chosen is not None and chosen.lower() in OFF:
        return None
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(chosen) if chosen else Path(home) / "labelwise" / "jax"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold linear algebra to one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def single_threaded(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Hold a function to one thread of linear algebra; it must return what it has finished.

    Where users' code fails within a program, the error is its own, and not the program's.
    """

    @wraps(function)
    def held(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            with one_thread():
                return function(*args, **kwargs)
        except Exception:
            own = failure()
            if own is None:
                raise
            raise own from None

    return held


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


# Every compiled program holds memory maps, of which Linux gives a process some 65,000; beyond
# that XLA ends the process. Long before, what was compiled is let go.
MOST_MAPS = 50_000


def spare_maps() -> None:
    """Between one task and the next of a process that has many: let programs go in time."""
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
        gc.collect()
