"""A campaign's files: a SQLite log with short transactions, and Parquet snapshots beside it.

Every operation opens its own connection, so that processes, threads and crashes cannot leave
one another's work half done. Nothing here starts pandas or JAX: `status` must answer at once.
"""

import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labelwise.campaign.store.schema import STEPS, VERSION
from labelwise.errors import InvalidInput, StoreError

LOG = "campaign.db"
TABLES = "tables"
NAMES = ("labelled", "pool", "target")
OURS = 0x4C574331  # SQLite's application id: this file is a Labelwise campaign
SECTOR = 512  # every page of SQLite is a multiple of this
PATIENCE = 60.0  # seconds to wait for other processes
Item = tuple[str, int, str]  # origin, position, id


class Store:
    """The folder of one campaign."""

    def __init__(self, folder: Path, clock: Callable[[], datetime] | None = None):
        self.folder = folder
        self._clock = clock or (lambda: datetime.now(UTC))

    @staticmethod
    def open(path: str | Path, clock: Callable[[], datetime] | None = None) -> "Store":
        """Check that the folder holds a campaign this version can use; migrate if older."""
        store = Store(Path(path).absolute(), clock)  # wherever the process goes later
        if not (store.folder / LOG).is_file():
            raise InvalidInput(
                f"{store.folder} is not a Labelwise campaign (it holds no {LOG})",
                "give the folder made by `labelwise new`",
                where=str(store.folder),
            )
        _check_whole(store.folder / LOG)
        with store.read() as log:
            version = store._check(log)
        for step in range(version, VERSION):
            _migrate(store, step)
        return store

    def now(self) -> str:
        """The present, as it is written into the log."""
        return self._clock().astimezone(UTC).isoformat(timespec="microseconds")

    def table(self, name: str) -> Path:
        """Where the snapshot of a table is; never outside the campaign's folder."""
        path = self.folder / TABLES / f"{name}.parquet"
        if name not in NAMES or not path.resolve().is_relative_to(self.folder.resolve()):
            raise StoreError(
                f"{self.folder} points at a table outside itself ({name})",
                "restore it from a copy",
                where=str(self.folder),
            )
        return path

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the log."""
        with _told(self.folder), closing(_begun(self.folder / LOG, "BEGIN")) as log:
            yield log

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it, or nothing."""
        with _told(self.folder), closing(_begun(self.folder / LOG, "BEGIN IMMEDIATE")) as log:
            try:
                yield log
                log.execute("COMMIT")
            except BaseException:
                if log.in_transaction:
                    log.execute("ROLLBACK")
                raise

    def document(self, name: str) -> Any:
        """One of the documents written at creation."""
        with self.read() as log:
            query = "SELECT content FROM documents WHERE name = ?"
            found = log.execute(query, (name,)).fetchone()
        if found is None:
            raise StoreError(
                f"{self.folder} holds no {name}",
                "restore it from a copy",
                where=str(self.folder),
            )
        return self.parse(name, found[0])

    def parse(self, name: str, content: str) -> Any:
        """JSON that was stored in the log."""
        try:
            return json.loads(content)
        except json.JSONDecodeError:
            raise StoreError(
                f"{self.folder} holds damaged {name}",
                "restore it from a copy",
                where=str(self.folder),
            ) from None

    def _check(self, log: sqlite3.Connection) -> int:
        if log.execute("PRAGMA application_id").fetchone()[0] != OURS:
            raise InvalidInput(
                f"{self.folder / LOG} is a database, but not of a Labelwise campaign",
                "give another folder",
                where=str(self.folder / LOG),
            )
        version = log.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise InvalidInput(
                f"{self.folder} was written by a newer Labelwise (schema {version}, this one "
                f"knows {VERSION})",
                "upgrade Labelwise",
                where=str(self.folder),
            )
        if log.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("it fails SQLite's quick check")
        return version


@contextmanager
def building(path: str | Path) -> Iterator[Store]:
    """A campaign folder that appears under its name whole, or not at all.

    It is made under a temporary name beside the final place and renamed at the end.
    """
    folder = Path(path).resolve()
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
        yield Store(made)
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


