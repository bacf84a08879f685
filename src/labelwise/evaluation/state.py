"""Where every row stands: what has been asked, told, corrected or given up so far."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple


class Event(NamedTuple):
    """One thing that happened to one row."""

    kind: str  # asked, labelled, corrected, skipped, failed or expired
    position: int  # of the row in its table
    origin: str = "pool"  # or "labelled": the table
    at: str = ""  # when, in the store's writing
    round: int | None = None  # that asked for it, or that its label is put down to
    place: int | None = None  # in the batch
    label: float | None = None
    treatment: float | None = None


class Out(NamedTuple):
    """A row that was asked and whose label has not come."""

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
    pending: dict[int, Out] = field(default_factory=dict)
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

    def after(self, events: Iterable[Event]) -> "State":
        """The state once these events have happened too; this one stays as it is."""
        state = deepcopy(self)
        for event in events:
            _happen(state, event)
            state.event += 1
        return state

    def asked(
        self, number: int, rows: Sequence[int], treated: Sequence[float] | None
    ) -> "State":
        """The state once a round is out."""
        arms = treated or [None] * len(rows)
        pairs = enumerate(zip(rows, arms, strict=True))
        out = [
            Event("asked", row, round=number, place=place, treatment=arm)
            for place, (row, arm) in pairs
        ]
        return replace(self.after(out), round=number)

    def told(self, labels: Mapping[int, float], number: int | None = None) -> "State":
        """The state once these labels have come, put down to a round."""
        came = [
            Event("labelled", row, round=number, label=label) for row, label in labels.items()
        ]
        return self.after(came)


def replay(events: Iterable[Event], start: State, now: str, expiry_days: float | None) -> State:
    """Play a log back onto `start`, which knows the counts; what is out too long expires."""
    for event in events:
        _happen(start, event)
    _expire(start, now, expiry_days)
    return start


def _happen(state: State, event: Event) -> None:
    position, number = event.position, event.round
    if event.origin == "labelled":
        state.corrections[position] = event.label  # type: ignore[assignment]
        return
    if event.kind in ("labelled", "corrected"):
        _forget(state, position)
        state.labels[position] = event.label  # type: ignore[assignment]
        state.batches.setdefault(position, number)
        if (position, number) in state.assigned:
            state.treated[position] = state.assigned[position, number]  # type: ignore[index]
    elif position not in state.labels:  # what a labelled row was before no longer matters
        _forget(state, position)
        if event.kind == "asked":
            _send_out(state, event)
        else:
            getattr(state, event.kind).add(position)


def _send_out(state: State, event: Event) -> None:
    assert event.round is not None
    assert event.place is not None
    state.pending[event.position] = Out(event.round, event.place, event.at)
    if event.treatment is not None:
        state.treated[event.position] = event.treatment
        state.assigned[event.position, event.round] = event.treatment


def _forget(state: State, position: int) -> None:
    state.pending.pop(position, None)
    for rows in (state.skipped, state.failed, state.expired):
        rows.discard(position)


def _expire(state: State, now: str, expiry_days: float | None) -> None:
    """Rows that have been out too long count as expired, even before the log says so."""
    if expiry_days is None:
        return
    limit = datetime.fromisoformat(now) - timedelta(days=expiry_days)
    for position, out in list(state.pending.items()):
        if datetime.fromisoformat(out.at) <= limit:
            _forget(state, position)
            state.expired.add(position)
