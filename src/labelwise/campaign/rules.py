"""What may be written into a campaign's log.

Each rule is a pure function: from what the log holds and what was told to the events that
follow. It checks everything first; a refusal changes nothing.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from labelwise.campaign.store.contract import Change, Item, Snapshot
from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Spec
from labelwise.evaluation.state import Event, State
from labelwise.tables.text import is_text, listed, unguard
from labelwise.tables.words import in_words

if TYPE_CHECKING:
    from labelwise.campaign.incoming import Incoming
    from labelwise.evaluation.round import Round

BEYOND = 2.0  # ranges of all labels so far, beyond them, and a label looks like a slip
# What to do with labels of rows that were never asked.
Unasked = Literal["refuse", "accept", "ignore"]
NOBODY_ASKED = "tell: nobody asked for {}, and labels one picks oneself can bias the answer"
MEANT = (
    "say unasked='accept' (--unasked accept) if you mean it, or 'ignore' to leave them aside"
)


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
    cancelled: tuple[str, ...] = ()  # ids of tasks that the labeller gave up on

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {
            "unusual": list(self.unusual),
            "cancelled": list(self.cancelled),
        }


def ask(snapshot: Snapshot, spec: Spec, seen: State, round_: "Round") -> Change[bool]:
    """Send out a round planned on `seen`; False if the rows one may ask have changed since."""
    state = _present(snapshot, spec)
    # Whatever the batch holds: a draw kept only because no row of it was taken meanwhile
    # would not have the probabilities that were written down.
    if state.round != seen.round or state.closed != seen.closed:
        return Change(False)
    # What time has done is written down once, by the next to ask.
    due = sorted(state.expired - snapshot.state.expired)
    expired = [Event("expired", row) for row in due]
    return Change(True, [*expired, *round_.events()], round_)


def begin(round_: "Round", labels: Mapping[int, float]) -> Change[None]:
    """A first round whose labels have come already."""
    came = [
        Event("labelled", row, round=round_.number, label=labels[row]) for row in round_.rows
    ]
    return Change(None, [*round_.events(), *came], round_)


def tell(
    snapshot: Snapshot,
    spec: Spec,
    incoming: "Incoming",
    extent: Mapping[str, float],
    unasked: str = "refuse",
) -> Change[Told]:
    """Add labels; the initial ones lie between `low` and `high` of the `extent`."""
    if unasked not in get_args(Unasked):
        raise InvalidInput.must("unasked", "be refuse, accept or ignore", f"it is {unasked!r}")
    state = _present(snapshot, spec)
    rows = _find(snapshot, incoming.labels, "tell")
    batches = _batches(state, rows, incoming.rounds)
    told = _by_row(rows, incoming.labels, "tell", spec)
    strange = dict.fromkeys(
        row for row in told if unasked != "accept" and _is_strange(state, row)
    )
    if unasked == "refuse":
        _refuse([row.id for row in strange], NOBODY_ASKED, MEANT)
    given = {row: label for row, label in told.items() if row not in strange}
    _check_treated(spec, state, given)
    _check_labels(state, given, spec)
    new = {row: label for row, label in given.items() if row.position not in state.labels}
    _check_arms(state, {row: batches[row] for row in new}, rows, incoming.treated)
    counts = {
        "known": len(given) - len(new),
        "empty": len(incoming.labels) - len(told),
        "ignored": len(told) - len(given),
    }
    events = [
        Event("labelled", row.position, round=batches[row], label=label)
        for row, label in new.items()
    ]
    result = _told(state, new, extent, cancelled=incoming.cancelled, **counts)
    return Change(result, events)


def _told(
    state: State, new: Mapping[Item, float], extent: Mapping[str, float], **more: Any
) -> Told:
    """What a `tell` changed, by what was new in it."""
    low, high = _usual(extent, state)
    out = state.skipped | state.failed | state.expired
    return Told(
        new=len(new),
        late=sum(row.position in out for row in new),
        pending=len(set(state.pending) - {row.position for row in new}),
        unusual=tuple(row.id for row, label in new.items() if not low <= label <= high),
        **more,
    )


def correct(
    snapshot: Snapshot, spec: Spec, labels: Mapping[str, float], reason: str | None
) -> Change[int]:
    """Replace labels, the old ones kept in the log; the number that changed."""
    _check_reason(reason)
    state = _present(snapshot, spec)
    given = _by_row(_find(snapshot, labels, "correct"), labels, "correct", spec)
    unlabelled = [
        row.id for row in given if row.origin == "pool" and row.position not in state.labels
    ]
    _refuse(unlabelled, "correct: there is no label yet for {}", "use tell for a first one")
    known = {"pool": state.labels, "labelled": state.corrections}
    events = [
        Event("corrected", row.position, row.origin, label=label, reason=reason)
        for row, label in given.items()
        if known[row.origin].get(row.position) != label
    ]
    return Change(len(events), events)


def skip(snapshot: Snapshot, spec: Spec, ids: Sequence[str], reason: str | None) -> Change[int]:
    """Rows that are never to be asked again; the number that were not skipped before."""
    _check_reason(reason)
    state = _present(snapshot, spec)
    rows = _unlabelled(snapshot, state, ids, "skip", "skipped")
    fresh = [row for row in rows if row.position not in state.skipped]
    return _set_aside(fresh, "skipped", reason)


def fail(snapshot: Snapshot, spec: Spec, ids: Sequence[str], reason: str | None) -> Change[int]:
    """Rows whose label could not be had this time; they may be asked again."""
    _check_reason(reason)
    state = _present(snapshot, spec)
    rows = _unlabelled(snapshot, state, ids, "fail", "failed")
    fresh = [row for row in rows if row.position not in state.failed]
    out = {*state.pending, *state.expired}
    idle = [row.id for row in fresh if row.position not in out]
    what = "fail: only rows that are out can fail, not {}"
    _refuse(idle, what, "to keep a row from being asked, skip it", "ids")
    return _set_aside(fresh, "failed", reason)


def _present(snapshot: Snapshot, spec: Spec) -> State:
    return snapshot.state.at(snapshot.now, spec.limits.expiry_days)


def _find(snapshot: Snapshot, ids: Iterable[str], verb: str) -> dict[str, Item]:
    """The rows of these ids, in order; a spreadsheet's guard before an id is seen through."""
    items = snapshot.items
    rows = {id_: items.get(id_) or items.get(unguard(id_)) for id_ in ids}
    _refuse(
        [id_ for id_, row in rows.items() if row is None],
        f"{verb}: there is no row with id {{}} in the pool",
        f"check the ids, which look like {listed(snapshot.examples)}",
        "labels" if verb in ("tell", "correct") else "ids",
    )
    return {id_: row for id_, row in rows.items() if row is not None}


