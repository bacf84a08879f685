"""Folders that appear under their name whole, or not at all."""

import glob
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labelwise.campaign.store.turns import owned
from labelwise.errors import InvalidInput, StoreError
from labelwise.tables.leftovers import another_name, temporary

LOG = "campaign.db"
OURS = 0x4C574331  # SQLite's application id: this file is a Labelwise campaign
TABLES = "tables"
MAKING = "making"  # a file that whoever makes the folder holds on to
# What a folder in the making holds; whoever finds anything else in one leaves it alone.
PARTS = re.compile(r"making|tables|batches|campaign\.(db|db-wal|db-shm|head|head\.new)")


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """A folder made under a temporary name beside its place, and renamed at the end."""
    check_free(folder)
    # Known by name before it is there: no instant leaves it behind.
    with temporary(another_name(folder)) as made, _telling_of(made, folder):
        _begin(folder, made)
        (made / MAKING).touch()
        with owned(made / MAKING):  # as long as this process lives
            (made / TABLES).mkdir()
            yield made
            os.chmod(made, 0o755)
            for part in (*(made / TABLES).iterdir(), made / TABLES, made):
                _sync(part)  # what has its name has its contents, even after a power cut
            os.rename(made, folder)
            (folder / MAKING).unlink(missing_ok=True)
        with suppress(OSError):  # not every file system can
            _sync(folder.parent)


def _begin(folder: Path, made: Path) -> None:
    """Make a folder beside the place; what killed processes left there is taken away."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        made.mkdir(mode=0o700)
    except OSError as error:
        raise InvalidInput(
            f"Cannot make a campaign at {folder} ({error.strerror})",
            "choose another place",
            where=str(folder),
        ) from None


def _sweep(folder: Path) -> None:
    """Remove folders of this name in the making that nobody is making any more."""
    for left in folder.parent.glob(f".{glob.escape(folder.name)}.????????"):
        with suppress(OSError):  # it is somebody else's, or has just got its name
            parts = {part.name for part in left.iterdir()}
            if MAKING in parts and all(map(PARTS.fullmatch, parts)):
                _remove_ownerless(left)


def _remove_ownerless(left: Path) -> None:
    with owned(left / MAKING) as ours:
        if ours:
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _telling_of(made: Path, folder: Path) -> Iterator[None]:
    """Errors by the name that the folder would have had."""
    try:
        yield
    except StoreError as error:
        named = (part.replace(str(made), str(folder)) for part in (error.what, error.remedy))
        raise StoreError(*named, where=error.where.replace(str(made), str(folder))) from None
    except OSError as error:
        if folder.exists() and any(folder.iterdir()):
            check_free(folder)  # somebody else was quicker
        raise StoreError(
            f"The campaign could not be written at {folder} ({error.strerror or error})",
            "make room or choose another place",
            where=str(folder),
        ) from None


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_free(folder: Path) -> None:
    """Refuse a place where no campaign can be made."""
    what, remedy = "", ""
    if folder == Path.cwd():  # it is replaced as a whole, which would leave us nowhere
        what = f"A campaign cannot be made in the folder one stands in ({folder})"
        remedy = "name a new one"
    elif (folder / LOG).exists():
        what, remedy = f"{folder} already holds a campaign", "open it, or choose another name"
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        what = f"{folder} exists and is not an empty folder"
        remedy = "choose another name for the campaign"
    if what:
        raise InvalidInput(what, remedy, where=str(folder))
