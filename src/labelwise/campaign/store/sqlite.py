"""A campaign in SQLite. All of its SQL is here and in `schema`."""

import json
import sqlite3
import zlib
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from threading import RLock
from typing import Any

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
from labelwise.campaign.store.schema import STEPS, VERSION
from labelwise.errors import StoreError
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.round import Round
from labelwise.evaluation.state import Event, State, replay

# What reading JSON, records and packed numbers raises if they are not what they were.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, zlib.error)
PATIENCE = 60.0  # seconds to wait for other processes
EVENTS = """
    SELECT event, id, kind, position, origin, at, round, place, label, treatment, probability,
        reason
    FROM events JOIN items USING (item) ORDER BY event
"""
ROUNDS = """
    SELECT round, at, rounds.content, predictions.content
    FROM rounds LEFT JOIN predictions USING (round) ORDER BY round
"""
ADD = """
    INSERT INTO events
        (item, at, kind, round, place, label, treatment, probability, reason)
    VALUES ((SELECT item FROM items WHERE origin = ? AND position = ?), ?, ?, ?, ?, ?, ?, ?, ?)
"""

KEEP_FIT = """
    INSERT INTO fits VALUES (?, ?) ON CONFLICT (labels)
    DO UPDATE SET content = excluded.content WHERE NOT json_valid(fits.content)
"""


