"""What is added to a log, by SQL: rounds with what belongs to them, and events."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from labelwise.campaign.store.chain import Altered
from labelwise.campaign.store.contract import Change
from labelwise.campaign.store.reading import count_pool, read_events
from labelwise.evaluation.joined import Joined
from labelwise.evaluation.round import Round
from labelwise.evaluation.state import Event

ADD = """
    INSERT INTO events
        (item, at, kind, round, place, label, treatment, probability, reason)
    VALUES ((SELECT item FROM items WHERE origin = ? AND position = ?), ?, ?, ?, ?, ?, ?, ?, ?)
"""


def add_all(log: sqlite3.Connection, change: Change, now: str) -> None:
    """A round, if there is one, then events."""
    if change.round is not None:
        _add_round(log, change.round, now)
    log.executemany(ADD, [_as_row(event, now) for event in change.events])


def check_added(log: sqlite3.Connection, events: Sequence[Event], since: int) -> None:
    """What was added must be what was meant: an index may be damaged where rows are not."""
    meant = [event._replace(at="") for event in events]
    added = [logged.event._replace(at="") for logged in read_events(log, since)]
    if meant != added:
        raise Altered("an event would not be written as it was meant")


def _add_round(log: sqlite3.Connection, round_: Round, now: str) -> None:
    content = json.dumps(round_.to_dict())
    log.execute("INSERT INTO rounds VALUES (?, ?, ?)", (round_.number, now, content))
    if round_.draws is not None:
        packed = round_.draws.packed()
        log.execute("INSERT INTO predictions VALUES (?, ?)", (round_.number, packed))
    if round_.joined is not None:
        _add_joined(log, round_.number, round_.joined)


def _add_joined(log: sqlite3.Connection, number: int, joined: Joined) -> None:
    """Rows that come to the pool with a round, after all that are there."""
    size = count_pool(log)
    log.execute("INSERT INTO joined VALUES (?, ?)", (number, joined.table))
    insert = "INSERT INTO items (origin, position, id) VALUES ('pool', ?, ?)"
    log.executemany(insert, [(size + place, id_) for place, id_ in enumerate(joined.ids)])


def _as_row(event: Event, now: str) -> tuple[Any, ...]:
    kind, position, origin, _, *rest = event
    return (origin, int(position), now, kind, *rest)
