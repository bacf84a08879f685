"""Where a campaign stands, read from its log alone: no tables, no JAX, at once."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from labelwise import __version__
from labelwise.campaign.store.chain import SHORT
from labelwise.campaign.store.contract import AbstractStore, Computed
from labelwise.evaluation.fates import Fates, fates_of
from labelwise.evaluation.spec import Spec
from labelwise.evaluation.state import FATES, State
from labelwise.tables.html import html_table
from labelwise.tables.text import plain

# A clock further off than this from the last event is pointed out.
BEHIND, AHEAD = timedelta(hours=1), timedelta(days=366)

WHOLE = "whole pool"  # where rows of tables are counted: that of which the pool is a sample


@dataclass(frozen=True)
class Status:
    """One look at a campaign."""

    name: str
    path: str
    created: str
    estimand: str  # the first
    policy: str
    draw: str | None  # what probabilities go by; None: the policy chooses
    rounds: int
    batch: int
    rows: dict[str, int]  # of the tables
    pool: dict[str, int]  # rows by what has become of them
    drawn: dict[str, int]  # rows that chance drew, by what has become of them
    budget: dict[str, int | None]  # total, spent, left
    stop: str | None  # when enough is known, in words
    out: list[dict[str, Any]]  # batches with rows that are out
    estimate: dict[str, Any] | None  # the last one computed, and whether it is the present one
    shift: dict[str, Any]  # the first look at the tables
    notes: list[str]  # what was decided about columns
    head: str  # of the log: two copies with the same one are the same
    events: int  # in the log
    clock: str | None  # what is odd about the time
    estimands: list[str]  # all
    by: list[str]  # columns whose groups are answered for too
    target: str  # "target", or "pool" if the pool is the target
    enough: str | None  # why to stop, as the last estimate had it
    sample: dict[str, Any] | None  # of what the pool is a sample, and how; None: of nothing

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def _repr_html_(self) -> str:
        left = "no limit" if self.budget["left"] is None else str(self.budget["left"])
        rows = [
            ("estimand", ", ".join(self.estimands)),
            ("initial labels", self.rows["labelled"]),
            *((f"pool rows {fate}", count) for fate, count in self.pool.items()),
            ("budget left", left),
        ]
        if self.estimate is not None:
            low, high = map(plain, self.estimate["interval"])
            said = f"{plain(self.estimate['value'])}, {low} to {high}"
            rows.append((self.estimate["title"], said))
        notes = [f"⚠ {warning}" for warning in (self.estimate or {}).get("warnings", [])]
        notes += [] if self.enough is None else [f"Enough is known: {self.enough}."]
        return html_table(f"Campaign {self.name}", rows, notes)


def read_status(store: AbstractStore, spec: Spec) -> Status:
    """Read it; the estimate first, so that no label it knows of is missing from the state."""
    computed = store.estimate()
    state = store.state().at(store.now(), spec.limits.expiry_days)
    fates = fates_of(store.rounds(), state)
    return Status(
        name=spec.name,
        path=store.place,
        created=spec.created,
        estimand=spec.question.estimand[0].rpartition(":")[2],
        policy=spec.sampling.policy["name"],
        draw=spec.sampling.by,
        rounds=state.round,
        batch=spec.sampling.batch,
        rows=store.document("rows"),
        pool=_by_fate(state),
        drawn=fates.to_dict(),
        budget=budget_of(spec, state),
        stop=None if spec.limits.stop is None else spec.limits.stop["words"],
        out=_batches_out(state),
        estimate=_estimate(computed, state, fates),
        shift=store.document("shift"),
        notes=store.document("encoder")["notes"],
        head=state.head[:SHORT],
        events=state.event,
        clock=odd_clock(store.now(), state.latest),
        estimands=[name.rpartition(":")[2] for name in spec.question.estimand],
        by=list(spec.question.groups),
        target=spec.target,
        enough=None if computed is None else computed.estimate.enough,
        sample=_sample(store, state),
    )


def _sample(store: AbstractStore, state: State) -> dict[str, Any] | None:
    """Of what the pool is a sample, and how many rows were chosen besides."""
    rows = store.document("rows")
    if WHOLE not in rows:
        return None
    return {**store.document("sample"), "joined": state.size - rows["pool"]}


def odd_clock(now: str, latest: str) -> str | None:
    """What is odd about the clock, given the time of the last event; None if nothing."""
    if not latest:
        return None
    ahead = datetime.fromisoformat(now) - datetime.fromisoformat(latest)
    if -BEHIND <= ahead <= AHEAD:
        return None
    days = abs(ahead.total_seconds()) / 86400.0
    which = "behind" if ahead < -BEHIND else "after"
    follows = (
        "events get its time, and rows that are out do not expire by it"
        if which == "behind"
        else "rows that are out expire by it; they are out again once it is set back"
    )
    return (
        f"The clock stands at {now[:16]}, {days:.3g} days {which} the last event of the log "
        f"({latest[:16]}): {follows}. Is the clock right?"
    )


def budget_of(spec: Spec, state: State) -> dict[str, int | None]:
    """Labels that may be bought, that are bought or on order, and that are left."""
    left = None if spec.limits.budget is None else max(spec.limits.budget - state.spent, 0)
    return {"total": spec.limits.budget, "spent": state.spent, "left": left}


def _by_fate(state: State) -> dict[str, int]:
    counts = {name: len(getattr(state, name)) for name in FATES}
    return {"available": state.available, "labelled": len(state.labels), **counts}


def _batches_out(state: State) -> list[dict[str, Any]]:
    rounds: dict[int, dict[str, Any]] = {}
    for row in state.pending_in_order():
        number, _, at = state.pending[row]
        batch = rounds.setdefault(number, {"batch_id": number, "rows": 0, "asked": at})
        batch["rows"] += 1
    return list(rounds.values())


KEPT = ("title", "value", "std", "level", "interval", "labels", "warnings", "headline")
KEPT += ("if_missing_at_random", "whatever_is_missing", "first_phase")


def _estimate(computed: Computed | None, state: State, fates: Fates) -> dict[str, Any] | None:
    if computed is None:
        return None
    answer = computed.estimate.to_dict()
    same_missing = computed.estimate.fates.missing == fates.missing
    same_labels = computed.labels == state.fingerprint()
    current = same_labels and same_missing and computed.version == __version__
    return {**{key: answer[key] for key in KEPT}, "at": computed.at, "current": current}
