"""Where every row stands, derived from the log and nothing else."""

import hashlib
import json
import sqlite3
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple


class Asked(NamedTuple):
    """A row that is out."""

    round: int
    place: int
    at: str


@dataclass
class State:
    """Rows by what has become of them; keys are positions in the pool's snapshot.

    A row is in at most one of `labels`, `pending`, `skipped`, `failed` and `expired`; a row in
    none of them was never asked. Failed and expired rows may be asked again.
    """

    round: int = 0  # the last committed ask
    event: int = 0  # the last event seen
    size: int = 0  # rows in the pool
    labels: dict[int, float] = field(default_factory=dict)
    batches: dict[int, int | None] = field(default_factory=dict)  # that labels came back in
    corrections: dict[int, float] = field(default_factory=dict)  # of the initial labels
    pending: dict[int, Asked] = field(default_factory=dict)
    skipped: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    expired: set[int] = field(default_factory=set)
    treated: dict[int, float] = field(default_factory=dict)  # how rows were to be treated
    # The same by row and round: a row may be asked again, and treated otherwise.
    assigned: dict[tuple[int, int], float] = field(default_factory=dict)

    @property
    def closed(self) -> set[int]:
        """Rows that must not be asked now."""
        return {*self.labels, *self.pending, *self.skipped}

    @property
    def available(self) -> int:
        return self.size - len(self.closed)

    @property
    def spent(self) -> int:
        """Labels bought or on order."""
        return len(self.labels) + len(self.pending)

    def fingerprint(self) -> str:
        """A name for the labels that are known: what a fit or an estimate rests on."""
        known = [sorted(self.labels.items()), sorted(self.corrections.items())]
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()

    def pending_in_order(self) -> list[int]:
        """Pending rows, in the order they were asked."""
        return sorted(self.pending, key=lambda row: self.pending[row][:2])


EVENTS = """
    SELECT event, at, kind, origin, position, events.round, place, label, treatment
    FROM events JOIN items USING (item)
    ORDER BY event
"""


def read_state(log: sqlite3.Connection, now: str, expiry_days: float | None) -> State:
    """Play the log back."""
    count = lambda query: log.execute(query).fetchone()[0] or 0
    state = State(
        round=count("SELECT max(round) FROM rounds"),
        event=count("SELECT max(event) FROM events"),
        size=count("SELECT count(*) FROM items WHERE origin = 'pool'"),
    )
    for row in log.execute(EVENTS):
        _play(state, *row)
    _expire(state, now, expiry_days)
    return state


def _play(
    state: State, event, at, kind, origin, position, round_, place, label, treatment
) -> None:
    if origin == "labelled":
        state.corrections[position] = label
        return
    if kind in ("labelled", "corrected"):
        _forget(state, position)
        state.labels[position] = label
        state.batches.setdefault(position, round_)
        if (position, round_) in state.assigned:
            state.treated[position] = state.assigned[position, round_]
    elif position not in state.labels:  # what a labelled row was before no longer matters
        _forget(state, position)
        if kind == "asked":
            state.pending[position] = Asked(round_, place, at)
            if treatment is not None:
                state.treated[position] = state.assigned[position, round_] = treatment
        else:
            getattr(state, kind).add(position)


def _forget(state: State, position: int) -> None:
    state.pending.pop(position, None)
    for rows in (state.skipped, state.failed, state.expired):
        rows.discard(position)


def _expire(state: State, now: str, expiry_days: float | None) -> None:
    """Rows that have been out too long count as expired, even before the log says so."""
    if expiry_days is None:
        return
    limit = datetime.fromisoformat(now) - timedelta(days=expiry_days)
    for position, asked in list(state.pending.items()):
        if datetime.fromisoformat(asked.at) <= limit:
            _forget(state, position)
            state.expired.add(position)
