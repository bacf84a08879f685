"""What a log holds, read by SQL and held to its chain of hashes."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from labelwise.campaign.store.chain import (
    Altered,
    Link,
    Written,
    check_chain,
    grow,
    hash_of,
    record_of,
    record_of_items,
    record_of_round,
)
from labelwise.campaign.store.contract import Item, Logged
from labelwise.campaign.store.schema import STEPS
from labelwise.evaluation.state import Event, State, replay

EVENTS = """
    SELECT event, id, kind, position, origin, at, round, place, label, treatment, probability,
        reason
    FROM events JOIN items USING (item) WHERE event > ? ORDER BY event
"""
ROUNDS = """
    SELECT round, at, rounds.content, predictions.content
    FROM rounds LEFT JOIN predictions USING (round) ORDER BY round
"""
REFINED = "SELECT link, record FROM refined ORDER BY link"
HEAD = "SELECT head FROM chain WHERE link = ?"
FOREIGN = "SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')"
FIRST = "SELECT record FROM chain ORDER BY link LIMIT 1"
LINKS = "SELECT link, round, event, record, head FROM chain ORDER BY link"
# Tables are read themselves: an index may be damaged where they are not.
ITEMS = "SELECT origin, position, id FROM items NOT INDEXED ORDER BY item"
POOL = "SELECT count(*) FROM items NOT INDEXED WHERE origin = 'pool'"


def read_events(log: sqlite3.Connection, after: int = 0) -> Iterator[Logged]:
    """Events beyond a number, in order."""
    for number, id_, *event in log.execute(EVENTS, (after,)):
        yield Logged(number, id_, Event(*event))


def read_state(log: sqlite3.Connection) -> tuple[State, Link]:
    """Play the log back, once it is known to be as it was written; and the chain's end."""
    logged = list(read_events(log))
    last = check_log(log, logged)
    count = lambda query: log.execute(query).fetchone()[0] or 0
    start = State(
        round=count("SELECT max(round) FROM rounds"),
        event=count("SELECT max(event) FROM events"),
        size=count_pool(log),
        head=last.head,
    )
    return replay((one.event for one in logged), start), last


def count_pool(log: sqlite3.Connection) -> int:
    """How many rows the pool has."""
    return log.execute(POOL).fetchone()[0]


def check_log(log: sqlite3.Connection, logged: list[Logged]) -> Link:
    """The last link of the chain, if the log is as it was written."""
    _check_own(log)
    written = Written(
        start=hash_of(_start(log).encode()),
        rounds=[number for (number,) in log.execute("SELECT round FROM rounds")],
        events={one.number: _record(one) for one in logged},
        refined=dict(log.execute(REFINED)),
    )
    found = log.execute("SELECT count(*) FROM events NOT INDEXED").fetchone()[0]
    if found != len(logged):
        raise Altered("an event belongs to no row")
    return check_chain(map(Link._make, log.execute(LINKS)), written)


def _check_own(log: sqlite3.Connection) -> None:
    """Refuse code that somebody put into the database: it would change what we write."""
    for name, code in log.execute(FOREIGN):
        if not any(code in step for step in STEPS):
            raise Altered(f"{name!r} is not part of the log and would meddle with it")


def read_head(log: sqlite3.Connection, link: int) -> str | None:
    """The head as of a link; None if there is no such link."""
    row = log.execute(HEAD, (link,)).fetchone()
    return None if row is None else row[0]


StoredRound = tuple[int, str, str, bytes | None, bytes | None]


def read_rounds(log: sqlite3.Connection) -> list[StoredRound]:
    """Rounds as they are stored, each held to its link: the rows that joined with it last."""
    query = "SELECT round, record FROM chain WHERE round IS NOT NULL"
    records = dict(log.execute(query))
    rows = list(_stored_rounds(log))
    for row in rows:
        if record_of_round(*row) != records.pop(row[0], None):
            raise Altered(f"round {row[0]} is not as it was written")
    if records:
        raise Altered(f"round {min(records)} is gone")
    return rows


def read_start(log: sqlite3.Connection) -> dict[str, Any]:
    """Hashes of what the campaign was made with, and since when there are any."""
    text, first = _start(log), log.execute(FIRST).fetchone()
    if first is None or first[0] != hash_of(text.encode()):
        raise Altered("the hashes of the start are not as they were written")
    return json.loads(text)


