"""Where files are: on a disk, or wherever fsspec reaches (s3://, gs://, file://)."""

import glob
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from labelwise.errors import InvalidInput

ENDINGS = (".parquet", ".pq")
EXTRAS = {
    "s3": "labelwise[s3]",
    "s3a": "labelwise[s3]",
    "gs": "labelwise[gcs]",
    "gcs": "labelwise[gcs]",
}
MARKS = "*?["


@dataclass(frozen=True)
class Found:
    """One file."""

    path: str
    below: str  # the part of its path below the directory that was named
    stamp: str  # its size and when it was written


def find_files(address: str, table: str) -> list[Found]:
    """Parquet files of a directory, a glob or one name, by the order of their paths."""
    remote = is_remote(address)
    found = _find_remotely(address) if remote else _find_here(_local(address))
    files = [one for one in found if _counts(one.below)]
    if not files:
        raise InvalidInput(
            f"There is no Parquet file at {address}",
            f"check --{table}: it takes a file, a directory, a glob or an address such as "
            "s3://bucket/rows",
            where=address,
        )
    return sorted(files, key=lambda one: one.path)


@contextmanager
def open_file(address: str, path: str) -> Iterator[Any]:
    """Open a file that was found at the address."""
    if not is_remote(address):
        with pa.OSFile(path) as file:  # which Arrow reads without Python
            yield file
        return
    with _reach(address) as system, system.open(path, "rb") as file:
        yield file


def is_remote(address: str) -> bool:
    return "://" in address and not address.startswith("file://")


def absolute(address: str) -> str:
    """The same from wherever a process is."""
    return address if is_remote(address) else str(Path(_local(address)).absolute())


def _local(address: str) -> str:
    return address.removeprefix("file://")


def _counts(below: str) -> bool:
    """Whether a file holds rows: names that begin with _ or . hold notes about others."""
    parts = PurePosixPath(below).parts
    hidden = any(part.startswith(("_", ".")) for part in parts if "=" not in part)
    return not hidden and parts[-1].lower().endswith(ENDINGS)


def _find_here(address: str) -> list[Found]:
    marked = any(mark in address for mark in MARKS) and not Path(address).exists()
    root = _before_marks(address)
    if marked:
        paths = [Path(path) for path in glob.glob(address, recursive=True)]
        nested = [inner for path in paths if path.is_dir() for inner in path.rglob("*")]
        paths = [path for path in {*paths, *nested} if path.is_file()]
    else:
        path = Path(address)
        root = path if path.is_dir() else path.parent
        paths = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]
    paths = [path for path in paths if path.is_file()]
    return [Found(str(path), os.path.relpath(path, root), _stamp(path)) for path in paths]


def _stamp(path: Path) -> str:
    known = path.stat()
    return f"{known.st_size}@{known.st_mtime_ns}"


def _before_marks(address: str) -> Path:
    parts = Path(address).parts
    plain = [part for part in parts if not any(mark in part for mark in MARKS)]
    return Path(*plain[: next((n for n, part in enumerate(parts) if part not in plain), 0)])


def _find_remotely(address: str) -> list[Found]:
    with _reach(address) as system:
        root = system._strip_protocol(address).rstrip("/")
        if any(mark in root for mark in MARKS):
            paths = system.glob(root, detail=True)
            root = str(PurePosixPath(*_before_marks(root).parts))
        else:
            paths = system.find(root, detail=True)
        files = [one for one in paths.values() if one["type"] == "file"]
    below = lambda name: os.path.relpath(name, root) if name != root else Path(name).name
    mark = lambda one: f"{one['size']}@{one.get('ETag') or one.get('LastModified') or ''}"
    return [Found(one["name"], below(one["name"]), mark(one)) for one in files]


@contextmanager
def _reach(address: str) -> Iterator[Any]:
    """The file system of an address; whatever it says goes into one sentence."""
    try:
        yield _system(address.partition("://")[0])
    except (InvalidInput, GeneratorExit):
        raise
    except FileNotFoundError:
        raise InvalidInput(
            f"There is nothing at {address}", "check the address", where=address
        ) from None
    except Exception as error:  # whatever a network may raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise InvalidInput(
            f"{address} cannot be reached ({reason.rstrip('.')})",
            "check the address and that this machine may read it",
            where=address,
        ) from None


@lru_cache(maxsize=4)
def _system(protocol: str) -> Any:
    extra = EXTRAS.get(protocol, f"what fsspec needs for {protocol}://")
    try:
        fsspec = importlib.import_module("fsspec")
        return fsspec.filesystem(protocol)
    except ImportError:
        raise InvalidInput(
            f"Addresses of {protocol}:// need another package",
            f"install {extra}",
            where=f"{protocol}://",
        ) from None
    except ValueError:
        raise InvalidInput(
            f"Nothing is known of addresses of {protocol}://",
            "use a path, s3:// or gs://",
            where=f"{protocol}://",
        ) from None
