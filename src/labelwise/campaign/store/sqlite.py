"""A campaign in SQLite. All of its SQL is here, in `reading`, `writing` and `schema`."""

import json
import sqlite3
import zlib
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any

from labelwise.campaign.store.backup import back_up
from labelwise.campaign.store.chain import Altered, hash_of
from labelwise.campaign.store.contract import (
    AbstractStore,
    Change,
    Computed,
    Contents,
    Item,
    Logged,
    Result,
    Snapshot,
)
from labelwise.campaign.store.kept import (
    bind_kept,
    keep_estimate,
    keep_fit,
    read_estimate,
    read_fit,
)
from labelwise.campaign.store.reading import (
    bind,
    bind_more,
    bind_refined,
    check_log,
    count_pool,
    read_document,
    read_events,
    read_head,
    read_items,
    read_refined,
    read_rounds,
    read_start,
    read_state,
)
from labelwise.campaign.store.schema import BOUND, STEPS, VERSION
from labelwise.campaign.store.witness import Head
from labelwise.campaign.store.words import MEMORY, SQL_ERRORS, in_words
from labelwise.campaign.store.writing import add_all, check_added
from labelwise.errors import StoreError
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.round import Round
from labelwise.evaluation.state import State

# What reading JSON, records and packed numbers raises if they are not what they were.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, zlib.error)
SEE = "see by `labelwise verify` what can be trusted, and restore the folder from a backup"
EXAMPLES = 3  # ids that a message shows
PATIENCE = 60.0  # seconds to wait for other processes


