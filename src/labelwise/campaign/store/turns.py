"""Turns at a folder: one who writes, or any number who read.

SQLite has locks of its own, but POSIX drops all of a process's locks on a file as soon as any
of its threads closes the file: copying the folder is enough. So the whole of every connection
happens under `flock`, which belongs to whoever opened it and to nobody else. Two folders are
locked, the campaign's own and that of its tables, so that nothing is added to a campaign and
one that nobody may write can be read. The second is a door that readers pass and a writer
shuts behind itself: else a stream of readers would keep writers out for ever.

Where a file system has no such locks, those of SQLite must do.
"""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where locks are not dropped so
    fcntl = None

REST = 0.005  # seconds between two tries
TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


class OutOfPatience(Exception):
    """Others have had their turn for too long."""


@contextmanager
def turn(room: Path, door: Path, patience: float, alone: bool) -> Iterator[None]:
    """Have a turn, with others or alone."""
    deadline = time.monotonic() + patience
    with _held(door, alone, deadline) as shut, _held(room, alone, deadline):
        if not alone:
            _unlock(shut)
        yield


@contextmanager
def owned(folder: Path) -> Iterator[bool]:
    """Own a folder while the process lives; False if another process does."""
    try:
        with _held(folder, True, 0.0):
            yield True
    except OutOfPatience:
        yield False


@contextmanager
def _held(folder: Path, alone: bool, deadline: float) -> Iterator[int | None]:
    handle = _open(folder)
    try:
        if handle is not None:
            _lock(handle, alone, deadline)
        yield handle
    finally:
        if handle is not None:
            _unlock(handle)  # a process forked meanwhile holds the handle too
            os.close(handle)


def _open(folder: Path) -> int | None:
    if fcntl is None:
        return None
    try:
        return os.open(folder, os.O_RDONLY)
    except OSError:  # which whoever opens the log will tell of
        return None


def _lock(handle: int, alone: bool, deadline: float) -> None:
    assert fcntl is not None
    kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    while True:
        try:
            return fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in TAKEN:
                return None  # a file system without such locks
        if time.monotonic() > deadline:
            raise OutOfPatience
        time.sleep(REST)


def _unlock(handle: int | None) -> None:
    if handle is not None and fcntl is not None:
        with suppress(OSError):  # where there are no such locks
            fcntl.flock(handle, fcntl.LOCK_UN)
