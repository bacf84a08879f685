"""What may be written into the log. Each function checks everything first, then adds events
in one transaction; a refusal changes nothing."""

import json
import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from labelwise.campaign.store.sqlite import Store
from labelwise.campaign.store.state import read_state
from labelwise.errors import InvalidInput
from labelwise.evaluation.round import Round
from labelwise.evaluation.spec import Spec
from labelwise.evaluation.state import State
from labelwise.tables.text import listed, unguard

ADD = (
    "INSERT INTO events (at, kind, item, round, place, probability, label, reason) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
ADD_ASKED = (
    "INSERT INTO events (at, kind, item, round, place, probability, treatment) "
    "VALUES (?, 'asked', ?, ?, ?, ?, ?)"
)


BEYOND = 2.0  # ranges of all labels so far, beyond them, and a label looks like a slip
# What to do with labels of rows that were never asked.
Unasked = Literal["refuse", "accept", "ignore"]


@dataclass(frozen=True)
class Row:
    """An item of the log, found by its id."""

    item: int
    origin: str
    position: int
    id: str


@dataclass(frozen=True)
class Told:
    """What a `tell` changed."""

    new: int
    known: int  # the same label was there already
    empty: int  # rows without a label yet
    late: int  # among the new: rows that had expired, failed or been skipped
    ignored: int = 0  # rows that were never asked, left aside as one wished
    pending: int = 0  # rows that are still out
    unusual: tuple[str, ...] = ()  # ids of new labels far beyond all others

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"unusual": list(self.unusual)}


def add_round(store: Store, spec: Spec, seen: State, round_: Round) -> bool:
    """Commit an ask planned on `seen`; False if the rows one may ask have changed since."""
    with store.write() as log:
        now = store.now()
        state = read_state(log, now, spec.limits.expiry_days)
        # Whatever the batch holds: a draw kept only because no row of it was taken meanwhile
        # would not have the chances that were written down.
        if state.round != seen.round or state.closed != seen.closed:
            return False
        number, content = round_.number, json.dumps(round_.to_dict())
        _add_expired(log, now, state)
        log.execute("INSERT INTO rounds VALUES (?, ?, ?)", (number, now, content))
        if round_.draws is not None:
            packed = round_.draws.packed()
            log.execute("INSERT INTO predictions VALUES (?, ?)", (number, packed))
        arms = round_.treated or [None] * len(round_.rows)
        each = zip(_items_at(log, round_.rows), round_.probabilities, arms, strict=True)
        log.executemany(
            ADD_ASKED,
            [
                (now, item, number, place, probability, arm)
                for place, (item, probability, arm) in enumerate(each)
            ],
        )
    return True


def add_labels(
    store: Store,
    spec: Spec,
    labels: Mapping[str, float | None],
    rounds: Mapping[str, int] | None = None,
    treated: Mapping[str, float] | None = None,
    *,
    unasked: str = "refuse",
) -> Told:
    """Add labels by id; None means not yet."""
    if unasked not in get_args(Unasked):
        raise InvalidInput.must("unasked", "be refuse, accept or ignore", f"it is {unasked!r}")
    with store.write() as log:
        now = store.now()
        state = read_state(log, now, spec.limits.expiry_days)
        found = _find(log, labels, "tell")
        asked = _asked_rounds(log)
        _check_rounds(found, asked, rounds or {})
        told = _by_row(found, labels, "tell")
        strange = {row for row in told if _is_strange(state, asked, row)}
        given = {row: value for row, value in told.items() if row not in strange}
        if unasked == "accept":
            given = told
        elif unasked == "refuse" and strange:
            raise _unasked(row.id for row in told if row in strange)
        _check_treated(spec, state, given)
        _check_labels(state, given)
        new = {row: value for row, value in given.items() if row.position not in state.labels}
        said = {
            row: number for one, row in found.items() if (number := (rounds or {}).get(one))
        }
        batches = {row: said.get(row, _last(asked, row)) for row in new}
        arms = {row: treated[one] for one, row in found.items() if treated and one in treated}
        _check_arms(state, batches, arms)
        log.executemany(
            ADD,
            [
                (now, "labelled", row.item, batches[row], None, None, value, None)
                for row, value in new.items()
            ],
        )
        out = state.skipped | state.failed | state.expired
        low, high = _usual(log, state)
        return Told(
            new=len(new),
            known=len(given) - len(new),
            empty=len(labels) - len(told),
            late=sum(row.position in out for row in new),
            ignored=len(told) - len(given),
            pending=len(set(state.pending) - {row.position for row in new}),
            unusual=tuple(row.id for row, value in new.items() if not low <= value <= high),
        )


