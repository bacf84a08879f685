"""The bytes of a file or a pipe, and the text in them."""

import gzip
import io
import os
import select
import stat
import time
from pathlib import Path

from labelwise.errors import InvalidInput

PATIENCE = 60.0  # seconds that a pipe may be silent
CHUNK = 1 << 16


def bytes_of(path: Path) -> bytes:
    """All of a file; a named pipe that nobody writes to is given up after a while."""
    if not stat.S_ISFIFO(path.stat().st_mode):
        return path.read_bytes()
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return _drain(handle, path)
    finally:
        os.close(handle)


def _drain(handle: int, path: Path) -> bytes:
    poll, content, heard = select.poll(), io.BytesIO(), time.monotonic()
    poll.register(handle, select.POLLIN)
    while time.monotonic() - heard < PATIENCE:
        for _, event in poll.poll(100):
            chunk = os.read(handle, CHUNK) if event & select.POLLIN else b""
            if not chunk:  # whoever wrote has closed it
                return content.getvalue()
            content.write(chunk)
            heard = time.monotonic()
    raise InvalidInput(
        f"Nobody has written to the pipe {path} for {PATIENCE:.0f} s",
        "start what writes to it, or give a file",
        where=str(path),
    )


def text_in(content: bytes, name: str) -> str:
    """Text as UTF-8, which is all that is read."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"{name} is not UTF-8 text (byte {error.start})"
        raise InvalidInput(what, "save it again as UTF-8", where=name) from None
    if "\0" in text:  # pandas would read up to the first one and say nothing
        what = f"{name} holds NUL bytes, so it is no UTF-8 text or is damaged"
        raise InvalidInput(what, "save it again as UTF-8", where=name)
    return text


def unpacked(content: bytes, path: Path) -> bytes:
    return gzip.decompress(content) if path.name.lower().endswith(".gz") else content
