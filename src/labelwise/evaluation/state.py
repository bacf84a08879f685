"""Where every row stands: what has been asked, told, corrected or given up so far."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

# What becomes of a row that was asked and has no label; each is a part of `State`.
FATES = ("pending", "skipped", "failed", "expired")


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
    probability: float | None = None  # of this draw, given those before; 1 if chosen
    reason: str | None = None


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
    asked_in: dict[int, tuple[int, ...]] = field(default_factory=dict)  # rounds, by row
    treated: dict[int, float] = field(default_factory=dict)  # how rows were to be treated
    # The same by row and round: a row may be asked again, and treated otherwise.
    assigned: dict[tuple[int, int], float] = field(default_factory=dict)
    first_labels: dict[int, float] = field(default_factory=dict)  # of corrected pool rows
    lapsed: dict[int, Out] = field(default_factory=dict)  # expired rows, as they were out
    # Of the log as a whole; what happened says the rest.
    latest: str = field(default="", compare=False)  # time of the last event
    head: str = field(default="", compare=False)  # of the chain that binds it; "": of none

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
        events = list(events)
        copies = {name: copy(value) for name, value in vars(self).items()}
        state = replay(events, State(**copies))
        state.event, state.head = state.event + len(events), ""
        return state

    def at(self, now: str, expiry_days: float | None) -> "State":
        """The state at an instant: rows out for too long have expired, logged or not.

        Rows that expired by a clock that was ahead are out again once it is right.
        """
        if expiry_days is None:
            return self
        limit = datetime.fromisoformat(now) - timedelta(days=expiry_days)
        is_late = lambda out: datetime.fromisoformat(out.at) <= limit
        late = [row for row, out in self.pending.items() if is_late(out)]
        early = {row: out for row, out in self.lapsed.items() if not is_late(out)}
        if not late and not early:
            return self
        state = self.after(Event("expired", row) for row in late)
        _take_back(state, early)
        return replace(state, event=self.event, latest=self.latest, head=self.head)

    def asked(
        self, number: int, rows: Sequence[int], treated: Sequence[float] | None
    ) -> "State":
        """The state once a round is out."""
        return replace(self.after(sent_out(number, rows, treated)), round=number)

    def told(self, labels: Mapping[int, float], number: int | None = None) -> "State":
        """The state once these labels have come, put down to a round."""
        came = [
            Event("labelled", row, round=number, label=label) for row, label in labels.items()
        ]
        return self.after(came)


def sent_out(
    number: int,
    rows: Sequence[int],
    treated: Sequence[float] | None,
    probabilities: Sequence[float] | None = None,
) -> list[Event]:
    """What happens to the rows of a round when it is asked."""
    unknown = [None] * len(rows)
    each = zip(rows, treated or unknown, probabilities or unknown, strict=True)
    return [
        Event("asked", row, round=number, place=place, treatment=arm, probability=probability)
        for place, (row, arm, probability) in enumerate(each)
    ]


def replay(events: Iterable[Event], start: State) -> State:
    """Play events back onto `start`, which knows the counts and is changed."""
    for event in events:
        _happen(start, event)
    return start


def _take_back(state: State, early: Mapping[int, Out]) -> None:
    """Let rows be out that have not been out for too long."""
    for row, out in early.items():
        state.expired.discard(row)
        del state.lapsed[row]
        state.pending[row] = out


def _happen(state: State, event: Event) -> None:
    position, number = event.position, event.round
    state.latest = max(state.latest, event.at)
    if event.origin == "labelled":
        state.corrections[position] = event.label  # type: ignore[assignment]
        return
    if event.kind in ("labelled", "corrected"):
        _forget(state, position)
        if event.kind == "corrected" and position in state.labels:
            state.first_labels.setdefault(position, state.labels[position])
        state.labels[position] = event.label  # type: ignore[assignment]
        state.batches.setdefault(position, number)
        if (position, number) in state.assigned:
            state.treated[position] = state.assigned[position, number]  # type: ignore[index]
    elif position not in state.labels:  # what a labelled row was before no longer matters
        out = state.pending.get(position)
        _forget(state, position)
        if event.kind == "asked":
            _send_out(state, event)
        else:
            getattr(state, event.kind).add(position)
        if event.kind == "expired" and out is not None:
            state.lapsed[position] = out


def _send_out(state: State, event: Event) -> None:
    assert event.round is not None
    assert event.place is not None
    state.pending[event.position] = Out(event.round, event.place, event.at)
    earlier = state.asked_in.get(event.position, ())
    state.asked_in[event.position] = (*earlier, event.round)
    if event.treatment is not None:
        state.treated[event.position] = event.treatment
        state.assigned[event.position, event.round] = event.treatment


def _forget(state: State, position: int) -> None:
    state.pending.pop(position, None)
    state.lapsed.pop(position, None)
    for rows in (state.skipped, state.failed, state.expired):
        rows.discard(position)
