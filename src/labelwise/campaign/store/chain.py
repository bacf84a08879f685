"""Hashes that bind a log: whoever changes what was written changes every hash after it.

The chain begins with the hash of what the campaign was made with: documents, items and tables.
Each round and each event adds a link: SHA-256 of its record, then of the head so far and that;
so does each `refine`, of the file that it wrote.
The last head stands for everything: two copies of a campaign that show the same one are the
same, and a copy whose chain holds the head of another is an older or a later one of it.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

SHORT = 12  # hex digits of a head that people hold against each other


class Link(NamedTuple):
    """One link, as it is stored."""

    number: int  # 0 is the start
    round: int | None  # that it binds ...
    event: int | None  # ... or the event; neither: the start, or a file of `refine`
    record: str  # SHA-256 of what it binds
    head: str  # SHA-256 of the head before, and of the record


class Altered(Exception):
    """What was written has been changed since; `after` is the last event that still holds."""

    def __init__(self, what: str, after: int = 0):
        super().__init__(what)
        self.what, self.after = what, after


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def record_of(value: Any) -> str:
    """The hash of a value that JSON can write, written in one way."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True)
    return hash_of(text.encode())


def record_of_items(items: Iterable[tuple[str, int, str]]) -> str:
    """The hash of origins, positions and ids, in order."""
    whole = hashlib.sha256()
    for origin, position, id_ in items:
        whole.update(f"{origin} {position} {len(id_)} {id_}\n".encode())
    return whole.hexdigest()


def record_of_round(
    number: int,
    at: str,
    content: str,
    predictions: bytes | None,
    joined: bytes | None = None,
) -> str:
    """The hash of a round as it is stored; of predictions and rows that joined, the hash's."""
    packed = None if predictions is None else hash_of(predictions)
    more = [] if joined is None else [hash_of(joined)]
    return record_of([number, at, content, packed, *more])


def next_head(head: str, record: str) -> str:
    return hash_of(f"{head}{record}".encode())


def grow(last: Link | None, records: Iterable[tuple[int | None, int | None, str]]):
    """Links for further records, each a round's number or an event's, and its hash."""
    head, number = ("", -1) if last is None else (last.head, last.number)
    for round_, event, record in records:
        number, head = number + 1, next_head(head, record)
        yield Link(number, round_, event, record, head)


class Written(NamedTuple):
    """What the log holds now, to be held to its chain."""

    start: str  # the hash of what stands about the start
    rounds: Iterable[int]  # numbers of those that are there
    events: Mapping[int, str]  # hashes by number
    refined: Mapping[int, str]  # hashes of files of `refine`, by link


def check_chain(links: Iterable[Link], written: Written) -> Link:
    """The last link, if every round and event is bound as it stands, in order."""
    last, rounds, events = None, set(written.rounds), dict(written.events)
    files, known = {0: written.start, **written.refined}, 0  # the last event that holds
    for link, record in _as_they_stand(links, files, rounds, events):
        expected = next_head("" if last is None else last.head, record or "")
        out_of_order = link.number != (0 if last is None else last.number + 1)
        if record != link.record or expected != link.head or out_of_order:
            raise Altered(f"{name_link(link)} is not as it was written", known)
        last, known = link, link.event or known
    if last is None:
        raise Altered("the chain of hashes is gone")
    left = [f"round {one}" for one in sorted(rounds)] + [f"event {one}" for one in events]
    left += [f"the file of link {one}" for one in files]
    if left:
        raise Altered(f"{left[0]} was added by another program", known)
    return last


def _as_they_stand(
    links: Iterable[Link], files: dict[int, str], rounds: set[int], events: dict[int, str]
) -> Iterator[tuple[Link, str | None]]:
    """Each link with the hash of what it binds as it stands now, which is taken away."""
    for link in links:
        if link.event is not None:
            yield link, events.pop(link.event, None)
        elif link.round is not None:
            # What a round holds is read, and held to its link, where rounds are.
            yield link, link.record if link.round in rounds else None
            rounds.discard(link.round)
        else:
            yield link, files.pop(link.number, None)


def name_link(link: Link) -> str:
    """What a link binds, in words."""
    if link.event is not None:
        return f"event {link.event}"
    if link.round is not None:
        return f"round {link.round}"
    return "what `refine` found" if link.number else "what the campaign was made with"
