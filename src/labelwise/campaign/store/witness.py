"""The head of the log, kept beside it: a log that lost its end is known by it.

What was committed last may stand in SQLite's write-ahead file alone. Whoever deletes that file,
or copies the database without it, leaves a log that is sound and short. So after every commit
the head is written to a small file; a log whose chain does not hold that head lost something.
A process killed between the two leaves an earlier head, which the chain holds too.
"""

import json
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

FILE = "campaign.head"
STALE = 60.0  # seconds that nobody takes to write a line


class Head(NamedTuple):
    """Where the chain stood."""

    link: int
    hash: str


def read_witness(folder: Path) -> Head | None:
    """The head that was written down last; None if there is none. One that is damaged is none
    that a chain holds."""
    try:
        text = (folder / FILE).read_bytes()
    except OSError:
        return None
    try:
        found = json.loads(text)
        return Head(int(found["link"]), str(found["head"]))
    except (ValueError, LookupError, TypeError):
        return Head(-1, "")


def write_head(folder: Path, head: Head) -> None:
    """Write it down, in one piece whoever else does: some file systems have no locks."""
    text = json.dumps({"link": head.link, "head": head.hash}) + "\n"
    made = folder / f"{FILE}.{secrets.token_hex(4)}.new"
    try:
        with open(made, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, folder / FILE)
    finally:
        made.unlink(missing_ok=True)
    _sweep(folder)


def _sweep(folder: Path) -> None:
    """Take away what processes left that were killed while they wrote it down."""
    for left in folder.glob(f"{FILE}.*.new"):
        with suppress(OSError):  # another may have been quicker
            if time.time() - left.stat().st_mtime > STALE:
                left.unlink()
