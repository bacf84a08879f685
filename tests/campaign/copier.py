"""One of several processes that write to a campaign, while a thread of it copies the folder.

POSIX drops a process's locks on a file when any of its threads closes it; a copy closes all.

    python -m tests.campaign.copier FOLDER ROW TIMES PLACE
"""

import shutil
import sys
import threading
from contextlib import suppress
from pathlib import Path


def main(folder: Path, row: str, times: int, place: Path) -> None:
    from labelwise.campaign.campaign import Campaign

    campaign, done = Campaign.open(folder), threading.Event()
    copier = threading.Thread(target=copy, args=(folder, place, done))
    copier.start()
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        for label in range(times):
            assert campaign.correct({row: (label + 1) / 1000.0}) == 1
            print(label, flush=True)
    finally:
        done.set()
        copier.join()


def copy(folder: Path, place: Path, done: threading.Event) -> None:
    """As one would who has read that a folder is all there is to a campaign."""
    while not done.is_set():
        with suppress(OSError, shutil.Error):  # SQLite's files come and go
            shutil.copytree(folder, place)
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