def add_corrections(
    store: Store, spec: Spec, labels: Mapping[str, float], reason: str | None
) -> int:
    """Replace labels by id, the old ones kept in the log; the number that changed."""
    with store.write() as log:
        now = store.now()
        state = read_state(log, now, spec.limits.expiry_days)
        given = _by_row(_find(log, labels, "correct"), labels, "correct")
        unlabelled = [
            row.id for row in given if row.origin == "pool" and row.position not in state.labels
        ]
        if unlabelled:
            raise InvalidInput(
                f"correct: there is no label yet for {listed(unlabelled)}",
                "use tell for a first one",
                where="labels",
            )
        changed = [row for row in given if _known(state, row) != given[row]]
        log.executemany(
            ADD,
            [
                (now, "corrected", row.item, None, None, None, given[row], reason)
                for row in changed
            ],
        )
    return len(changed)


def add_skips(store: Store, spec: Spec, ids: Sequence[str], reason: str | None) -> int:
    """Rows that are never to be asked again; the number that were not skipped before."""
    return _set_aside(store, spec, ids, "skipped", reason)


def add_failures(store: Store, spec: Spec, ids: Sequence[str], reason: str | None) -> int:
    """Rows whose label could not be had this time; they may be asked again."""
    return _set_aside(store, spec, ids, "failed", reason)


def _set_aside(store, spec, ids, kind, reason) -> int:
    verb = {"skipped": "skip", "failed": "fail"}[kind]
    with store.write() as log:
        now = store.now()
        state = read_state(log, now, spec.limits.expiry_days)
        rows = list(dict.fromkeys(_find(log, ids, verb).values()))
        labelled = [
            row.id for row in rows if row.origin != "pool" or row.position in state.labels
        ]
        if labelled:
            raise InvalidInput(
                f"{verb}: there is a label already for {listed(labelled)}",
                f"only rows without one can be {kind}",
                where="ids",
            )
        already = getattr(state, kind)
        fresh = [row for row in rows if row.position not in already]
        if kind == "failed":
            _check_out(state, fresh)
        log.executemany(
            ADD, [(now, kind, row.item, None, None, None, None, reason) for row in fresh]
        )
    return len(fresh)


def _check_out(state: State, rows: Sequence[Row]) -> None:
    idle = [
        row.id
        for row in rows
        if row.position not in state.pending and row.position not in state.expired
    ]
    if idle:
        raise InvalidInput(
            f"fail: only rows that are out can fail, not {listed(idle)}",
            "to keep a row from being asked, skip it",
            where="ids",
        )


def _check_labels(state, given: Mapping[Row, float]) -> None:
    initial = [row.id for row in given if row.origin == "labelled"]
    if initial:
        raise InvalidInput(
            f"tell: there was a label from the start for {listed(initial)}",
            "use correct to change it",
            where="labels",
        )
    conflicts = [
        row
        for row, value in given.items()
        if not _same(state.labels.get(row.position, value), value)
    ]
    if conflicts:
        row = conflicts[0]
        raise InvalidInput(
            f"tell: there is another label already for {listed(row.id for row in conflicts)} "
            f"({state.labels[row.position]}, now {given[row]})",
            "use correct to change it",
            where="labels",
        )


def _is_strange(state: State, asked: Mapping[int, set[int]], row: Row) -> bool:
    """A pool row that was never asked and has no label either."""
    return row.origin == "pool" and row.item not in asked and row.position not in state.labels


def _check_treated(spec: Spec, state: State, given: Iterable[Row]) -> None:
    """Where treatments come with the batch, a label without one says nothing of an effect."""
    if spec.sampling.assign is None or spec.sampling.assign["mode"] == "given":
        return
    lost = [
        row.id for row in given if row.origin == "pool" and row.position not in state.treated
    ]
    if lost:
        raise InvalidInput(
            f"tell: nobody said how {listed(lost)} should be treated, as these rows were "
            "never asked",
            "leave them out",
            where="labels",
        )


