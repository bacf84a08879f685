"""A campaign in a folder: a SQLite log with short transactions, and Parquet files beside it.

Every operation opens its own connection, so that processes, threads and crashes cannot leave
one another's work half done.
"""

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from labelwise.campaign.store import sqlite
from labelwise.campaign.store.contract import Contents
from labelwise.campaign.store.schema import VERSION
from labelwise.campaign.store.sqlite import SQLiteStore, is_busy
from labelwise.errors import InvalidInput, StoreError

LOG = "campaign.db"
TABLES = "tables"
NAMES = ("labelled", "pool", "target")
OURS = 0x4C574331  # SQLite's application id: this file is a Labelwise campaign
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
        return store

    @staticmethod
    def create(path: str | Path, contents: Contents) -> None:
        """Make a campaign whose folder appears under its name whole, or not at all."""
        with _appearing(Path(path).resolve()) as made:
            for name, table in contents.tables.items():
                (made / TABLES / f"{name}.parquet").write_bytes(table)
            store = FolderStore(made)
            with store.in_words(), closing(_connect(made / LOG, create=True)) as log:
                log.execute("PRAGMA journal_mode = WAL")
                log.execute(f"PRAGMA application_id = {OURS}")
            store.fill(contents)

    def table(self, name: str) -> bytes:
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

    @contextmanager
    def begun(self, statement: str) -> Iterator[sqlite3.Connection]:
        """Begin; wait where SQLite itself does not: while another recovers or cleans up."""
        deadline = time.monotonic() + sqlite.PATIENCE
        while True:
            try:
                log = _begin(self.folder / LOG, statement)
                break
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        with closing(log):  # which undoes what was not committed
            yield log


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
    if log.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise sqlite3.DatabaseError("it fails SQLite's quick check")
    return version


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """A folder made under a temporary name beside its place, and renamed at the end."""
    _check_free(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise InvalidInput(
            f"Cannot make a campaign at {folder} ({error.strerror})",
            "choose another place",
            where=str(folder),
        ) from None
    try:
        (made / TABLES).mkdir()
        yield made
        os.chmod(made, 0o755)
        for part in (*(made / TABLES).iterdir(), made / TABLES, made):
            _sync(part)  # a folder that has its name has its contents, even after a power cut
        os.rename(made, folder)
        with suppress(OSError):  # not every file system can
            _sync(folder.parent)
    except StoreError as error:
        named = (part.replace(str(made), str(folder)) for part in (error.what, error.remedy))
        raise StoreError(*named, where=error.where.replace(str(made), str(folder))) from None
    except OSError as error:
        if folder.exists() and any(folder.iterdir()):
            _check_free(folder)  # somebody else was quicker
        raise StoreError(
            f"The campaign could not be written at {folder} ({error.strerror or error})",
            "make room or choose another place",
            where=str(folder),
        ) from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check_free(folder: Path) -> None:
    what, remedy = "", ""
    if folder == Path.cwd():  # it is replaced as a whole, which would leave us nowhere
        what = f"A campaign cannot be made in the folder one stands in ({folder})"
        remedy = "name a new one"
    elif (folder / LOG).exists():
        what, remedy = f"{folder} already holds a campaign", "open it, or choose another name"
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        what = f"{folder} exists and is not an empty folder"
        remedy = "choose another name for the campaign"
    if what:
        raise InvalidInput(what, remedy, where=str(folder))
