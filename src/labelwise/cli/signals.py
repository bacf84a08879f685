"""How a command ends early: at once, in one word, with nothing half done.

An exception may be swallowed on its way, by a library's clean-up or while a module is being
imported. So whoever is told to stop stops there: what is not committed is not in the log, and
what is in the making is taken away.
"""

import os
import signal
from contextlib import suppress
from typing import Any

WORDS = {signal.SIGINT: "Interrupted.", signal.SIGTERM: "Terminated."}
SHOW_CURSOR = "\r\x1b[K\x1b[?25h"  # a spinner may have hidden it


def end_in_one_word() -> None:
    """End this process so, whenever it is told to."""
    for number in WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _end)


def be_done() -> None:
    """Let nothing stop what is over: while Python clears up it knows no handlers."""
    for number in WORDS:
        signal.signal(number, signal.SIG_IGN)


def _end(number: int, _: Any) -> None:
    be_done()
    try:
        from labelwise.tables.leftovers import take_away_all

        take_away_all()
    finally:  # it may just be being imported, or a disk may refuse: the end comes all the same
        shown = SHOW_CURSOR if os.isatty(2) else ""
        with suppress(OSError):  # nobody may be there to read it
            os.write(2, f"{shown}{WORDS[signal.Signals(number)]}\n".encode())
        os._exit(128 + number)