class SQLiteStore(AbstractStore):
    """What every campaign in SQLite does, wherever its connections come from."""

    log: str  # where the database is, as messages name it
    keeps = True  # whether what was computed is kept: not where that part is damaged
    root: str | None = None  # the chain's first hash, once it is known: of this campaign alone

    def __init__(self, clock: Callable[[], datetime] | None = None):
        self._clock = clock or (lambda: datetime.now(UTC))
        # How many rows of the pool there were, and every row that can be named.
        self._known_items: tuple[int, dict[str, Item]] | None = None

    @abstractmethod
    def begun(self, statement: str) -> AbstractContextManager[sqlite3.Connection]:
        """A connection with a transaction begun by `statement`; undone unless it commits."""

    @abstractmethod
    def stored_table(self, name: str) -> bytes:
        """A table that the campaign was made with, whatever it holds now."""

    @abstractmethod
    def stored_tables(self) -> Mapping[str, bytes]:
        """The tables that are there, whatever they hold."""

    @abstractmethod
    def witnessed(self) -> Head | None:
        """The head that was written down beside the log; None if none was."""

    @abstractmethod
    def witness(self, head: Head) -> None:
        """Write the head down beside the log, if there is a place beside it."""

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the log."""
        with self.in_words(), self.begun("BEGIN") as log:
            yield log

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it, or nothing."""
        with self.in_words(), self.begun("BEGIN IMMEDIATE") as log:
            yield log
            if log.in_transaction:
                log.execute("COMMIT")

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """Errors of SQLite and of the chain in words that say what to do."""
        try:
            yield
        except Altered as error:
            what = f"{self.place} was altered: {error.what}"
            raise StoreError(what, SEE, where=self.place) from error
        except SQL_ERRORS as error:
            raise in_words(error, self.place, self.log, PATIENCE) from error

    def migrate(self, version: int) -> None:
        """Take the steps after `version`, but those that another process takes meanwhile."""
        for step in range(version, VERSION):
            with self.write() as log:
                if log.execute("PRAGMA user_version").fetchone()[0] == step:
                    for statement in _statements(STEPS[step]):
                        log.execute(statement)
                    log.execute(f"PRAGMA user_version = {step + 1}")
                    if step + 1 == BOUND and version:
                        if self.witnessed() is not None:  # there were hashes before
                            raise Altered("the chain of hashes is gone")
                        bind_kept(log)
                        self._begin_chain(log, self.stored_tables())

    def fill(self, contents: Contents) -> None:
        """Start an empty log with what the campaign is made with, but for the tables."""
        self.migrate(0)
        with self.write() as log:
            log.executemany(
                "INSERT INTO documents VALUES (?, ?)",
                ((name, json.dumps(content)) for name, content in contents.documents.items()),
            )
            insert = "INSERT INTO items (origin, position, id) VALUES (?, ?, ?)"
            log.executemany(insert, contents.items)
            if VERSION >= BOUND:
                self._begin_chain(log, contents.tables)

    def _begin_chain(self, log: sqlite3.Connection, tables: Mapping[str, bytes]) -> None:
        """Commit what there is with its hashes, and write the head down."""
        last = bind(log, tables, self.now())
        log.execute("COMMIT")
        self.witness(Head(last.number, last.head))

    def now(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="microseconds")

    def document(self, name: str) -> Any:
        with self.read() as log:
            text = read_document(log, name)
        if text is None:
            raise self.broken(f"holds no {name}")
        return self._whole(name, lambda: json.loads(text))

    def table(self, name: str) -> bytes:
        with self.read() as log:
            expected = read_start(log)["tables"].get(name)
        if expected is None:
            raise self.broken(f"holds no table {name}")
        found = self.stored_table(name)
        if hash_of(found) != expected:
            what = f"The {name} table of {self.place} is not the one that it was made with"
            raise StoreError(what, "restore it from a copy", where=self.place)
        return found

    def state(self) -> State:
        seen = self.witnessed()  # first: whatever is committed after it is there too
        with self.read() as log:
            state, _ = read_state(log)
            self.check_witness(log, seen)
        return state

    def history(self) -> list[Logged]:
        seen = self.witnessed()
        with self.read() as log:
            logged = list(read_events(log))
            check_log(log, logged)
            self.check_witness(log, seen)
        return logged

    def rounds(self) -> list[Round]:
        with self.read() as log:
            rows = read_rounds(log)
        read = lambda number, at, content, *predictions: Round.from_dict(
            number, at, json.loads(content), *predictions
        )
        return self._whole("rounds", lambda: [read(*row) for row in rows])

    def append(
        self, ids: Collection[str], decide: Callable[[Snapshot], Change[Result]]
    ) -> Result:
        _, seen = self.items, self.witnessed()  # read before it is anybody's turn
        with self.write() as log:
            now = self.now()
            state, last = read_state(log)
            self.check_witness(log, seen)
            items = self._items_of(log, state.size)
            found = {id_: items[id_] for id_ in ids if id_ in items}
            change = decide(Snapshot(now, state, found, list(items)[:EXAMPLES]))
            add_all(log, change, max(now, state.latest))  # time never goes back
            number = None if change.round is None else change.round.number
            end = bind_more(log, last, number, state.event)
            check_added(log, change.events, state.event)
            log.execute("COMMIT")
            if end != last:
                self.witness(Head(end.number, end.head))
        return change.result

    @property
    def items(self) -> dict[str, Item]:
        """Every row that can be named, by its id."""
        with self.read() as log:
            return self._items_of(log, count_pool(log))

    def _items_of(self, log: sqlite3.Connection, size: int) -> dict[str, Item]:
        """The same, read anew only if rows have joined: those that were there never change."""
        known = self._known_items
        if known is None or known[0] != size:
            known = size, {item.id: item for item in read_items(log)}
            self._known_items = known
        return known[1]

    def check_witness(self, log: sqlite3.Connection, seen: Head | None) -> None:
        """Refuse a log that lost what was acknowledged, or another than was opened."""
        if self.root not in (None, read_head(log, 0)):
            raise Altered("another campaign has taken its place since it was opened")
        if seen is not None and read_head(log, seen.link) != seen.hash:
            end = log.execute("SELECT max(link) FROM chain").fetchone()[0] or 0
            how = "its end is gone" if seen.link > end else "it is another log"
            raise Altered(f"the log is not the one that campaign.head was written for ({how})")

    def backup(self, path: Path) -> Path:
        return back_up(self, path)

    def refined(self) -> str | None:
        with self.read() as log:
            read_state(log)  # held to the chain
            return read_refined(log)

    def bind_refined(self, record: str) -> None:
        seen = self.witnessed()
        with self.write() as log:
            _, last = read_state(log)
            self.check_witness(log, seen)
            end = bind_refined(log, last, record)
            log.execute("COMMIT")
            self.witness(Head(end.number, end.head))

    def fit(self, labels: str) -> Any:
        return self._kept(lambda log: read_fit(log, labels))

    def estimate(self) -> Computed | None:
        return self._kept(read_estimate)

    def _kept(self, read: Callable[[sqlite3.Connection], Any]) -> Any:
        """What was kept, if it can be read; if not, it can be computed again."""
        try:
            with self.begun("BEGIN") as log:
                return read(log)
        except (sqlite3.DatabaseError, *UNREADABLE):
            return None

    def keep(self, labels: str, event: int, estimate: Estimate, fit: Any = None) -> None:
        if not self.keeps:
            return
        with self.write() as log:
            if fit is not None:
                keep_fit(log, labels, fit)
            keep_estimate(log, labels, event, estimate, self.now())

    def broken(self, how: str) -> StoreError:
        """What cannot be used as it is."""
        return StoreError(f"{self.place} {how}", "restore it from a copy", where=self.place)

    def _whole(self, name: str, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except UNREADABLE as error:
            raise self.broken(f"holds damaged {name}") from error


class MemoryStore(SQLiteStore):
    """A campaign that is gone with the process: for notebooks, studies and tests."""

    place = log = MEMORY
    folder = None

    def __init__(self, contents: Contents, clock: Callable[[], datetime] | None = None):
        super().__init__(clock)
        # One connection is the whole database, so threads take turns at it.
        self._turn = RLock()
        self._log = sqlite3.connect(self.log, check_same_thread=False, isolation_level=None)
        self._log.execute("PRAGMA foreign_keys = ON")
        self._tables = dict(contents.tables)
        self.fill(contents)

    @contextmanager
    def begun(self, statement: str) -> Iterator[sqlite3.Connection]:
        with self._turn:
            self._log.execute(statement)
            try:
                yield self._log
            finally:
                if self._log.in_transaction:
                    self._log.execute("ROLLBACK")

    def stored_table(self, name: str) -> bytes:
        return self._tables[name]

    def stored_tables(self) -> Mapping[str, bytes]:
        return self._tables

    def witnessed(self) -> Head | None:
        return None

    def witness(self, head: Head) -> None:
        """Nothing outlives the process, so there is nothing to be witnessed."""


def _statements(script: str) -> Iterator[str]:
    """Split a script where SQLite says that a statement is complete (triggers hold ';')."""
    pending = ""
    for piece in script.split(";"):
        pending += piece + ";"
        if sqlite3.complete_statement(pending):
            if pending.strip(" \n;"):
                yield pending
            pending = ""
