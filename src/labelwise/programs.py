"""Programs that are kept whole between processes: neither traced nor compiled again.

JAX keeps what its compiler makes, but finds it by the program's text, for which a function must
be traced and lowered first: a second in every command, each time the same. A function marked
with `program` is known by what that text follows from instead: the source of Labelwise, the
versions of what it is made with, the machine, the shapes of the arrays it is given and
everything else about its arguments. Where one of these cannot be told for sure, such as a
function of the user's, or where nothing is kept (`labelwise.runtime`), it is `eqx.filter_jit`.
"""

import hashlib
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, update_wrapper
from pathlib import Path
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

import equinox as eqx
import jax
from jax.core import Tracer

from labelwise.program_names import Unnamed, described, surroundings
from labelwise.runtime import kept_folder

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Given = tuple[tuple[Any, ...], dict[str, Any]]  # arguments, and those by name

SUFFIX = ".program"
VERSIONS = 4  # of source and machine, whose programs stay


class _Slot(NamedTuple):
    """Where an array of the result goes."""

    place: int


class _Loaded(NamedTuple):
    """A compiled program, and how its arrays make up its result."""

    run: Callable[..., Any]
    tree: Any
    leaves: tuple[Any, ...]  # slots, and what is no array

    @staticmethod
    def of(run: Callable[..., Any], result: Any) -> "_Loaded":
        leaves, tree = jax.tree.flatten(result, is_leaf=lambda part: isinstance(part, _Slot))
        return _Loaded(run, tree, tuple(leaves))

    def __call__(self, leaves: list[Any]) -> Any:
        found = self.run(*filter(eqx.is_array, leaves))
        whole = [found[each.place] if isinstance(each, _Slot) else each for each in self.leaves]
        return jax.tree.unflatten(self.tree, whole)


class Program(Generic[Arguments, Result]):
    """A function of arrays and other values, compiled once for a machine."""

    def __init__(self, function: Callable[Arguments, Result]) -> None:
        self._function = function
        self._plain: Any = eqx.filter_jit(function)
        self._known: dict[Any, _Loaded | None] = {}  # None: not to be kept
        update_wrapper(self, function)

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        folder = None if _is_watched() else kept_folder()
        leaves, tree = jax.tree.flatten((args, kwargs))
        if folder is None or any(isinstance(leaf, Tracer) for leaf in leaves):
            return self._plain(*args, **kwargs)
        seen = (folder, tree, tuple(map(_aspect, leaves)))
        if seen not in self._known:
            self._known[seen] = self._find(folder, (args, kwargs))
        loaded = self._known[seen]
        return self._plain(*args, **kwargs) if loaded is None else loaded(leaves)

    def _find(self, folder: Path, given: Given) -> _Loaded | None:
        """From the folder, or compiled and put there; None where it cannot be kept."""
        try:
            name = _digest(repr((described(self._function), described(given))))
        except Unnamed:
            return None
        path = folder / _digest(repr(surroundings()))[:16] / f"{name}{SUFFIX}"
        return _read(path) or self._make(path, given)

    def _make(self, path: Path, given: Given) -> _Loaded:
        function: Any = self._function
        leaves, tree = jax.tree.flatten(given)
        result: list[Any] = []

        def flat(*arrays: Any) -> tuple[Any, ...]:
            rest = iter(arrays)
            full = [next(rest) if eqx.is_array(leaf) else leaf for leaf in leaves]
            args, kwargs = jax.tree.unflatten(tree, full)
            found, shape = jax.tree.flatten(function(*args, **kwargs))
            slots = map(_Slot, range(len(found)))
            parts = [next(slots) if eqx.is_array(one) else one for one in found]
            result[:] = [jax.tree.unflatten(shape, parts)]
            return tuple(filter(eqx.is_array, found))

        # A name that no program of JAX's own cache has.
        flat.__name__ = f"kept_{function.__name__}"
        lowered = jax.jit(flat).lower(*filter(eqx.is_array, leaves))
        with _for_us_alone():
            compiled = lowered.compile()
        _write(path, compiled, result[0])
        return _Loaded.of(compiled, result[0])


def program(function: Callable[Arguments, Result]) -> Program[Arguments, Result]:
    """Mark a function as one to be kept."""
    return Program(function)


def _is_watched() -> bool:
    """Whether somebody looks into programs, step by step."""
    return jax.config.jax_disable_jit or jax.config.jax_debug_nans  # type: ignore[attr-defined]


def _aspect(leaf: Any) -> Any:
    """What a program depends on of an array, or of another value."""
    return (leaf.shape, leaf.dtype) if eqx.is_array(leaf) else (type(leaf), leaf)


def _digest(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


@contextmanager
def _for_us_alone() -> Iterator[None]:
    """Out of JAX's own cache: what it reads from there cannot be written again."""
    name = "jax_persistent_cache_min_compile_time_secs"
    before = getattr(jax.config, name)
    jax.config.update(name, float("inf"))
    try:
        yield
    finally:
        jax.config.update(name, before)


@cache
def _ready_to_factorise() -> None:
    """Let JAX find the library that factorises matrices.

    It looks for it when a factorisation is lowered, and a program that calls it before would
    end the process.
    """
    jax.jit(jax.lax.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), float))


def _read(path: Path) -> _Loaded | None:
    """None where it is not there, or not as it was written."""
    from jax.experimental import serialize_executable

    try:
        content = path.read_bytes()
        check, content = content[:64].decode(), content[64:]
        if check != _digest(content):
            return None
        text, result, given, found = pickle.loads(content)
        _ready_to_factorise()
        trees = jax.tree.structure(((0,) * given, {})), jax.tree.structure((0,) * found)
        return _Loaded.of(serialize_executable.deserialize_and_load(text, *trees), result)
    except Exception:  # whatever is wrong with it, it is made anew
        return None


def _write(path: Path, compiled: Any, result: Any) -> None:
    """All of it or nothing; a program that cannot be written is used all the same."""
    from jax.experimental import serialize_executable

    try:
        text, given, found = serialize_executable.serialize(compiled)
        content = pickle.dumps((text, result, given.num_leaves, found.num_leaves))
        if not path.parent.exists():
            _sweep(path.parent)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(_digest(content).encode() + content)
        os.replace(file.name, path)
    except Exception:
        return


def _sweep(latest: Path) -> None:
    """Make the folder of a version, and leave few others, the youngest."""
    latest.mkdir(parents=True, exist_ok=True)
    ours = {path.parent for path in latest.parent.glob(f"*/*{SUFFIX}")} - {latest}
    by_age = sorted(ours, key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in by_age[VERSIONS - 1 :]:
        shutil.rmtree(folder, ignore_errors=True)