def _by_row(
    rows: Mapping[str, Item], labels: Mapping[str, float | None], verb: str, spec: Spec
) -> dict[Item, float]:
    """Labels that are known, by row; an id may come both with its guard and without."""
    given: dict[Item, float] = {}
    for id_, row in rows.items():
        label = labels[id_]
        if label is not None and given.setdefault(row, label) != label:
            first, second = (in_words(one, spec.columns.classes) for one in (given[row], label))
            raise InvalidInput(
                f"{verb}: the table gives id {row.id} two labels ({first} and {second})",
                "leave one",
                where="labels",
            )
    return given


def _batches(
    state: State, rows: Mapping[str, Item], said: Mapping[str, int]
) -> dict[Item, int | None]:
    """The batch that a label is put down to: the one it says, or the last; None: unasked."""
    batches: dict[Item, int | None] = {}
    for id_, row in rows.items():
        asked = state.asked_in.get(row.position, ()) if row.origin == "pool" else ()
        number = said.get(id_)
        if number is not None and number not in asked:
            raise InvalidInput(
                f"tell: {row.id} was not asked in batch {number}",
                "correct the batch_id column, or leave it out",
                where="labels.batch_id",
            )
        if number is not None or row not in batches:
            batches[row] = number or max(asked, default=None)
    return batches


