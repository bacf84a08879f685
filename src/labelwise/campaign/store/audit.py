"""A campaign's files, looked at one by one: what is as it was written, and what is not."""

import json
import sqlite3
import zlib
from collections.abc import Callable
from typing import Any

from labelwise.campaign.store.chain import Altered, hash_of
from labelwise.campaign.store.kept import count_spoilt
from labelwise.campaign.store.reading import (
    check_log,
    read_document,
    read_events,
    read_items,
    read_rounds,
    read_start,
)
from labelwise.campaign.store.sqlite import UNREADABLE, SQLiteStore
from labelwise.campaign.store.words import SQL_ERRORS, in_words
from labelwise.errors import LabelwiseError
from labelwise.evaluation.round import Round

BROKEN = (Altered, sqlite3.Error, LabelwiseError, OSError, zlib.error, *UNREADABLE)
MOST = 3  # complaints of SQLite that are told


class Audit:
    """What was looked at, and what was found."""

    def __init__(self, store: SQLiteStore):
        self.store = store
        self.problems: list[str] = []
        self.trusted: list[str] = []
        self.notes: list[str] = []
        self.events = 0  # that the log holds
        self.head = ""  # of the chain, if it holds
        self.start: dict[str, Any] = {}

    def run(self) -> "Audit":
        """Look at everything; what is damaged does not keep the rest from being looked at."""
        try:
            with self.store.begun("BEGIN") as log:
                self._look_at(log)
        except SQL_ERRORS as error:
            told = in_words(error, self.store.place, self.store.log, 0.0)
            self.problems.append(told.what)
        return self

    def _look_at(self, log: sqlite3.Connection) -> None:
        self._try("SQLite's own structure", lambda: _check_structure(log))
        self._try("the hashes of the start", lambda: self.start.update(read_start(log)))
        self._try("the list of rows", lambda: read_items(log))
        for name in self.start.get("documents", {}):
            self._try(f"the document {name!r}", lambda name=name: read_document(log, name))
        for name, expected in self.start.get("tables", {}).items():
            self._try(f"the {name} table", lambda *at: self._check_table(*at), name, expected)
        self._try("every event", lambda: self._check_events(log))
        self._try("every round", lambda: _check_rounds(log))
        self._try("the log's end", lambda: self._check_witness(log))
        self._try("what was kept", lambda: self._count_kept(log))

    def _try(self, what: str, look: Callable[..., Any], *arguments: Any) -> None:
        try:
            look(*arguments)
        except BROKEN as error:
            self.problems.append(f"{what}: {_in_words(error)}")
        else:
            self.trusted.append(what)

    def _check_table(self, name: str, expected: str) -> None:
        if hash_of(self.store.stored_table(name)) != expected:
            raise Altered("it is not the one that the campaign was made with")

    def _check_events(self, log: sqlite3.Connection) -> None:
        logged = list(read_events(log))
        self.events = len(logged)
        self.head = check_log(log, logged).head

    def _check_witness(self, log: sqlite3.Connection) -> None:
        seen = self.store.witnessed()
        if seen is None and self.store.folder is not None:
            self.notes.append(
                "campaign.head is missing, so it cannot be told whether the log lost its end; "
                "the next change writes it anew"
            )
        self.store.check_witness(log, seen)

    def _count_kept(self, log: sqlite3.Connection) -> None:
        spoilt = count_spoilt(log)
        if spoilt:
            self.notes.append(f"{spoilt} kept fits or estimates are void; they are made anew")


def _in_words(error: Exception) -> str:
    if isinstance(error, Altered):
        return error.what + (f"; events up to {error.after} hold" if error.after else "")
    return error.what if isinstance(error, LabelwiseError) else str(error)


def _check_structure(log: sqlite3.Connection) -> None:
    found = [text for (text,) in log.execute("PRAGMA integrity_check")]
    strays = log.execute("PRAGMA foreign_key_check").fetchall()
    if found != ["ok"] or strays:
        told = " ".join("; ".join(found[:MOST]).split()) if found != ["ok"] else "stray rows"
        raise Altered(f"the database is damaged ({told})")


def _check_rounds(log: sqlite3.Connection) -> None:
    """Each as it was written, whole, and with the events that sent it out."""
    sent: dict[int | None, list[tuple]] = {}
    for one in read_events(log):
        if one.event.kind == "asked":
            told = (one.event.position, one.event.probability)
            sent.setdefault(one.event.round, []).append(told)
    for number, at, content, predictions, joined in read_rounds(log):
        stored = json.loads(content)
        plan = Round.from_dict(number, at, stored, predictions, joined).plan
        if stored.get("design") is not None and predictions is None:
            raise Altered(f"the predictions of round {number} are gone")
        if list(zip(plan.rows, plan.probabilities, strict=True)) != sent.get(number):
            raise Altered(f"round {number} was not sent out as it was planned")
