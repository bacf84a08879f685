"""A campaign in a folder: a SQLite log with short transactions, and Parquet files beside it.

Every operation opens its own connection, so that processes, threads and crashes cannot leave
one another's work half done.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from labelwise.campaign.store import sqlite
from labelwise.campaign.store.appearing import LOG, OURS, TABLES, appearing
from labelwise.campaign.store.contract import Contents
from labelwise.campaign.store.reading import read_head
from labelwise.campaign.store.schema import VERSION
from labelwise.campaign.store.sqlite import SQLiteStore
from labelwise.campaign.store.turns import OutOfPatience, turn
from labelwise.campaign.store.witness import Head, read_witness, write_head
from labelwise.campaign.store.words import SQL_ERRORS, is_busy
from labelwise.errors import InvalidInput, StoreError

NAMES = ("labelled", "pool", "target")
LOGGED = {"documents", "items", "rounds", "events", "predictions", "joined", "start", "chain"}
LOGGED |= {"refined"}
SECTOR = 512  # every page of SQLite is a multiple of this


class FolderStore(SQLiteStore):
    """The folder of one campaign."""

    def __init__(self, folder: Path, clock: Callable[[], datetime] | None = None):
        super().__init__(clock)
        self.folder: Path = folder
        self.place, self.log = str(folder), str(folder / LOG)

    @staticmethod
    def open(path: str | Path, clock: Callable[[], datetime] | None = None) -> "FolderStore":
        """Check that the folder holds a campaign this version can use; migrate if older."""
        store = FolderStore(Path(path).absolute(), clock)  # wherever the process goes later
        if not (store.folder / LOG).is_file():
            raise InvalidInput(
                f"{store.folder} is not a Labelwise campaign (it holds no {LOG})",
                "give the folder made by `labelwise new`",
                where=store.place,
            )
        _check_whole(store.folder / LOG)
        with store.read() as log:
            version = _check_version(log, store)
        store.migrate(version)
        with store.read() as log:
            store.root = read_head(log, 0)
        return store

    @staticmethod
    def create(
        path: str | Path,
        contents: Contents,
        begin: Callable[["FolderStore"], None] = lambda store: None,
    ) -> None:
        """Make a campaign whose folder appears under its name whole, or not at all.

        It appears once it has begun, too: what `begin` writes is there from the first.
        """
        with appearing(Path(path).resolve()) as made:
            for name, table in contents.tables.items():
                (made / TABLES / f"{name}.parquet").write_bytes(table)
            store = FolderStore(made)
            with store.in_words(), closing(_connect(made / LOG, create=True)) as log:
                log.execute("PRAGMA journal_mode = WAL")
                log.execute(f"PRAGMA application_id = {OURS}")
            store.fill(contents)
            begin(store)

    def stored_table(self, name: str) -> bytes:
        path = self.folder / TABLES / f"{name}.parquet"
        if name not in NAMES or not path.resolve().is_relative_to(self.folder.resolve()):
            raise self.broken(f"points at a table outside itself ({name})")
        try:
            return path.read_bytes()
        except OSError as error:
            raise StoreError(
                f"{path} is missing or damaged ({type(error).__name__})",
                "restore the folder from a copy",
                where=str(path),
            ) from error

    def stored_tables(self) -> dict[str, bytes]:
        there = [name for name in NAMES if (self.folder / TABLES / f"{name}.parquet").exists()]
        return {name: self.stored_table(name) for name in there}

    def witnessed(self) -> Head | None:
        return read_witness(self.folder)

    def witness(self, head: Head) -> None:
        with suppress(OSError):  # what was committed stays so
            write_head(self.folder, head)

    @contextmanager
    def begun(self, statement: str) -> Iterator[sqlite3.Connection]:
        """Have a turn at the folder and begin."""
        alone = statement != "BEGIN"
        try:
            with (
                turn(self.folder, self.folder / TABLES, sqlite.PATIENCE, alone),
                closing(self._begun(statement)) as log,  # undoes what was not committed
            ):
                yield log
        except OutOfPatience:
            raise sqlite3.OperationalError("the folder is locked") from None

    def _begun(self, statement: str) -> sqlite3.Connection:
        """Wait where SQLite itself does not: while another recovers or cleans up."""
        deadline = time.monotonic() + sqlite.PATIENCE
        while True:
            try:
                return _begin(self.folder / LOG, statement)
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def _begin(path: Path, statement: str) -> sqlite3.Connection:
    log = _connect(path)
    try:
        log.execute(statement)
        # The lock of a read comes with its first look; take it here, where we can wait.
        log.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        log.close()
        raise
    return log


def _connect(path: Path, create: bool = False) -> sqlite3.Connection:
    mode = "rwc" if create else "rw"
    address = f"{path.resolve().as_uri()}?mode={mode}"
    log = sqlite3.connect(address, uri=True, timeout=sqlite.PATIENCE, isolation_level=None)
    # A label that was acknowledged survives a power cut.
    log.execute("PRAGMA synchronous = FULL")
    log.execute("PRAGMA foreign_keys = ON")
    return log


def _check_whole(path: Path) -> None:
    """Refuse a file that was cut short, whose last page SQLite would fill up with zeros."""
    ahead = 0
    with suppress(FileNotFoundError):  # another process may just have folded it in
        ahead = path.with_name(f"{LOG}-wal").stat().st_size
    size = path.stat().st_size
    if ahead or (size and size % SECTOR == 0):
        return  # what a crash left undone is in the write-ahead log
    raise StoreError(
        f"{path} is damaged (it was cut short)",
        "restore the folder from a copy",
        where=str(path),
    )


def _check_version(log: sqlite3.Connection, store: FolderStore) -> int:
    """The version of the log's schema, if it is ours, sound and not from the future."""
    if log.execute("PRAGMA application_id").fetchone()[0] != OURS:
        raise InvalidInput(
            f"{store.log} is a database, but not of a Labelwise campaign",
            "give another folder",
            where=store.log,
        )
    version = log.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise InvalidInput(
            f"{store.place} was written by a newer Labelwise (schema {version}, this one "
            f"knows {VERSION})",
            "upgrade Labelwise",
            where=store.place,
        )
    store.keeps = _check_sound(log)
    return version


def _check_sound(log: sqlite3.Connection) -> bool:
    """Whether all of the file is sound; refuse it unless at least the log is.

    What else is in it was computed from the log, and can be again.
    """
    whole = _complaints(log)
    if whole == ["ok"]:
        return True
    tables = {name for (name,) in log.execute("SELECT name FROM sqlite_master")}
    log_is_sound = all(_complaints(log, name) == ["ok"] for name in tables & LOGGED)
    if not log_is_sound or any("freelist" in text for text in whole):
        raise sqlite3.DatabaseError("it fails SQLite's quick check")
    return False


def _complaints(log: sqlite3.Connection, table: str | None = None) -> list[str]:
    """What SQLite's quick check says, of all or of one table."""
    try:
        of = "" if table is None else f"('{table}')"
        return [text for (text,) in log.execute(f"PRAGMA quick_check{of}")]
    except SQL_ERRORS as error:
        return [str(error)]
