"""The state of a campaign's rows, read from the log."""

import sqlite3

from labelwise.evaluation.state import Event, State, replay

EVENTS = """
    SELECT kind, position, origin, at, events.round, place, label, treatment
    FROM events JOIN items USING (item)
    ORDER BY event
"""


def read_state(log: sqlite3.Connection, now: str, expiry_days: float | None) -> State:
    """Play the log back."""
    count = lambda query: log.execute(query).fetchone()[0] or 0
    start = State(
        round=count("SELECT max(round) FROM rounds"),
        event=count("SELECT max(event) FROM events"),
        size=count("SELECT count(*) FROM items WHERE origin = 'pool'"),
    )
    return replay(map(Event._make, log.execute(EVENTS)), start, now, expiry_days)