def _check_arms(
    state: State, batches: Mapping[Row, int | None], arms: Mapping[Row, float]
) -> None:
    """A label is believed to be of the treatment that its batch said."""
    for row, number in batches.items():
        said = state.assigned.get((row.position, number or 0))
        if said is not None and arms.get(row, said) != said:
            raise InvalidInput(
                f"tell: {row.id} was to be treated {said:g} in batch {number}, but the table "
                f"says {arms[row]:g}",
                "mend the cell, or skip the row if it was treated so",
                where="labels",
            )


def _unasked(ids: Iterable[str]) -> InvalidInput:
    return InvalidInput(
        f"tell: nobody asked for {listed(ids)}, and labels one picks oneself can bias the "
        "answer",
        "say unasked='accept' (--unasked accept) if you mean it, or 'ignore' to leave them "
        "aside",
        where="labels",
    )


def _check_rounds(found: Mapping[str, Row], asked, rounds: Mapping[str, int]) -> None:
    for one, row in found.items():
        number = rounds.get(one)
        if number is not None and number not in asked.get(row.item, set()):
            raise InvalidInput(
                f"tell: {row.id} was not asked in batch {number}",
                "correct the batch_id column, or leave it out",
                where="labels.batch_id",
            )


def _usual(log: sqlite3.Connection, state: State) -> tuple[float, float]:
    """Bounds beyond which a label looks like a slip: far outside of all labels before it."""
    query = "SELECT content FROM documents WHERE name = 'labels'"
    extent = json.loads(log.execute(query).fetchone()[0])
    low = min([extent["low"], *state.labels.values()])
    high = max([extent["high"], *state.labels.values()])
    room = BEYOND * (high - low) if high > low else math.inf
    return low - room, high + room


def _same(one: float, other: float) -> bool:
    """Equal up to what a spreadsheet or another program may round away."""
    return math.isclose(one, other, rel_tol=1e-9)


def _find(log: sqlite3.Connection, ids: Any, verb: str) -> dict[str, Row]:
    """The rows of these ids, in order; a spreadsheet's guard before an id is seen through."""
    found: dict[str, Row] = {}
    unknown = []
    query = "SELECT item, origin, position, id FROM items WHERE id = ?"
    for one in ids:
        row = log.execute(query, (one,)).fetchone()
        row = row or log.execute(query, (unguard(one),)).fetchone()
        if row:
            found[one] = Row(*row)
        else:
            unknown.append(one)
    if unknown:
        few = [row[0] for row in log.execute("SELECT id FROM items ORDER BY item LIMIT 3")]
        raise InvalidInput(
            f"{verb}: there is no row with id {listed(unknown)} in the pool",
            f"check the ids, which look like {listed(few)}",
            where="labels" if verb in ("tell", "correct") else "ids",
        )
    return found


def _by_row(
    found: Mapping[str, Row], labels: Mapping[str, float | None], verb: str
) -> dict[Row, float]:
    """Labels that are known, by row; an id may come both with its guard and without."""
    given: dict[Row, float] = {}
    for one, row in found.items():
        value = labels[one]
        if value is not None and given.setdefault(row, value) != value:
            raise InvalidInput(
                f"{verb}: the table gives id {row.id} two labels ({given[row]} and {value})",
                "leave one",
                where="labels",
            )
    return given


def _known(state: State, row: Row) -> float | None:
    known = state.labels if row.origin == "pool" else state.corrections
    return known.get(row.position)


def _last(asked: Mapping[int, set[int]], row: Row) -> int | None:
    """The batch that a label is put down to; None if nobody asked."""
    return max(asked[row.item]) if row.item in asked else None


def _asked_rounds(log: sqlite3.Connection) -> dict[int, set[int]]:
    asked: dict[int, set[int]] = {}
    for item, number in log.execute("SELECT item, round FROM events WHERE kind = 'asked'"):
        asked.setdefault(item, set()).add(number)
    return asked


def _items_at(log: sqlite3.Connection, rows: Sequence[int]) -> list[int]:
    query = "SELECT item FROM items WHERE origin = 'pool' AND position = ?"
    return [log.execute(query, (int(row),)).fetchone()[0] for row in rows]


def _add_expired(log: sqlite3.Connection, now: str, state: State) -> None:
    """Write down what time has done, once."""
    query = "SELECT kind FROM events WHERE item = ? ORDER BY event DESC LIMIT 1"
    rows = sorted(state.expired)
    due = [
        item
        for item in _items_at(log, rows)
        if log.execute(query, (item,)).fetchone()[0] == "asked"
    ]
    log.executemany(ADD, [(now, "expired", item, *[None] * 5) for item in due])
