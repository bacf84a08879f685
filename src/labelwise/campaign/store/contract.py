"""What a campaign asks of the place it is kept in.

A store keeps one campaign: what it was made with, a log of events to which one can only add,
the rounds that were asked, and caches of what could be computed again. Which events make sense
is decided by `campaign.rules`, once for all stores.

There is one way to write into the log, `append`, and it takes a function. The store hands it
what the log holds, and adds what it returns, in one transaction. So a check and what follows
from it cannot come apart, whoever else writes; the rules stay pure functions that need no store
to be tested; and a database that gives up a transaction because it met another (as Postgres
does with serialisable ones) may run the function again, unlike a block of code.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from labelwise.evaluation.state import Event, State

if TYPE_CHECKING:
    from labelwise.evaluation.estimate import Estimate
    from labelwise.evaluation.round import Round

Result = TypeVar("Result")


class Item(NamedTuple):
    """A row that can be named: of which table, where in it, and the user's id."""

    origin: str  # "pool", or "labelled": from the start
    position: int
    id: str


@dataclass(frozen=True)
class Contents:
    """What a campaign is made with; none of it ever changes."""

    documents: Mapping[str, Any]  # JSON, by name
    items: Sequence[Item]  # ids are distinct
    tables: Mapping[str, bytes]  # Parquet, by name: labelled, pool, target


@dataclass(frozen=True)
class Snapshot:
    """What the log holds at one instant."""

    now: str  # that instant
    state: State  # as the log has it: the clock has let nothing expire
    items: Mapping[str, Item]  # by id: those asked for that exist
    examples: Sequence[str]  # a few ids that exist, for messages


@dataclass(frozen=True)
class Change(Generic[Result]):
    """What is to be added to the log, in order, and what the caller is told."""

    result: Result
    events: Sequence[Event] = ()  # the store fills in the time
    round: "Round | None" = None  # that the events send out


class Logged(NamedTuple):
    """An event as it stands in the log."""

    number: int  # in the order of the log; numbers may be left out
    id: str  # of its row
    event: Event


class Computed(NamedTuple):
    """An estimate that was kept."""

    at: str  # when
    labels: str  # the fingerprint of those it rests on
    estimate: "Estimate"
    event: int  # the last that it knew of
    version: str = ""  # of Labelwise, that computed it


class AbstractStore(ABC):
    """One campaign, for any number of processes and threads at once.

    Every method is one transaction: it happens whole or, if it raises or its process is killed,
    not at all. Readers see all of a transaction or nothing of it, and everything that was
    acknowledged before they began. Writers take turns, and wait for one another for about a
    minute. When a write returns, a power cut cannot undo it. Only caches (`fit`, `estimate`)
    may be lost, at any time; one that cannot be read counts as lost. Whatever else is read is
    as it was written: a document, table, event or round that was changed since is refused.

    What fails is a `StoreError`, by which nothing has changed; so is a document, table or round
    that cannot be read. Times are texts in ISO 8601, in UTC, and sort as they follow: if the
    clock went back, an event has the time of the one before it.
    """

    place: str  # where it is, as messages name it
    folder: Path | None  # where files about the campaign may stand; None: nowhere

    @abstractmethod
    def now(self) -> str:
        """The present, by the clock that the log goes by."""

    @abstractmethod
    def document(self, name: str) -> Any:
        """A document that the campaign was made with."""

    @abstractmethod
    def table(self, name: str) -> bytes:
        """A table that the campaign was made with."""

    @abstractmethod
    def state(self) -> State:
        """What has become of every row, as the log has it."""

    @abstractmethod
    def history(self) -> list[Logged]:
        """Every event, in order."""

    @abstractmethod
    def rounds(self) -> list["Round"]:
        """Every round that was asked, in order, as it was when it was appended."""

    @abstractmethod
    def append(
        self, ids: Collection[str], decide: Callable[[Snapshot], Change[Result]]
    ) -> Result:
        """Add to the log what `decide` makes of it, and return its result.

        The snapshot has the items of `ids`. Nobody writes between the snapshot and what is
        added. If `decide` raises, the error passes and nothing is added. It may be called more
        than once, so it must do nothing but decide. Events of a round refer to it, or to an
        earlier one; an event that makes no sense (of a row that does not exist, a label without
        a number) is refused with all that was to be added.
        """

    @abstractmethod
    def refined(self) -> str | None:
        """The hash of the file that `refine` wrote last; None if it wrote none."""

    @abstractmethod
    def bind_refined(self, record: str) -> None:
        """Bind the hash of a file that `refine` wrote, so that no other passes for it."""

    @abstractmethod
    def fit(self, labels: str) -> Any:
        """The fit kept for the labels of this fingerprint, in JSON; None if there is none."""

    @abstractmethod
    def estimate(self) -> Computed | None:
        """Of the estimates kept, that of the latest event; of several, the last kept.

        One of an event that the log does not hold counts as lost.
        """

    @abstractmethod
    def keep(self, labels: str, event: int, estimate: "Estimate", fit: Any = None) -> None:
        """Keep what was computed from the labels of this fingerprint, up to this event.

        A later estimate of the same labels replaces the earlier one; a readable fit stays.
        """

    @abstractmethod
    def backup(self, path: Path) -> Path:
        """Copy the campaign to a new folder, as it stands at one instant; where it is."""
