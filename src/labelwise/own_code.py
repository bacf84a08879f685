"""Code that users bring, by its path: "module:name", or "metrics.py:name" for a file.

A campaign keeps the path, and a hash of the file's text, so that a change does not go unseen.
"""

import hashlib
import logging
import os
import sys
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from labelwise.errors import InvalidInput, LabelwiseError

SHORT = 16  # digits of a hash
FILE = ".py"


def is_path(name: Any) -> bool:
    """Whether a name is a path of a user's own."""
    return isinstance(name, str) and ":" in name


def absolute(path: str) -> str:
    """A path that names a file, from wherever one is; an import path as it is."""
    home, _, name = path.rpartition(":")
    return f"{Path(home).resolve()}:{name}" if home.endswith(FILE) else path


def find(path: str, what: str, where: str) -> Any:
    """What stands at a path; whatever its module does when it is read is told."""
    home, _, name = path.rpartition(":")
    try:
        found = getattr(_module(home), name, None)
    except Exception as error:
        file = home if home.endswith(FILE) else f"{home.replace('.', '/')}.py"
        lost = isinstance(error, FileNotFoundError) or getattr(error, "name", None) == home
        raise InvalidInput(
            f"The {what} {path!r} cannot be imported ({type(error).__name__}: {error})",
            f"run where {file} is, or put its folder on PYTHONPATH" if lost else f"mend {file}",
            where=where,
        ) from None
    if not callable(found):
        raise InvalidInput.must(where, f"name a function or class in {home}", f"it is {path!r}")
    return found


def source_hash(path: str) -> str | None:
    """Of the text of the module's file; None of what has no file of its own."""
    home = path.rpartition(":")[0]
    file = str(_file(home)) if home.endswith(FILE) else _module(home).__file__
    if file is None or not Path(file).is_file():
        return None
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:SHORT]


def _module(home: str) -> Any:
    if home.endswith(FILE):
        file = _file(home)
        return _from_file(str(file), hashlib.sha256(file.read_bytes()).hexdigest())
    here = os.getcwd()
    sys.path.append(here)
    try:
        return import_module(home)
    finally:
        sys.path.remove(here)


def _file(home: str) -> Path:
    """Where it was, or else in the present folder, where a campaign may have moved with it."""
    return Path(home) if Path(home).is_file() else Path(Path(home).name)


@cache  # a file that has not changed is one module, so that nothing is compiled twice
def _from_file(file: str, text: str) -> Any:
    spec = spec_from_file_location(f"labelwise_own_{text[:SHORT]}", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_FAILED: list[LabelwiseError] = []  # why users' code failed within a compiled program


def on_host(call: Callable[..., Any], what: str) -> Callable[..., Any]:
    """Users' code as compiled programs call it: why it failed is kept for `failure`."""
    logging.getLogger("jax._src.callback").addFilter(_is_news)

    @wraps(call)
    def guarded(*given: Any) -> Any:
        try:
            return call(*given)
        except LabelwiseError as error:
            _FAILED.append(error)
            raise
        except Exception as error:
            told = f"The {what} failed ({type(error).__name__}: {error})"
            _FAILED.append(InvalidInput(told, "mend its code", where=what))
            raise

    return guarded


def failure() -> LabelwiseError | None:
    """Why users' code failed, once; a program can only say that something did."""
    first = _FAILED[0] if _FAILED else None
    _FAILED.clear()
    return first


def _is_news(record: logging.LogRecord) -> bool:
    """JAX need not log what will be told in a sentence."""
    return not _FAILED
