"""Asking, telling, skipping, failing, correcting, waiting: any order keeps the log right."""

import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from labelwise.errors import InvalidInput
from tests.campaign import small

EXPIRY = timedelta(days=2)
pytestmark = pytest.mark.slow
FATES = ("labelled", "pending", "skipped", "failed", "expired")


class Clock:
    """Time that passes when told."""

    def __init__(self):
        self.now = datetime(2024, 5, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Model:
    """The same rules, written down as plainly as can be."""

    def __init__(self, ids):
        self.fate = dict.fromkeys(ids, "new")
        self.asked_at: dict[str, datetime] = {}
        self.labels: dict[str, float] = {}
        self.rounds = 0

    def of(self, *fates: str) -> list[str]:
        return sorted(one for one, fate in self.fate.items() if fate in fates)

    def open_rows(self) -> list[str]:
        return self.of("new", "failed", "expired")

    def late_rows(self) -> list[str]:
        """Rows whose label may still come, though nobody waits for it."""
        return [one for one in self.of("skipped", "failed", "expired") if one in self.asked_at]

    def settle(self, now: datetime) -> None:
        for one in self.of("pending"):
            if now - self.asked_at[one] >= EXPIRY:
                self.fate[one] = "expired"

    def label(self, one: str, value: float) -> None:
        self.fate[one] = "labelled"
        self.labels[one] = value


class Life(RuleBasedStateMachine):
    """A campaign beside its model."""

    folder: Path  # of the campaign that every example starts from

    @initialize()
    def start(self):
        self.place = Path(tempfile.mkdtemp())
        shutil.copytree(self.folder, self.place / "campaign")
        self.clock = Clock()
        self.model = Model(small.make_tables()["pool"]["id"])
        self.events: list[tuple] = []
        self.reopen()

    @rule()
    def reopen(self):
        from labelwise.campaign.campaign import Campaign
        from labelwise.campaign.store.folder import FolderStore

        self.campaign = Campaign(FolderStore.open(self.place / "campaign", self.clock))

    @precondition(lambda self: self.model.open_rows())
    @rule(n=st.integers(1, 4))
    def ask(self, n):
        free = self.model.open_rows()
        batch = self.campaign.ask(min(n, len(free)))
        assert len(batch) == min(n, len(free)) == batch["id"].nunique()
        assert set(batch["id"]) <= set(free)
        self.model.rounds += 1
        assert (batch["batch_id"] == self.model.rounds).all()
        for one in batch["id"]:
            self.model.fate[one] = "pending"
            self.model.asked_at[one] = self.clock.now

    @rule(data=st.data())
    def tell_some(self, data):
        """Labels that are due, late, or told before, and some that are not there yet."""
        due, late = self.model.of("pending"), self.model.late_rows()
        candidates = [*due, *late, *self.model.of("labelled")]
        if not candidates:
            return
        chosen = data.draw(st.lists(st.sampled_from(candidates), unique=True, min_size=1))
        blank = data.draw(st.sets(st.sampled_from(chosen)))
        given = {
            one: None if one in blank else self.model.labels.get(one, small.label_of(one))
            for one in chosen
        }
        told = self.campaign.tell(given)
        fresh = [one for one in chosen if one not in blank and one not in self.model.labels]
        assert (told.new, told.empty) == (len(fresh), len(blank))
        assert told.known == len(chosen) - len(fresh) - len(blank)
        assert told.late == len(set(fresh) & set(late))
        for one in fresh:
            self.model.label(one, small.label_of(one))

    @precondition(lambda self: self.model.labels)
    @rule(data=st.data())
    def tell_another(self, data):
        """One label that contradicts takes the good ones beside it down too."""
        one = data.draw(st.sampled_from(sorted(self.model.labels)))
        good = {other: small.label_of(other) for other in self.model.of("pending")[:1]}
        with pytest.raises(InvalidInput, match="another label already"):
            self.campaign.tell({**good, one: 1.0 - self.model.labels[one] / 2})

    @precondition(lambda self: set(self.model.of("new")) - set(self.model.asked_at))
    @rule(data=st.data(), meant=st.booleans())
    def tell_unasked(self, data, meant):
        one = data.draw(st.sampled_from(self.model.of("new")))
        if not meant:
            with pytest.raises(InvalidInput, match="nobody asked for"):
                self.campaign.tell(small.labels_of([one]))
            return
        assert self.campaign.tell(small.labels_of([one]), unasked="accept").new == 1
        self.model.label(one, small.label_of(one))

    @rule(data=st.data())
    def skip(self, data):
        one = data.draw(st.sampled_from(sorted(self.model.fate)))
        if one in self.model.labels:
            with pytest.raises(InvalidInput, match="a label already"):
                self.campaign.skip(one)
            return
        assert self.campaign.skip([one, one]) == (self.model.fate[one] != "skipped")
        self.model.fate[one] = "skipped"

    @rule(data=st.data())
    def fail(self, data):
        one = data.draw(st.sampled_from(sorted(self.model.fate)))
        fate = self.model.fate[one]
        if fate in ("new", "labelled", "skipped"):
            with pytest.raises(InvalidInput, match=r"can fail|a label already"):
                self.campaign.fail(one)
            return
        assert self.campaign.fail([one, one]) == (fate != "failed")
        self.model.fate[one] = "failed"

    @rule(data=st.data(), value=st.sampled_from([0.25, 0.75]))
    def correct(self, data, value):
        one = data.draw(st.sampled_from(sorted(self.model.fate)))
        if one not in self.model.labels:
            with pytest.raises(InvalidInput, match="no label yet"):
                self.campaign.correct({one: value})
            return
        assert self.campaign.correct({one: value}) == (self.model.labels[one] != value)
        self.model.labels[one] = value

    @rule(days=st.sampled_from([0.5, 1.0, 2.0]))
    def wait(self, days):
        self.clock.now += timedelta(days=days)
        self.model.settle(self.clock.now)

    @invariant()
    def counts_agree(self):
        status = self.campaign.status()
        counts = {fate: len(self.model.of(fate)) for fate in FATES}
        assert status.pool == {"available": len(self.model.open_rows()), **counts}
        assert status.rounds == self.model.rounds
        assert status.budget["spent"] == counts["labelled"] + counts["pending"]
        assert sorted(self.campaign.pending()["id"]) == self.model.of("pending")

    @invariant()
    def every_label_is_there(self):
        from labelwise.campaign.export import rows_table

        rows = rows_table(self.campaign).set_index("id")
        assert rows["y"].dropna().to_dict() == self.model.labels

    @invariant()
    def the_log_only_grows(self):
        events = small.dump(self.campaign.path)["events"]
        assert events[: len(self.events)] == self.events
        self.events = events

    def teardown(self):
        if hasattr(self, "place"):
            shutil.rmtree(self.place)


def test_any_order_of_events_agrees_with_the_model(tmp_path):
    small.make(tmp_path / "campaign", budget=None, expiry_days=2.0)
    life = type("Life", (Life,), {"folder": tmp_path / "campaign"})
    run_state_machine_as_test(
        life,
        settings=settings(
            max_examples=25,
            stateful_step_count=15,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
