"""The command line: parse, call, print. Heavy imports wait until a command needs them."""

import gc
import io
import os
import sys

from labelwise.cli.memory import out_of_memory
from labelwise.cli.signals import be_done, end_in_one_word

OBJECTS = 50_000  # new ones between two looks for garbage; Python's own habit is 700


def main() -> None:
    """Entry point of `labelwise`."""
    end_in_one_word()
    prepare_process()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                encoding="utf-8", errors="backslashreplace"
            )  # ids and labels in any script go out whole
    try:
        _run()
    finally:
        be_done()


def _run() -> None:
    """Run a command; where there is no memory even to read its words, say so."""
    try:
        from labelwise.cli.app import app

        app()
    except Exception as error:
        told = out_of_memory(error)
        if told is None:
            raise
        sys.exit(str(told))


def prepare_process() -> None:
    """Settings that must stand before numpy and JAX start; what the user set is kept."""
    # Cholesky goes through OpenBLAS, whose threads fight over busy cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A command makes many small objects and is soon over: a seventh of its time is saved.
    gc.set_threshold(OBJECTS, 20, 20)
