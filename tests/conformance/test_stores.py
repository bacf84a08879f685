"""What every store promises: a log, added to whole or not at all, that reads back the same."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from labelwise import __version__
from labelwise.campaign.store.contract import Change, Item
from labelwise.campaign.store.folder import FolderStore
from labelwise.errors import StoreError
from labelwise.evaluation.state import Event, Out, State
from tests.conformance.stores import CONTENTS, POOL, STORES, make_estimate, make_round

START = datetime(2024, 5, 1, 12, 30, 0, 250_000, tzinfo=UTC)
LABELS, OTHER = "a" * 64, "b" * 64  # fingerprints


class Clock:
    """Time that passes when told."""

    now = START

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=STORES)
def store(request, tmp_path, clock):
    return STORES[request.param](tmp_path, clock)


def add(store, *events, round_=None):
    """Append whatever the log holds."""
    return store.append([], lambda snapshot: Change(len(events), events, round_))


def send_out(store, number, rows=(3, 1)):
    round_ = make_round(number, rows)
    add(store, *round_.events(), round_=round_)
    return round_


def labelled(row, label=0.5, number=None):
    return Event("labelled", row, round=number, label=label)


def test_the_clock_writes_times_that_sort(store, clock):
    assert store.now() == "2024-05-01T12:30:00.250000+00:00"
    before = store.now()
    clock.now += timedelta(microseconds=1)
    assert before < store.now()
    assert datetime.fromisoformat(store.now()) == clock.now


def test_what_it_was_made_with_is_there(store):
    for name, document in CONTENTS.documents.items():
        assert store.document(name) == document
    for name, table in CONTENTS.tables.items():
        assert store.table(name) == table
    assert isinstance(store.place, str)
    assert store.folder is None or store.folder.is_dir()


def test_a_document_or_table_that_is_not_there_is_told_of(store):
    for read in (store.document, store.table):
        with pytest.raises(StoreError) as caught:
            read("target" if read == store.table else "colour")
        assert caught.value.remedy


def test_a_new_log_is_empty(store):
    assert store.state() == State(size=POOL)
    assert store.history() == store.rounds() == []
    assert store.estimate() is None
    assert store.fit(LABELS) is None


def test_events_read_back_as_they_were_with_the_time(store, clock):
    round_ = send_out(store, 1)
    clock.now += timedelta(days=1)
    later = (
        labelled(3, 1 / 3, 1),
        Event("corrected", 0, "labelled", label=-2.5, reason="typed wrong"),
        Event("skipped", 5, reason="torn, “é”"),
        Event("failed", 1),
        Event("expired", 1),
    )
    assert add(store, *later) == len(later)
    asked, added = START.isoformat(), clock.now.isoformat()
    expected = [event._replace(at=asked) for event in round_.events()]
    expected += [event._replace(at=added) for event in later]
    history = store.history()
    assert [logged.event for logged in history] == expected
    assert [logged.id for logged in history] == ["r3", "r1", "r3", "old", "r5", "r1", "r1"]
    numbers = [logged.number for logged in history]
    assert numbers == sorted(set(numbers))
    assert store.state().event == numbers[-1]


def test_the_state_is_the_log_played_back(store, clock):
    send_out(store, 1)
    add(store, labelled(3, 0.25, 1), Event("corrected", 0, "labelled", label=2.0))
    send_out(store, 2, (6, 3))
    clock.now += timedelta(days=365)  # nothing expires but by an event
    state = store.state()
    at = START.isoformat()
    assert (state.round, state.size) == (2, POOL)
    assert (state.labels, state.corrections) == ({3: 0.25}, {0: 2.0})
    assert state.pending == {1: Out(1, 1, at), 6: Out(2, 0, at)}
    assert state.expired == set()


def test_a_round_reads_back_as_it_was(store):
    sent = [send_out(store, 1), make_round(2, (2,), draws=False)]
    add(store, *sent[1].events(), round_=sent[1])
    for round_, before in zip(store.rounds(), sent, strict=True):
        assert replace(round_, at="", draws=None) == replace(before, draws=None)
        assert round_.at == START.isoformat()
    draws, before = store.rounds()[0].draws, sent[0].draws
    assert replace(draws, predictions=0) == replace(before, predictions=0)
    np.testing.assert_array_equal(draws.predictions, before.predictions)
    assert store.rounds()[1].draws is None


def test_a_snapshot_is_what_the_log_holds(store):
    send_out(store, 1)
    seen = []
    ids = ["r3", "old", "r99", "r3", "", "r3' OR '1'='1"]
    result = store.append(ids, lambda snapshot: seen.append(snapshot) or Change("done"))
    assert result == "done"
    (snapshot,) = seen
    assert snapshot.now == store.now()
    assert snapshot.state == store.state()
    assert snapshot.items == {"r3": Item("pool", 3, "r3"), "old": Item("labelled", 0, "old")}
    assert 0 < len(snapshot.examples) <= 5
    assert set(snapshot.examples) <= {item.id for item in CONTENTS.items}


def test_a_refusal_adds_nothing(store):
    class Refused(Exception):
        pass

    def refuse(snapshot):
        raise Refused

    for error, decide in ((Refused, refuse), (KeyboardInterrupt, interrupt)):
        with pytest.raises(error):
            store.append([], decide)
    assert store.state() == State(size=POOL)
    assert add(store, labelled(1)) == 1  # and the next one has its turn


def interrupt(snapshot):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "wrong",
    [
        Event("asked", 2, round=1),
        Event("asked", 2, round=99, place=0, probability=1.0),
        Event("labelled", 2),
        Event("skipped", 2, label=0.5),
        Event("lost", 2),
        Event("skipped", POOL),
        Event("skipped", 1, "target"),
    ],
    ids=["no place", "no round", "no label", "a label", "no kind", "no row", "no table"],
)
def test_an_event_that_makes_no_sense_takes_all_beside_it_down(wrong, store):
    send_out(store, 1)
    before = store.history()
    round_ = make_round(2, (8,))
    with pytest.raises(StoreError):
        add(store, labelled(4), *round_.events(), wrong, round_=round_)
    assert store.history() == before
    assert [kept.number for kept in store.rounds()] == [1]


def test_a_round_is_written_once(store):
    send_out(store, 1)
    with pytest.raises(StoreError):
        send_out(store, 1, (8,))
    assert store.rounds()[0].rows == (3, 1)
    assert len(store.history()) == 2


def test_nobody_writes_between_a_look_and_what_follows_from_it(store):
    """Each adds one to the last label; none may be lost."""
    writers, times = 4, 5
    barrier = threading.Barrier(writers)

    def count_on(snapshot):
        label = snapshot.state.labels.get(0, 0.0) + 1.0
        kind = "labelled" if label == 1.0 else "corrected"
        return Change(label, [Event(kind, 0, label=label)])

    def write(_):
        barrier.wait()
        return [store.append(["r0"], count_on) for _ in range(times)]

    with ThreadPoolExecutor(writers) as threads:
        told = [label for labels in threads.map(write, range(writers)) for label in labels]
    assert sorted(told) == list(range(1, writers * times + 1))
    assert [logged.event.label for logged in store.history()] == sorted(told)


def test_readers_see_all_of_a_write_or_nothing(store):
    stop, seen = threading.Event(), set()

    def look():
        while not stop.is_set():
            seen.add(len(store.state().labels))

    reader = threading.Thread(target=look)
    reader.start()
    for start in range(0, POOL, 4):
        add(store, *(labelled(row) for row in range(start, start + 4)))
    stop.set()
    reader.join()
    assert seen <= {0, 4, 8, 12}
    assert len(store.state().labels) == POOL


def test_only_one_of_many_commits_a_round(store):
    barrier = threading.Barrier(4)

    def commit(row):
        round_ = make_round(1, (row,))
        decide = lambda log: Change(
            log.state.round == 0, *((round_.events(), round_) if log.state.round == 0 else ())
        )
        barrier.wait()
        return store.append([], decide)

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(commit, range(4))) == [False, False, False, True]
    (round_,) = store.rounds()
    assert [logged.event.position for logged in store.history()] == list(round_.rows)


def test_a_fit_that_is_kept_stays(store):
    store.keep(LABELS, 1, make_estimate(), {"position": [0.1, 1e-300]})
    store.keep(LABELS, 1, make_estimate(), {"position": "another"})
    store.keep(OTHER, 1, make_estimate())
    assert store.fit(LABELS) == {"position": [0.1, 1e-300]}
    assert store.fit(OTHER) is None


def test_the_estimate_of_the_latest_event_is_the_one(store, clock):
    add(store, *map(labelled, range(7)))
    store.keep(LABELS, 7, make_estimate(0.5))
    store.keep(OTHER, 3, make_estimate(0.75))
    assert store.estimate() == (START.isoformat(), LABELS, make_estimate(0.5), 7, __version__)
    clock.now += timedelta(seconds=1)
    store.keep(LABELS, 7, make_estimate(0.125))  # replaces its own
    kept = (clock.now.isoformat(), LABELS, make_estimate(0.125), 7, __version__)
    assert store.estimate() == kept


def test_an_estimate_of_what_has_not_happened_counts_as_lost(store):
    add(store, labelled(1), labelled(2))
    store.keep(LABELS, 3, make_estimate(0.5))
    assert store.estimate() is None
    store.keep(OTHER, 2, make_estimate(0.75))
    assert store.estimate().labels == OTHER


def test_keeping_changes_nothing_of_the_log(store):
    send_out(store, 1)
    before = store.state(), store.history()
    store.keep(LABELS, 1, make_estimate(), {})
    assert (store.state(), store.history()) == before


def test_what_a_reader_holds_is_its_own(store):
    store.state().labels[0] = 1.0
    store.document("settings")["name"] = "changed"
    assert store.state().labels == {}
    assert store.document("settings")["name"] == "small"


def test_time_never_goes_back(store, clock):
    add(store, labelled(1))
    clock.now -= timedelta(days=400)
    add(store, labelled(2))
    assert [logged.event.at for logged in store.history()] == [START.isoformat()] * 2
    assert store.now() < START.isoformat()  # the clock itself is what it is


def test_the_head_tells_one_log_from_every_other(store):
    heads = [store.state().head]
    send_out(store, 1)
    heads.append(store.state().head)
    assert store.state().head == heads[-1]
    add(store, labelled(3, 0.25, 1))
    heads.append(store.state().head)
    add(store, labelled(1, 0.25, 1))
    heads.append(store.state().head)
    assert len(set(heads)) == 4
    assert {len(head) for head in heads} == {64}


def test_a_backup_is_the_campaign(store, tmp_path):
    send_out(store, 1)
    add(store, labelled(3, 0.25, 1))
    copy = FolderStore.open(store.backup(tmp_path / "copy"))
    assert copy.history() == store.history()
    assert copy.state().head == store.state().head
    assert [copy.table(name) for name in CONTENTS.tables] == list(CONTENTS.tables.values())
    assert copy.document("settings") == store.document("settings")
    add(copy, labelled(1, 0.5, 1))  # and goes its own way
    assert len(copy.history()) == len(store.history()) + 1