def _is_strange(state: State, row: Item) -> bool:
    """A pool row that was never asked and has no label either."""
    asked = row.position in state.asked_in or row.position in state.labels
    return row.origin == "pool" and not asked


def _check_treated(spec: Spec, state: State, given: Iterable[Item]) -> None:
    """Where treatments come with the batch, a label without one says nothing of an effect."""
    if spec.sampling.assign is None or spec.sampling.assign["mode"] == "given":
        return
    lost = [
        row.id for row in given if row.origin == "pool" and row.position not in state.treated
    ]
    what = "tell: nobody said how {} should be treated, as these rows were never asked"
    _refuse(lost, what, "leave them out")


def _check_labels(state: State, given: Mapping[Item, float], spec: Spec) -> None:
    remedy = "use correct to change it"
    initial = [row.id for row in given if row.origin == "labelled"]
    _refuse(initial, "tell: there was a label from the start for {}", remedy)
    word = lambda label: in_words(label, spec.columns.classes)
    conflicts = {
        row.id: f"{word(state.labels[row.position])}, now {word(label)}"
        for row, label in given.items()
        # Equal up to what a spreadsheet or another program may round away.
        if not math.isclose(state.labels.get(row.position, label), label, rel_tol=1e-9)
    }
    first = next(iter(conflicts.values()), "")
    _refuse(conflicts, f"tell: there is another label already for {{}} ({first})", remedy)


def _check_arms(
    state: State,
    batches: Mapping[Item, int | None],
    rows: Mapping[str, Item],
    treated: Mapping[str, float],
) -> None:
    """A label is believed to be of the treatment that its batch said."""
    arms = {row: treated[id_] for id_, row in rows.items() if id_ in treated}
    for row, number in batches.items():
        said = state.assigned.get((row.position, number or 0))
        if said is not None and arms.get(row, said) != said:
            raise InvalidInput(
                f"tell: {row.id} was to be treated {said:g} in batch {number}, but the table "
                f"says {arms[row]:g}",
                "mend the cell, or skip the row if it was treated so",
                where="labels",
            )


def _usual(extent: Mapping[str, float], state: State) -> tuple[float, float]:
    """Bounds beyond which a label looks like a slip: far outside of all labels before it."""
    seen = [*extent.values(), *state.labels.values()]
    if not seen:
        return -math.inf, math.inf
    low, high = min(seen), max(seen)
    room = BEYOND * (high - low) if high > low else math.inf
    return low - room, high + room


def _unlabelled(
    snapshot: Snapshot, state: State, ids: Sequence[str], verb: str, kind: str
) -> list[Item]:
    """The rows of these ids, once each, none of which may have a label."""
    rows = list(dict.fromkeys(_find(snapshot, ids, verb).values()))
    labelled = [row.id for row in rows if row.origin != "pool" or row.position in state.labels]
    what = f"{verb}: there is a label already for {{}}"
    _refuse(labelled, what, f"only rows without one can be {kind}", "ids")
    return rows


def _refuse(ids: Collection[str], what: str, remedy: str, where: str = "labels") -> None:
    """Refuse if there are any such ids, for which `what` has a place."""
    if ids:
        raise InvalidInput(what.format(listed(ids)), remedy, where=where)


def _check_reason(reason: str | None) -> None:
    if reason is not None and not is_text(reason):
        raise InvalidInput(
            f"The reason is no text that can be kept ({reason!r})",
            "write it anew",
            where="reason",
        )


def _set_aside(rows: Sequence[Item], kind: str, reason: str | None) -> Change[int]:
    return Change(len(rows), [Event(kind, row.position, reason=reason) for row in rows])
