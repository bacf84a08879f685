"""A copy of a campaign that is right whoever writes meanwhile."""

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from labelwise.campaign.store.appearing import LOG, OURS, TABLES, appearing
from labelwise.campaign.store.chain import Link
from labelwise.campaign.store.reading import (
    read_document,
    read_items,
    read_rounds,
    read_start,
    read_state,
)
from labelwise.campaign.store.witness import Head, write_head
from labelwise.errors import InvalidInput

if TYPE_CHECKING:
    from labelwise.campaign.store.sqlite import SQLiteStore

BATCHES = "batches"


def back_up(store: "SQLiteStore", path: Path) -> Path:
    """Copy log, tables and batches to a new folder, which appears whole; where it is.

    The log is copied by SQLite itself, as it stands at one instant, and read back.
    """
    folder = path.resolve()
    _check_apart(store, folder)
    tables = {name: store.table(name) for name in store.stored_tables()}  # each as it was
    with appearing(folder) as made:
        for name, table in tables.items():
            (made / TABLES / f"{name}.parquet").write_bytes(table)
        if store.folder is not None and (store.folder / BATCHES).is_dir():
            _copy_batches(store.folder / BATCHES, made / BATCHES)
        last = _copy_log(store, made / LOG)
        write_head(made, Head(last.number, last.head))
    return folder


def _check_apart(store: "SQLiteStore", folder: Path) -> None:
    if store.folder is not None and folder.is_relative_to(store.folder.resolve()):
        what = f"A backup of {store.place} cannot stand inside of it"
        raise InvalidInput(what, "choose a place beside it or elsewhere", where=str(folder))


def _copy_batches(source: Path, target: Path) -> None:
    """Those that have their name; others come and go while somebody asks."""

    def copy_if_there(file: str, to: str) -> None:
        with suppress(FileNotFoundError, shutil.SpecialFileError):
            shutil.copy2(file, to)

    shutil.copytree(
        source,
        target,
        ignore=shutil.ignore_patterns(".*"),
        copy_function=copy_if_there,
        ignore_dangling_symlinks=True,
    )


def _copy_log(store: "SQLiteStore", path: Path) -> Link:
    """The end of the copy's chain."""
    seen = store.witnessed()
    with store.read() as log, closing(sqlite3.connect(path, isolation_level=None)) as copy:
        log.backup(copy)
        copy.execute("PRAGMA journal_mode = WAL")
        copy.execute(f"PRAGMA application_id = {OURS}")  # one in memory has none
        last = _read_back(copy)
        store.check_witness(copy, seen)  # else the copy would know of no loss
        copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return last


def _read_back(copy: sqlite3.Connection) -> Link:
    """Everything, as it was written; and the chain's end."""
    last = read_state(copy)[1]
    read_items(copy)
    read_rounds(copy)
    for name in read_start(copy)["documents"]:
        read_document(copy, name)
    return last
