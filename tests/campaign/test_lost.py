"""Nothing that was acknowledged is lost: beside copies, in backups, by wrong clocks."""

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from labelwise.campaign.campaign import Campaign
from labelwise.campaign.store.folder import LOG, FolderStore
from labelwise.campaign.verify import verify_folder
from tests.campaign import small
from tests.campaign.conftest import copied, open_campaign

ROOT = Path(__file__).parents[2]
TIMES = 60  # labels that each process tells


def start_copier(folder: Path, row: str, place: Path) -> Any:
    """One that is ready to write and to copy."""
    words = [str(folder), row, str(TIMES), str(place)]
    command, pipe = [sys.executable, "-m", "tests.campaign.copier", *words], subprocess.PIPE
    writer: Any = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    assert writer.stdout.readline() == "ready\n"
    return writer


@pytest.mark.slow
def test_copies_by_threads_of_writers_lose_nothing(begun, tmp_path):
    rows = [logged.id for logged in begun.store.history() if logged.event.kind == "labelled"]
    start = len(begun.store.history())
    writers = [start_copier(begun.path, row, tmp_path / f"copy{row}") for row in rows]
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    said = [writer.communicate()[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * len(rows)
    assert [len(one) for one in said] == [TIMES] * len(rows)
    history = open_campaign(begun.path).store.history()
    assert len(history) == start + TIMES * len(rows)
    told = {row: [one.event.label for one in history[start:] if one.id == row] for row in rows}
    assert told == {row: [(label + 1) / 1000.0 for label in range(TIMES)] for row in rows}
    with closing(sqlite3.connect(begun.path / LOG)) as log:
        assert log.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_backup_is_whole_while_others_write(begun, tmp_path):
    row = next(one.id for one in begun.store.history() if one.event.kind == "labelled")
    stop, heads = threading.Event(), set()

    def write():
        count = 0
        while not stop.is_set():
            count += 1
            begun.correct({row: 0.5 + count / 10_000.0})
            heads.add(begun.state().head)

    heads.add(begun.state().head)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        copies = [begun.backup(tmp_path / f"copy{one}") for one in range(3)]
    finally:
        stop.set()
        writer.join()
    assert [open_campaign(copy).state().head in heads for copy in copies] == [True] * 3
    assert verify_folder(copies[-1]).sound


def test_a_backup_answers_and_goes_on_as_the_campaign(begun, tmp_path):
    (begun.path / "batches").mkdir()
    (begun.path / "batches" / "batch-0001.csv").write_text("id,y\nr1,0.5\n")
    copy = open_campaign(begun.backup(tmp_path / "backups" / "monday"))
    assert (copy.path / "batches" / "batch-0001.csv").is_file()
    assert copy.estimate() == begun.estimate()
    pd.testing.assert_frame_equal(copy.ask(), begun.ask())


def test_a_backup_overwrites_nothing(begun, tmp_path, refused):
    begun.backup(tmp_path / "copy")
    with refused(where="<tmp>/copy"):
        begun.backup(tmp_path / "copy")


def test_a_backup_of_altered_tables_is_refused(begun, tmp_path, refused):
    from labelwise.errors import StoreError

    small.make_tables()["pool"][::-1].to_parquet(begun.path / "tables" / "pool.parquet")
    with refused(where="<tmp>/campaign", error=StoreError):
        begun.backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.fixture
def timed(fresh_folder, tmp_path):
    """A campaign whose clock the test moves."""
    now = [datetime(2024, 1, 1, tzinfo=UTC)]
    path = copied(fresh_folder, tmp_path).path
    return Campaign(FolderStore.open(path, lambda: now[0])), now


def test_rows_expired_by_a_wrong_clock_are_out_again_once_it_is_right(timed):
    campaign, now = timed
    ids = list(campaign.ask()["id"])
    now[0] += timedelta(days=27_000)
    assert campaign.status().pool["expired"] == 3
    more = set(campaign.ask(1)["id"])  # which writes the expiry down
    now[0] -= timedelta(days=26_999)
    again = campaign.status()
    assert again.pool["expired"] == 0
    assert again.pool["pending"] == len({*ids, *more})
    assert campaign.tell(small.labels_of(ids)).late == 0


def test_a_jump_of_the_clock_is_pointed_out(timed):
    campaign, now = timed
    assert campaign.status().clock is None
    campaign.ask()
    now[0] += timedelta(days=300)
    assert campaign.status().clock is None
    now[0] += timedelta(days=300)
    assert "600 days after the last event" in campaign.status().clock
    now[0] -= timedelta(days=600, hours=2)
    assert "days behind the last event" in campaign.status().clock


def test_events_do_not_go_back_in_time(timed):
    campaign, now = timed
    campaign.ask()
    now[0] -= timedelta(days=100)
    campaign.skip("r7")
    times = [one.event.at for one in campaign.store.history()]
    assert times == sorted(times)
    assert campaign.verify().sound


def test_a_moved_folder_is_called_moved(begun, refused):
    from labelwise.errors import StoreError

    begun.path.rename(begun.path.with_name("elsewhere"))
    with refused(where="<tmp>/campaign", error=StoreError):
        begun.status()
