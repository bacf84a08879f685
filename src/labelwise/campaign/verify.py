"""Whether a campaign is as it was written, and what can be trusted if it is not."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwise.campaign.mended import FILE, is_altered
from labelwise.campaign.store.audit import Audit
from labelwise.campaign.store.chain import SHORT
from labelwise.campaign.store.folder import FolderStore
from labelwise.campaign.store.sqlite import SQLiteStore
from labelwise.errors import LabelwiseError, StoreError
from labelwise.tables.ids import as_ids
from labelwise.tables.text import plain

if TYPE_CHECKING:
    from labelwise.campaign.campaign import Campaign
    from labelwise.evaluation.estimate import Estimate

APART = 0.25  # standard deviations: a fit that begins elsewhere may end a little elsewhere


@dataclass(frozen=True)
class Verification:
    """What was found."""

    place: str
    head: str  # of the chain; empty if it is broken
    events: int  # that the log holds
    bound_since: str  # when hashes began
    bound_late: int  # events that had happened before, of which only this much is known
    problems: tuple[str, ...]
    trusted: tuple[str, ...]  # what is as it was written
    notes: tuple[str, ...]

    @property
    def sound(self) -> bool:
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        return {"sound": self.sound, **asdict(self)}

    def __str__(self) -> str:
        return "\n".join(self.lines)

    @property
    def lines(self) -> list[str]:
        """For people: the verdict first."""
        told = [f"wrong: {problem}" for problem in self.problems]
        if self.sound:
            told = [f"{self.place} is as it was written: {self.events} events"]
            told[0] += f", head {self.head[:SHORT]}."
        elif self.trusted:
            told.append(f"as it was written: {', '.join(self.trusted)}")
        if self.bound_late:
            told.append(
                f"{self.bound_late} events happened before {self.bound_since}, when hashes "
                "began: they are as they were then."
            )
        return told + [f"note: {note}" for note in self.notes]


def verify_folder(path: str | Path) -> Verification:
    """Look at a folder, even one that cannot be opened."""
    from labelwise.campaign.campaign import Campaign

    try:
        return verify(Campaign.open(path))
    except StoreError as refused:
        store = FolderStore(Path(path).absolute())
        audit = Audit(store).run()
        if not audit.problems:
            audit.problems.append(refused.what)
        return _told(audit)


def verify(campaign: "Campaign") -> Verification:
    """Look at everything, and compute again what was computed from the log."""
    store = campaign.store
    assert isinstance(store, SQLiteStore)
    audit = Audit(store).run()
    if not audit.problems:
        try:
            _check_tables(campaign, store)
            _check_estimate(campaign, audit)
            if is_altered(store):
                audit.notes.append(f"{FILE} is not what `refine` found, and is left aside")
        except LabelwiseError as error:
            audit.problems.append(f"what follows from the log: {error.what}")
        else:
            audit.trusted.append("what follows from the log")
    return _told(audit)


def _told(audit: Audit) -> Verification:
    return Verification(
        place=audit.store.place,
        head=audit.head,
        events=audit.events,
        bound_since=str(audit.start.get("at", "")),
        bound_late=int(audit.start.get("events", 0)),
        problems=tuple(" ".join(one.split()) for one in audit.problems),
        trusted=tuple(audit.trusted),
        notes=tuple(audit.notes),
    )


def _check_tables(campaign: "Campaign", store: SQLiteStore) -> None:
    """Rows are where the log says, under the ids that it knows."""
    rows, column = campaign.store.document("rows"), campaign.spec.columns.id
    joined = sum(len(one.ids) for one in campaign.joined)
    for name, table in campaign.tables.items():
        pool = name == "pool" or (name == "target" and campaign.spec.target == "pool")
        expected = rows[name] + (joined if pool else 0)
        if len(table) != expected:
            raise StoreError(f"the {name} table has {len(table)} rows, not {expected}")
    ids = as_ids(campaign.tables["pool"][column], "The pool table", "pool")
    items = (item for item in store.items.values() if item.origin == "pool")
    known = [item.id for item in sorted(items, key=lambda item: item.position)]
    if ids != known:
        raise StoreError("the rows of the pool table are not those of the log")


def _check_estimate(campaign: "Campaign", audit: Audit) -> None:
    """Make the estimate anew, without any fit that was kept, and hold what was kept to it.

    Answers rest on a kept fit, and `status` shows a kept estimate; one that another version
    made may differ, and is not shown as the present one.
    """
    evaluation, kept = campaign.evaluation(), campaign.store.estimate()
    anew, now = replace(evaluation, fitted=None).estimate(), evaluation.estimate()
    made_anew = f"made anew it is {_figures(anew)}"
    if _apart(now, anew):
        raise StoreError(f"the kept fit gives {_figures(now)}, {made_anew}")
    if kept is None or kept.labels != evaluation.state.fingerprint():
        return
    if _apart(kept.estimate, anew):
        shown = campaign.status().estimate
        told = f"the kept estimate says {_figures(kept.estimate)}, {made_anew}; the next "
        told += "`estimate` replaces it"
        if shown is not None and shown["current"]:
            raise StoreError(told)
        audit.notes.append(told)


def _apart(one: "Estimate", other: "Estimate") -> bool:
    """Whether value or interval differ by more than a fit that began elsewhere explains."""
    ours, theirs = ((each.value, *each.interval()) for each in (one, other))
    off = max(abs(mine - its) for mine, its in zip(ours, theirs, strict=True))
    return not off <= APART * max(other.std, 1e-12)


def _figures(estimate: "Estimate") -> str:
    low, high = map(plain, estimate.interval())
    return f"{plain(estimate.value)} ({low} to {high})"
