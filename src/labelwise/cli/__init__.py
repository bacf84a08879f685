"""The command line: parse, call, print. Heavy imports wait until a command needs them."""

import io
import os
import sys


def main() -> None:
    """Entry point of `labelwise`."""
    prepare_process()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")  # ids and labels in any script go out whole
    from labelwise.cli.app import app

    app()


def prepare_process() -> None:
    """Settings that must stand before numpy and JAX start; what the user set is kept."""
    # Cholesky goes through OpenBLAS, whose threads fight over busy cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