def write_log(store: Store, documents: Mapping[str, Any], items: Iterable[Item]) -> None:
    """Start a log with the documents and items of a new campaign."""
    with _told(store.folder), closing(_connect(store.folder / LOG, create=True)) as log:
        log.execute("PRAGMA journal_mode = WAL")
        log.execute(f"PRAGMA application_id = {OURS}")
    for step in range(VERSION):
        _migrate(store, step)
    with store.write() as log:
        log.executemany(
            "INSERT INTO documents VALUES (?, ?)",
            ((name, json.dumps(content)) for name, content in documents.items()),
        )
        log.executemany("INSERT INTO items (origin, position, id) VALUES (?, ?, ?)", items)


def _migrate(store: Store, step: int) -> None:
    """From version `step` to the next, unless another process has done so meanwhile."""
    with store.write() as log:
        if log.execute("PRAGMA user_version").fetchone()[0] != step:
            return
        for statement in _statements(STEPS[step]):
            log.execute(statement)
        log.execute(f"PRAGMA user_version = {step + 1}")


def _check_whole(path: Path) -> None:
    """Refuse a file that was cut short, whose last page SQLite would fill up with zeros."""
    size, ahead = path.stat().st_size, path.with_name(f"{LOG}-wal")
    if (ahead.exists() and ahead.stat().st_size) or (size and size % SECTOR == 0):
        return  # what a crash left undone is in the write-ahead log
    raise StoreError(
        f"{path} is damaged (it was cut short)",
        "restore the folder from a copy",
        where=str(path),
    )


def _statements(script: str) -> Iterator[str]:
    """Split a script where SQLite says that a statement is complete (triggers hold ';')."""
    pending = ""
    for piece in script.split(";"):
        pending += piece + ";"
        if sqlite3.complete_statement(pending):
            if pending.strip(" \n;"):
                yield pending
            pending = ""


def _connect(path: Path, create: bool = False) -> sqlite3.Connection:
    mode = "rwc" if create else "rw"
    log = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}",
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,
    )
    log.execute(
        "PRAGMA synchronous = FULL"
    )  # a label that was acknowledged survives a power cut
    log.execute("PRAGMA foreign_keys = ON")
    return log


def _begun(path: Path, statement: str) -> sqlite3.Connection:
    """Begin, and wait where SQLite itself does not: during another's recovery or clean-up."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return _begin(path, statement)
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
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


def _check_free(folder: Path) -> None:
    if folder == Path.cwd():  # it is replaced as a whole, which would leave us nowhere
        raise InvalidInput(
            f"A campaign cannot be made in the folder one stands in ({folder})",
            "name a new one",
            where=str(folder),
        )
    if (folder / LOG).exists():
        raise InvalidInput(
            f"{folder} already holds a campaign",
            "open it, or choose another name",
            where=str(folder),
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(
            f"{folder} exists and is not an empty folder",
            "choose another name for the campaign",
            where=str(folder),
        )


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """SQLite's errors in words that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _in_words(folder, error) from error


def _in_words(folder: Path, error: sqlite3.Error) -> StoreError:
    text, where = " ".join(str(error).split()), str(folder)  # SQL may hold line ends
    if _is_busy(error):
        what = f"Another process has held {folder} for {PATIENCE:.0f} s"
        return StoreError(what, "nothing was changed, try again", where=where)
    if "full" in text:
        what = f"The disk of {folder} is full"
        return StoreError(what, "nothing was changed, make room and repeat", where=where)
    if "readonly" in text or "unable to open" in text or "disk I/O" in text:
        what = f"{folder} cannot be written ({text})"
        return StoreError(
            what, "nothing was changed, check its permissions and disk", where=where
        )
    path = folder / LOG
    what = f"{path} is damaged ({text})"
    return StoreError(what, "restore the folder from a copy", where=str(path))


def _is_busy(error: sqlite3.Error) -> bool:
    return "locked" in str(error) or "busy" in str(error)
