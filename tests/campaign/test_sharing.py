"""What docs/campaigns.md promises of threads, processes, file systems and copies."""

import errno
import os
import shutil
import subprocess
import sys
import threading

import pytest

from labelwise.campaign.store import turns
from labelwise.campaign.store.witness import Head, read_witness, write_head
from labelwise.errors import StoreError
from tests.campaign import small
from tests.campaign.conftest import open_campaign


def labelled_id(campaign) -> str:
    history = campaign.store.history()
    return next(one.id for one in history if one.event.kind == "labelled")


# Forks of a process that has not started JAX; each part of it opens its own connections.
FORK = """
import os, sys
from labelwise import Campaign
campaign = Campaign.open(sys.argv[1])
child = os.fork()
assert campaign.skip("r7" if child else "r8") == 1
assert not child or os.waitpid(child, 0)[1] == 0
"""
# A child that holds the handles of a turn which its parent had: it must not hold the turn.
FORK_BESIDE_A_WRITER = """
import os, sys
from labelwise import Campaign
campaign, ready = Campaign.open(sys.argv[1]), os.pipe()
with campaign.store.write():
    child = os.fork()
    if not child:
        os.read(ready[0], 1)
        os._exit(0)
assert campaign.skip("r7") == campaign.skip("r8") == 1
os.write(ready[1], b".")
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("code", [FORK, FORK_BESIDE_A_WRITER], ids=["both", "beside"])
def test_a_campaign_may_be_told_from_forks(code, begun):
    command = [sys.executable, "-c", code, str(begun.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    assert begun.status().pool["skipped"] == 3


def test_a_copy_while_someone_writes_is_whole_or_refused(begun, tmp_path):
    row, stop, heads = labelled_id(begun), threading.Event(), set()

    def write():
        for count in range(10_000):
            if stop.is_set():
                return
            begun.correct({row: 0.25 + count / 20_000.0})
            heads.add(begun.state().head)

    heads.add(begun.state().head)
    writer, found = threading.Thread(target=write), []
    writer.start()
    try:
        for number in range(12):
            found.append(copied_head(begun.path, tmp_path / f"copy{number}"))
    finally:
        stop.set()
        writer.join()
    assert {head for head in found if head is not None} <= heads
    assert len(found) == 12


def copied_head(folder, place):
    """The head of a plain copy; None if it is refused."""
    try:
        shutil.copytree(folder, place)
        return open_campaign(place).state().head
    except (StoreError, shutil.Error, OSError):  # files of SQLite's come and go
        return None


def test_a_copy_while_nobody_writes_is_the_campaign(begun, tmp_path):
    assert copied_head(begun.path, tmp_path / "copy") == begun.state().head


def test_a_folder_may_be_moved_and_opened_there(begun):
    head = begun.state().head
    moved = begun.path.rename(begun.path.with_name("elsewhere"))
    assert open_campaign(moved).state().head == head
    assert open_campaign(moved).verify().sound


def test_without_locks_of_the_file_system_those_of_sqlite_do(begun, monkeypatch):
    def unknown(*_):
        raise OSError(errno.ENOTSUP, "no such locks here")

    monkeypatch.setattr(turns.fcntl, "flock", unknown)
    row = labelled_id(begun)
    threads = [
        threading.Thread(target=lambda label=label: begun.correct({row: label / 10.0}))
        for label in range(1, 7)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = [one.event.label for one in begun.store.history() if one.event.kind == "corrected"]
    assert sorted(told) == [label / 10.0 for label in range(1, 7)]


def test_heads_that_are_written_at_once_are_whole(tmp_path):
    """Numbers of unlike length: a shorter one over a longer would leave its end."""
    heads = [Head(10**power, f"{power}" * 64) for power in range(8)]
    for _ in range(20):
        writers = [threading.Thread(target=write_head, args=(tmp_path, head)) for head in heads]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
            assert read_witness(tmp_path) in heads
    assert [one.name for one in tmp_path.iterdir()] == ["campaign.head"]


def test_a_head_that_a_killed_process_was_writing_is_swept(tmp_path):
    stale, fresh = tmp_path / "campaign.head.0a.new", tmp_path / "campaign.head.0b.new"
    stale.touch()
    fresh.touch()
    os.utime(stale, (0.0, 0.0))
    write_head(tmp_path, Head(1, "0"))
    assert not stale.exists()
    assert fresh.exists()


def test_readers_do_not_keep_a_writer_out(begun):
    stop = threading.Event()

    def look():
        while not stop.is_set():
            begun.state()

    readers = [threading.Thread(target=look) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        assert [begun.skip(f"r{row}") for row in (7, 8, 10)] == [1, 1, 1]
    finally:
        stop.set()
        for reader in readers:
            reader.join()


def test_one_who_waits_too_long_is_told(begun, monkeypatch, refused):
    from labelwise.campaign.store import sqlite

    monkeypatch.setattr(sqlite, "PATIENCE", 0.1)
    taken = turns.turn(begun.path, begun.path / "tables", 1.0, alone=True)
    with taken, refused(where="<tmp>/campaign", error=StoreError):
        begun.status()
    assert begun.tell(small.labels_of(begun.pending()["id"])).new == 1


@pytest.mark.parametrize("part", ["campaign.db-wal", "campaign.head.new", "making"])
def test_what_is_left_of_a_killed_process_does_not_matter(part, begun):
    (begun.path / part).touch()
    assert begun.skip("r7") == 1
    assert open_campaign(begun.path).verify().sound