class SQLiteStore(AbstractStore):
    """What every campaign in SQLite does, wherever its connections come from."""

    log: str  # where the database is, as messages name it

    def __init__(self, clock: Callable[[], datetime] | None = None):
        self._clock = clock or (lambda: datetime.now(UTC))

    @abstractmethod
    def begun(self, statement: str) -> AbstractContextManager[sqlite3.Connection]:
        """A connection with a transaction begun by `statement`; undone unless it commits."""

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
            log.execute("COMMIT")

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """SQLite's errors in words that say what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise _in_words(error, self.place, self.log) from error

    def migrate(self, version: int) -> None:
        """Take the steps after `version`, but those that another process takes meanwhile."""
        for step in range(version, VERSION):
            with self.write() as log:
                if log.execute("PRAGMA user_version").fetchone()[0] == step:
                    for statement in _statements(STEPS[step]):
                        log.execute(statement)
                    log.execute(f"PRAGMA user_version = {step + 1}")

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

    def now(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="microseconds")

    def document(self, name: str) -> Any:
        with self.read() as log:
            query = "SELECT content FROM documents WHERE name = ?"
            row = log.execute(query, (name,)).fetchone()
        if row is None:
            raise self.broken(f"holds no {name}")
        return self._whole(name, lambda: json.loads(row[0]))

    def state(self) -> State:
        with self.read() as log:
            return _read_state(log)

    def history(self) -> list[Logged]:
        with self.read() as log:
            return list(_logged(log))

    def rounds(self) -> list[Round]:
        with self.read() as log:
            rows = log.execute(ROUNDS).fetchall()
        read = lambda number, at, content, *predictions: Round.from_dict(
            number, at, json.loads(content), *predictions
        )
        return self._whole("rounds", lambda: [read(*row) for row in rows])

    def append(
        self, ids: Collection[str], decide: Callable[[Snapshot], Change[Result]]
    ) -> Result:
        with self.write() as log:
            now = self.now()
            snapshot = Snapshot(now, _read_state(log), _find(log, ids), _examples(log))
            change = decide(snapshot)
            if change.round is not None:
                _add_round(log, change.round, now)
            log.executemany(ADD, [_as_row(event, now) for event in change.events])
        return change.result

    def fit(self, labels: str) -> Any:
        with self.read() as log:
            query = "SELECT content FROM fits WHERE labels = ?"
            row = log.execute(query, (labels,)).fetchone()
        return None if row is None else _or_none(json.loads, row[0])

    def estimate(self) -> Computed | None:
        query = "SELECT at, labels, content FROM estimates ORDER BY event DESC, at DESC LIMIT 1"
        with self.read() as log:
            row = log.execute(query).fetchone()
        read = lambda row: Computed(row[0], row[1], Estimate.from_dict(json.loads(row[2])))
        return None if row is None else _or_none(read, row)

    def keep(self, labels: str, event: int, estimate: Estimate, fit: Any = None) -> None:
        content = json.dumps(estimate.to_dict())
        with self.write() as log:
            if fit is not None:
                log.execute(KEEP_FIT, (labels, json.dumps(fit)))
            log.execute(
                "INSERT OR REPLACE INTO estimates (labels, content, event, at) "
                "VALUES (?, ?, ?, ?)",
                (labels, content, event, self.now()),
            )

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

    place = log = ":memory:"
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

    def table(self, name: str) -> bytes:
        if name not in self._tables:
            raise self.broken(f"holds no table {name}")
        return self._tables[name]


def _logged(log: sqlite3.Connection) -> Iterator[Logged]:
    for number, id_, *event in log.execute(EVENTS):
        yield Logged(number, id_, Event(*event))


def _read_state(log: sqlite3.Connection) -> State:
    """Play the log back."""
    count = lambda query: log.execute(query).fetchone()[0] or 0
    start = State(
        round=count("SELECT max(round) FROM rounds"),
        event=count("SELECT max(event) FROM events"),
        size=count("SELECT count(*) FROM items WHERE origin = 'pool'"),
    )
    return replay((logged.event for logged in _logged(log)), start)


def _find(log: sqlite3.Connection, ids: Collection[str]) -> dict[str, Item]:
    query = "SELECT origin, position, id FROM items WHERE id = ?"
    rows = (log.execute(query, (id_,)).fetchone() for id_ in set(ids))
    return {row[2]: Item(*row) for row in rows if row is not None}


def _examples(log: sqlite3.Connection) -> list[str]:
    return [row[0] for row in log.execute("SELECT id FROM items ORDER BY item LIMIT 3")]


def _add_round(log: sqlite3.Connection, round_: Round, now: str) -> None:
    content = json.dumps(round_.to_dict())
    log.execute("INSERT INTO rounds VALUES (?, ?, ?)", (round_.number, now, content))
    if round_.draws is not None:
        packed = round_.draws.packed()
        log.execute("INSERT INTO predictions VALUES (?, ?)", (round_.number, packed))


def _as_row(event: Event, now: str) -> tuple[Any, ...]:
    kind, position, origin, _, *rest = event
    return (origin, int(position), now, kind, *rest)


def _or_none(read: Callable[[Any], Any], kept: Any) -> Any:
    """What was kept, if it can be read: it could be computed again."""
    try:
        return read(kept)
    except UNREADABLE:
        return None


def _statements(script: str) -> Iterator[str]:
    """Split a script where SQLite says that a statement is complete (triggers hold ';')."""
    pending = ""
    for piece in script.split(";"):
        pending += piece + ";"
        if sqlite3.complete_statement(pending):
            if pending.strip(" \n;"):
                yield pending
            pending = ""


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process is at it."""
    return "locked" in str(error) or "busy" in str(error)


def _in_words(error: sqlite3.Error, place: str, log: str) -> StoreError:
    text = " ".join(str(error).split())  # SQL may hold line ends
    if is_busy(error):
        what = f"Another process has held {place} for {PATIENCE:.0f} s"
        return StoreError(what, "nothing was changed, try again", where=place)
    if "full" in text:
        what = f"The disk of {place} is full"
        return StoreError(what, "nothing was changed, make room and repeat", where=place)
    if "readonly" in text or "unable to open" in text or "disk I/O" in text:
        what = f"{place} cannot be written ({text})"
        remedy = "nothing was changed, check its permissions and disk"
        return StoreError(what, remedy, where=place)
    if isinstance(error, sqlite3.IntegrityError):
        what = f"{log} refused an event that does not fit the others ({text})"
        return StoreError(what, "nothing was changed, report what was done", where=log)
    what = f"{log} is damaged ({text})"
    return StoreError(what, "restore the folder from a copy", where=log)
