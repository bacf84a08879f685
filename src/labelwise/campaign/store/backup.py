"""A copy of a campaign that is right whoever writes meanwhile."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from labelwise.campaign.store.appearing import LOG, OURS, TABLES, appearing
from labelwise.campaign.store.chain import Link
from labelwise.campaign.store.reading import read_state
from labelwise.campaign.store.witness import Head, write_head

if TYPE_CHECKING:
    from labelwise.campaign.store.sqlite import SQLiteStore

BATCHES = "batches"


def back_up(store: "SQLiteStore", path: Path) -> Path:
    """Copy log, tables and batches to a new folder, which appears whole; where it is.

    The log is copied by SQLite itself, as it stands at one instant, and read back.
    """
    folder = path.resolve()
    tables = {name: store.table(name) for name in store.stored_tables()}  # each as it was
    with appearing(folder) as made:
        for name, table in tables.items():
            (made / TABLES / f"{name}.parquet").write_bytes(table)
        if store.folder is not None and (store.folder / BATCHES).is_dir():
            shutil.copytree(store.folder / BATCHES, made / BATCHES)
        last = _copy_log(store, made / LOG)
        write_head(made, Head(last.number, last.head))
    return folder


def _copy_log(store: "SQLiteStore", path: Path) -> Link:
    """The end of the copy's chain."""
    with store.read() as log, closing(sqlite3.connect(path, isolation_level=None)) as copy:
        log.backup(copy)
        copy.execute("PRAGMA journal_mode = WAL")
        copy.execute(f"PRAGMA application_id = {OURS}")  # one in memory has none
        last = read_state(copy)[1]
        copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return last
