"""SQLite's errors in sentences."""

import sqlite3
from pathlib import Path

from labelwise.errors import StoreError

MEMORY = ":memory:"
# What SQL raises; a message of SQLite's that quotes damaged text cannot even be read.
SQL_ERRORS = (sqlite3.Error, UnicodeDecodeError)


def is_busy(error: Exception) -> bool:
    """Whether another process is at it."""
    return "locked" in str(error) or "busy" in str(error)


def in_words(error: Exception, place: str, log: str, patience: float) -> StoreError:
    """What SQLite says, with what to do."""
    text = " ".join(str(error).split())  # SQL may hold line ends
    if place != MEMORY and not Path(place).exists():
        what = f"{place} is not there any more: it was moved or removed"
        return StoreError(what, "open the folder where it is now", where=place)
    if is_busy(error):
        what = f"Another process has held {place} for {patience:.0f} s"
        return StoreError(what, "nothing was changed, try again", where=place)
    if "full" in text:
        what = f"The disk of {place} is full"
        return StoreError(what, "nothing was changed, make room and repeat", where=place)
    if "readonly" in text or "unable to open" in text or "disk I/O" in text:
        what = f"{place} cannot be written ({text})"
        remedy = "nothing was changed, check its permissions and disk"
        return StoreError(what, remedy, where=place)
    if isinstance(error, sqlite3.IntegrityError):
        what = f"{log} refused an event that does not fit the others ({text})"
        return StoreError(what, "nothing was changed, report what was done", where=log)
    text = "it holds damaged text" if isinstance(error, UnicodeDecodeError) else text
    what = f"{log} is damaged ({text})"
    return StoreError(what, "restore the folder from a copy", where=log)
