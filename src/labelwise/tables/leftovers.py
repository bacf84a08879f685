"""Files and folders that are in the making, so that a process which ends early can take them
away."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_IN_THE_MAKING: set[Path] = set()


def another_name(path: Path, most: int = 240) -> Path:
    """A hidden name beside `path` that nothing has, with that many letters of its own."""
    return path.with_name(f".{path.name[:most]}.{secrets.token_hex(4)}")


@contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """A file or folder that is gone at the end, if it still has this name."""
    _IN_THE_MAKING.add(path)
    try:
        yield path
    finally:
        _take_away(path)
        _IN_THE_MAKING.discard(path)


def take_away_all() -> None:
    """Leave nothing half made behind: for a process that ends now."""
    for path in list(_IN_THE_MAKING):
        _take_away(path)


def _take_away(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(FileNotFoundError, NotADirectoryError):  # it may not have come to be
            path.unlink()