def _stored_rounds(log: sqlite3.Connection) -> Iterator[StoredRound]:
    joined = dict(log.execute("SELECT round, content FROM joined"))
    for number, at, content, predictions in log.execute(ROUNDS):
        yield number, at, content, predictions, joined.get(number)


def read_items(log: sqlite3.Connection) -> list[Item]:
    """Every row that can be named; those that joined with rounds last."""
    items, later = [Item(*row) for row in log.execute(ITEMS)], _joined_ids(log)
    begin = len(items) - len(later)
    first = items[:begin]
    if begin < 0 or record_of_items(first) != read_start(log)["items"]:
        raise Altered("the list of rows is not as it was written")
    size = sum(item.origin == "pool" for item in first)
    meant = [Item("pool", size + place, id_) for place, id_ in enumerate(later)]
    if items[begin:] != meant:
        raise Altered("the list of rows that joined is not as it was written")
    return items


def _joined_ids(log: sqlite3.Connection) -> list[str]:
    """Of rows that joined with rounds, as these have them."""
    if log.execute("SELECT count(*) FROM joined").fetchone()[0] == 0:
        return []
    found = [json.loads(content).get("joined") for _, _, content, *_ in read_rounds(log)]
    return [id_ for joined in found if joined is not None for id_ in joined["ids"]]


def read_document(log: sqlite3.Connection, name: str) -> str | None:
    """A document's text; None if there is none."""
    query = "SELECT content FROM documents WHERE name = ?"
    row = log.execute(query, (name,)).fetchone()
    expected = read_start(log)["documents"].get(name)
    if row is None and expected is None:
        return None
    if row is None or hash_of(row[0].encode()) != expected:
        raise Altered(f"the document {name!r} is not as it was written")
    return row[0]


def bind(log: sqlite3.Connection, tables: Mapping[str, bytes], now: str) -> Link:
    """Begin the chain: with what the campaign was made with, and all that happened so far."""
    documents = log.execute("SELECT name, content FROM documents ORDER BY name")
    logged, rounds = list(read_events(log)), log.execute(ROUNDS).fetchall()
    content = {
        "at": now,
        "events": len(logged),  # that happened before there were hashes
        "rounds": len(rounds),
        "documents": {name: hash_of(text.encode()) for name, text in documents},
        "items": record_of_items(log.execute(ITEMS)),
        "tables": {name: hash_of(table) for name, table in tables.items()},
    }
    text = json.dumps(content, sort_keys=True)
    log.execute("INSERT INTO start VALUES (?)", (text,))
    records = [(None, None, hash_of(text.encode()))]
    records += [(row[0], None, record_of_round(*row)) for row in rounds]
    records += [(None, one.number, _record(one)) for one in logged]
    return _add(log, None, records)


def bind_more(log: sqlite3.Connection, last: Link, round_: int | None, since: int) -> Link:
    """Go on with a round that was just added, and events beyond a number; the new end."""
    rows = [row for row in _stored_rounds(log) if row[0] == round_] if round_ else []
    records = [(row[0], None, record_of_round(*row)) for row in rows]
    records += [(None, one.number, _record(one)) for one in read_events(log, since)]
    return _add(log, last, records)


def bind_refined(log: sqlite3.Connection, last: Link, record: str) -> Link:
    """Go on with the hash of a file that `refine` wrote; the new end."""
    end = _add(log, last, [(None, None, record)])
    log.execute("INSERT INTO refined VALUES (?, ?)", (end.number, record))
    return end


def read_refined(log: sqlite3.Connection) -> str | None:
    """The hash of the file that `refine` wrote last; None if it wrote none."""
    records = [record for _, record in log.execute(REFINED)]
    return records[-1] if records else None


def _add(log: sqlite3.Connection, last: Link | None, records: list) -> Link:
    links = list(grow(last, records))
    log.executemany("INSERT INTO chain VALUES (?, ?, ?, ?, ?)", links)
    end = links[-1] if links else last
    assert end is not None
    return end


def _record(logged: Logged) -> str:
    return record_of([logged.number, logged.id, *logged.event])


def _start(log: sqlite3.Connection) -> str:
    row = log.execute("SELECT content FROM start").fetchone()
    if row is None:
        raise Altered("the chain of hashes is gone")
    return row[0]
