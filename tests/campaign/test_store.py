"""The log: migrated whole, only ever added to, and read the same way by everyone."""

import json
import sqlite3
import threading
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

import labelwise as lw
from labelwise.campaign.export import events_table, rows_table
from labelwise.campaign.store import sqlite as stores
from labelwise.campaign.store.contract import Contents, Item
from labelwise.campaign.store.folder import LOG, FolderStore
from labelwise.errors import StoreError
from tests.campaign import small
from tests.campaign.conftest import open_campaign

ITEMS = [Item("pool", 0, "a"), Item("pool", 1, "b"), Item("labelled", 0, "c")]
OLD = Contents({"settings": {"name": "old"}}, ITEMS, {})


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A log as the first version of the schema left it, with a row in it."""
    with monkeypatch.context() as patch:
        patch.setattr(stores, "VERSION", 1)
        FolderStore.create(tmp_path / "old", OLD)
        with FolderStore(tmp_path / "old").write() as log:
            log.execute("INSERT INTO rounds VALUES (1, 'then', '{}')")
    return tmp_path / "old"


def version_of(folder) -> int:
    with FolderStore(folder).read() as log:
        return log.execute("PRAGMA user_version").fetchone()[0]


def test_an_old_log_is_migrated_with_its_data(old):
    before = small.dump(old)
    assert version_of(old) == 1
    store = FolderStore.open(old)
    after = small.dump(old)
    assert version_of(old) == stores.VERSION == len(stores.STEPS)
    # Step 3 adds a column to events, empty for what was there.
    after["events"] = [row[:-1] for row in after["events"]]
    assert {name: after[name] for name in before} == before
    new = {"estimates", "fits", "predictions", "start", "chain", "joined", "refined"}
    assert set(after) - set(before) == new
    assert store.document("settings") == {"name": "old"}


def test_a_crash_in_a_step_leaves_the_old_version(old, monkeypatch, refused):
    before = small.dump(old)
    broken = stores.STEPS[1] + "INSERT INTO nowhere VALUES (1);"
    monkeypatch.setattr(stores, "STEPS", (stores.STEPS[0], broken))
    with refused(where=str(old / LOG), error=StoreError, places={"log": str(old / LOG)}):
        FolderStore.open(old)
    assert version_of(old) == 1
    assert small.dump(old) == before
    monkeypatch.undo()
    FolderStore.open(old)
    assert version_of(old) == stores.VERSION


def test_many_may_open_an_old_log_at_once(old):
    barrier, errors = threading.Barrier(8), []

    def open_it():
        barrier.wait()
        try:
            FolderStore.open(old)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert version_of(old) == stores.VERSION


def test_a_step_is_not_run_twice(old):
    FolderStore.open(old)
    FolderStore(old).migrate(1)  # as one does who saw version 1 before another migrated
    assert version_of(old) == stores.VERSION


@pytest.mark.parametrize("table", ["events", "rounds"])
@pytest.mark.parametrize("change", ["UPDATE {} SET at = 'never'", "DELETE FROM {}"])
def test_the_log_cannot_be_rewritten(table, change, begun):
    before = small.dump(begun.path)
    log = sqlite3.connect(begun.path / LOG)
    with pytest.raises(sqlite3.IntegrityError, match="the log is append-only"):
        log.execute(change.format(table))
    log.close()
    assert small.dump(begun.path) == before


@pytest.mark.parametrize(
    "values",
    [
        "('now', 'asked', 1, 1, NULL, NULL, NULL, NULL)",
        "('now', 'labelled', 1, NULL, NULL, NULL, NULL, NULL)",
        "('now', 'skipped', 1, NULL, NULL, NULL, 0.5, NULL)",
        "('now', 'lost', 1, NULL, NULL, NULL, NULL, NULL)",
        "('now', 'skipped', 999, NULL, NULL, NULL, NULL, NULL)",
        "('now', 'asked', 1, 999, 0, 1.0, NULL, NULL)",
    ],
)
def test_an_event_that_makes_no_sense_is_not_stored(values, begun, refused):
    columns = "at, kind, item, round, place, probability, label, reason"
    with (
        refused(where="<tmp>/campaign/campaign.db", error=StoreError),
        begun.store.write() as log,
    ):
        log.execute(f"INSERT INTO events ({columns}) VALUES {values}")


def test_a_transaction_is_whole_or_nothing(begun):
    def interrupted():
        with begun.store.write() as log:
            log.execute("INSERT INTO rounds VALUES (99, 'now', '{}')")
            raise KeyboardInterrupt

    before = small.dump(begun.path)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert small.dump(begun.path) == before


def test_a_commit_waits_until_the_disk_has_it(tmp_path):
    """Only a power cut would show it otherwise, so SQLite is asked what it does."""
    FolderStore.create(tmp_path / "new", OLD)
    store = FolderStore.open(tmp_path / "new")
    for opened in (store.write, store.read):  # a setting of each connection, not of the file
        with opened() as log:
            # 2 is FULL: with a write-ahead log, less does not sync at every commit.
            assert log.execute("PRAGMA synchronous").fetchone()[0] >= 2


def test_waiting_for_another_process_ends_with_a_sentence(begun, monkeypatch, refused):
    monkeypatch.setattr(stores, "PATIENCE", 0.1)
    other = sqlite3.connect(begun.path / LOG, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with refused(where="<tmp>/campaign", error=StoreError):
        begun.skip("r0")
    assert begun.status().pool["skipped"] == 1  # reading needs no turn
    other.execute("ROLLBACK")
    other.close()
    assert begun.skip("r0") == 1


def test_telling_again_changes_nothing(campaign):
    batch = campaign.ask()
    labels = small.labels_of(batch["id"])
    none = {"new": 0, "known": 0, "empty": 0, "late": 0, "ignored": 0, "pending": 0}
    none |= {"unusual": [], "cancelled": []}
    assert campaign.tell(labels).to_dict() == {**none, "new": 3}
    before = small.dump(campaign.path)
    assert campaign.tell(labels).to_dict() == {**none, "known": 3}
    assert small.dump(campaign.path) == before


def test_labels_come_in_any_order_and_in_parts(campaign):
    batch = campaign.ask()
    ids = list(batch["id"])
    told = campaign.tell({ids[2]: 0.5, ids[0]: None})
    assert (told.new, told.empty) == (1, 1)
    assert list(campaign.pending()["id"]) == ids[:2]
    pd.testing.assert_frame_equal(campaign.pending(), batch.head(2))


@pytest.mark.parametrize("cells", [(0.5, None), (None, 0.5), (None, 0.5, None), (0.5, 0.5)])
def test_an_empty_cell_says_nothing_of_a_label_beside_it(cells, begun):
    one = begun.pending()["id"].iloc[0]
    told = begun.tell(pd.DataFrame({"id": [one] * len(cells), "y": cells}))
    assert (told.new, told.empty, told.pending) == (1, 0, 0)
    assert rows_table(begun).set_index("id").loc[one, "y"] == 0.5


def test_corrections_keep_the_history(begun):
    one = events_table(begun).query("kind == 'labelled'")["id"].iloc[0]
    assert begun.correct({one: 0.25}, "misread") == 1
    assert begun.correct({one: 0.25}) == 0
    assert begun.correct({one: 0.75}) == 1
    told = events_table(begun).query(f"id == {one!r} and kind != 'asked'")
    assert list(told["kind"]) == ["labelled", "corrected", "corrected"]
    assert list(told["label"]) == [small.label_of(one), 0.25, 0.75]
    assert list(told["reason"].fillna("")) == ["", "misread", ""]
    assert rows_table(begun).set_index("id").loc[one, "y"] == 0.75


def test_a_corrected_label_stays_in_its_batch_and_its_check(begun):
    before, (first, _) = begun.state(), begun.rounds()
    rows = first.rows
    assert before.batches == dict.fromkeys(rows, 1)
    one = events_table(begun).query("kind == 'labelled'")["id"].iloc[0]
    begun.correct({one: 0.25})
    after = begun.state()
    assert after.batches == before.batches
    (check,) = begun.checks()
    assert (check.round, check.labels) == (1, 3)
    # The mean squared error in units of what was foreseen, with the label as it is now.
    reasons = zip(rows, first.plan.reasons, strict=True)
    errors = [(after.labels[row] - told.mean) / told.std for row, told in reasons]
    assert check.score == pytest.approx(sum(error**2 for error in errors) / 3, rel=1e-12)
    assert 0.25 in after.labels.values()


def test_a_label_that_was_told_unasked_is_in_no_batch_when_corrected(begun):
    begun.tell({"r0": 0.5}, unasked="accept")
    begun.correct({"r0": 0.25})
    state = begun.state()
    assert (state.labels[0], state.batches[0]) == (0.25, None)
    assert [check.labels for check in begun.checks()] == [3]


def test_an_initial_label_can_be_corrected(campaign):
    before = campaign.estimate()
    assert campaign.correct({"r1000": 0.99}, "typed wrong") == 1
    assert campaign.state().corrections == {0: 0.99}
    after = campaign.estimate()
    assert after.value != before.value
    assert after.initial == small.LABELLED
    assert after.bought == 0
    reopened = open_campaign(campaign.path)
    assert reopened.estimate().value == after.value


@pytest.fixture
def timed(fresh_folder, tmp_path):
    """A campaign whose clock the test moves."""
    import shutil

    from labelwise.campaign.campaign import Campaign

    shutil.copytree(fresh_folder, tmp_path / "campaign")
    now = [datetime(2024, 1, 1, tzinfo=UTC)]
    return Campaign(FolderStore.open(tmp_path / "campaign", lambda: now[0])), now


def test_rows_expire_after_their_days_and_not_before(timed):
    campaign, now = timed
    campaign.ask()
    now[0] += timedelta(days=30) - timedelta(seconds=1)
    assert campaign.status().pool["pending"] == 3
    now[0] += timedelta(seconds=1)
    status = campaign.status()
    assert (status.pool["pending"], status.pool["expired"], status.out) == (0, 3, [])
    assert status.budget["spent"] == 0


def test_expiry_is_written_down_once_by_the_next_ask(timed):
    campaign, now = timed
    campaign.ask()
    now[0] += timedelta(days=31)
    campaign.status()
    assert "expired" not in set(events_table(campaign)["kind"])
    campaign.ask(1)
    campaign.ask(1)
    assert list(events_table(campaign)["kind"]).count("expired") == 3


def test_a_late_label_counts(timed):
    campaign, now = timed
    ids = list(campaign.ask()["id"])
    now[0] += timedelta(days=31)
    told = campaign.tell(small.labels_of(ids[:2]))
    assert (told.new, told.late) == (2, 2)
    assert campaign.status().pool["labelled"] == 2
    assert campaign.status().pool["expired"] == 1


def test_a_row_asked_again_takes_a_label_of_either_batch(timed):
    campaign, now = timed
    first = campaign.ask(1)
    one = first["id"].iloc[0]
    campaign.skip([other for other in small.make_tables()["pool"]["id"] if other != one])
    now[0] += timedelta(days=31)
    again = campaign.ask(1)
    assert again["id"].iloc[0] == one
    assert again["batch_id"].iloc[0] == 2
    assert campaign.tell(first.assign(y=0.5)).new == 1
    assert campaign.tell(again.assign(y=0.5)).known == 1


def test_a_label_told_unasked_is_marked_by_having_no_batch(begun):
    assert begun.tell({"r0": 0.5}, unasked="accept").new == 1
    row = events_table(begun).query("id == 'r0'").iloc[0]
    assert row["kind"] == "labelled"
    assert pd.isna(row["batch_id"])


def test_labels_nobody_asked_for_can_be_left_aside(begun):
    pending = str(begun.pending()["id"].iloc[0])
    told = begun.tell({"r0": 0.5, pending: 0.5}, unasked="ignore")
    assert (told.new, told.ignored) == (1, 1)
    assert "r0" not in set(events_table(begun)["id"])


def test_ids_may_be_numbers_and_come_back_as_numbers_or_texts(tmp_path):
    tables = small.make_tables()
    tables["pool"]["id"] = range(30)
    tables["labelled"]["id"] = range(100, 112)
    campaign = small.make(tmp_path / "campaign", **tables)
    one, two, three = campaign.ask()["id"]
    assert campaign.tell({int(one): 0.1, float(two): 0.2, str(three): 0.3}).new == 3


def test_the_table_of_rows_says_where_each_stands(begun):
    rows = rows_table(begun)
    pool = small.make_tables()["pool"]
    assert list(rows.columns) == [
        "id",
        "state",
        "batch_id",
        "probability",
        "y",
        "a",
        "b",
        "psi",
    ]
    assert list(rows["id"]) == list(pool["id"])
    counts = rows["state"].value_counts().to_dict()
    assert counts == {"available": 24, "labelled": 3, "skipped": 1, "failed": 1, "pending": 1}
    asked = rows[rows["state"] != "available"]
    assert sorted(asked["batch_id"]) == [1, 1, 1, 2, 2, 2]
    labelled = rows[rows["state"] == "labelled"].set_index("id")["y"]
    assert labelled.to_dict() == small.labels_of(labelled.index)
    assert rows["y"].notna().sum() == 3


def test_the_chances_of_random_draws_are_those_of_an_urn(begun):
    events = events_table(begun).query("kind == 'asked'")
    # A draw without replacement from n rows that are left has chance 1 / n.
    expected = [1 / 30, 1 / 29, 1 / 28, 1 / 27, 1 / 26, 1 / 25]
    assert list(events["probability"]) == pytest.approx(expected, rel=1e-12)
    assert list(events["place"]) == [0, 1, 2] * 2


def test_exported_files_hold_the_tables(begun, tmp_path):
    begun.export(tmp_path / "rows.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "rows.parquet"), rows_table(begun))
    begun.export(tmp_path / "events.json", history=True)
    events = json.loads((tmp_path / "events.json").read_text())
    assert [one["kind"] for one in events] == list(events_table(begun)["kind"])
    assert [one["label"] for one in events if one["kind"] == "labelled"] == [
        small.label_of(one["id"]) for one in events if one["kind"] == "labelled"
    ]


def test_rounds_keep_what_the_plan_knew(begun):
    first, second = begun.rounds()
    assert (first.number, second.number) == (1, 2)
    assert (first.event, second.event) == (0, 6)
    assert first.pending == ()
    assert first.estimate.bought == 0
    assert second.estimate.bought == 3


def test_a_campaign_is_not_made_over_another(begun, refused):
    before = small.dump(begun.path)
    with refused(where="<tmp>/campaign"):
        small.make(begun.path)
    assert small.dump(begun.path) == before


def test_two_who_make_the_same_campaign_do_not_mix(tmp_path, monkeypatch, refused):
    """The other one finishes while this one is still writing."""
    other = tmp_path / "other"
    small.make(other)

    fill = FolderStore.fill

    def slower(store, contents):
        fill(store, contents)
        other.rename(tmp_path / "campaign")

    monkeypatch.setattr(FolderStore, "fill", slower)
    with refused(where="<tmp>/campaign"):
        small.make(tmp_path / "campaign")
    assert [path.name for path in tmp_path.iterdir()] == ["campaign"]


def test_a_campaign_in_memory_says_the_same_as_one_in_a_folder(campaign, tmp_path, refused):
    memory = small.make(":memory:")
    for one in (campaign, memory):
        first = one.ask()
        one.tell(small.labels_of(first["id"]))
        one.skip(one.ask()["id"].iloc[0], "torn")
    pd.testing.assert_frame_equal(memory.pending(), campaign.pending())
    pd.testing.assert_frame_equal(rows_table(memory), rows_table(campaign))
    assert memory.estimate() == campaign.estimate()
    here = {"name": "", "path": "", "created": "", "head": ""}
    same = [one.status().to_dict() | here for one in (memory, campaign)]
    for status in same:
        del status["estimate"]["at"]
        status["out"] = [batch | {"asked": ""} for batch in status["out"]]
    assert same[0] == same[1]
    memory.export(tmp_path / "rows.csv")
    with refused(where="path"):
        memory.report()


@pytest.mark.parametrize("content", ["{", "{}", "[1]", "null"])
def test_an_estimate_that_cannot_be_read_counts_as_lost(content, begun):
    begun.estimate()
    log = sqlite3.connect(begun.path / LOG)
    with log:
        log.execute("UPDATE estimates SET content = ?", (content,))
        log.execute("UPDATE fits SET content = '{'")
    log.close()
    assert begun.status().estimate is None
    assert begun.store.fit(begun.state().fingerprint()) is None
    assert open_campaign(begun.path).estimate().bought == 3
    assert begun.status().estimate["current"]
    assert begun.store.fit(begun.state().fingerprint()) is not None


def test_status_needs_no_tables(begun):
    import shutil

    shutil.rmtree(begun.path / "tables")
    assert open_campaign(begun.path).status().pool["labelled"] == 3


def test_the_last_estimate_says_whether_labels_came_since(begun):
    begun.estimate()
    assert begun.status().estimate["current"]
    begun.tell(small.labels_of(begun.pending()["id"]))
    assert not begun.status().estimate["current"]


def test_columns_named_like_ours_are_kept_apart(tmp_path):
    extra = {"state": "north", "batch_id": 7, "probability": 0.5}
    tables = {name: table.assign(**extra) for name, table in small.make_tables().items()}
    campaign = small.make(tmp_path / "campaign", **tables)
    batch = campaign.ask()
    assert list(batch["batch_id"]) == [1] * len(batch)
    campaign.export(tmp_path / "rows.csv")
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert (rows["state"] == "north").all()
    assert set(rows["labelwise_state"]) == {"available", "pending"}
    assert not rows.columns.duplicated().any()


def test_a_campaign_stays_where_it_was_opened(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        small.make(tmp_path / name / "audit")
    monkeypatch.chdir(tmp_path / "one")
    campaign = lw.Campaign.open("audit")
    monkeypatch.chdir(tmp_path / "two")
    campaign.ask()
    assert lw.Campaign.open(tmp_path / "one" / "audit").status().rounds == 1
    assert lw.Campaign.open("audit").status().rounds == 0


def test_a_campaign_can_be_made_in_an_empty_folder_through_a_link(
    tmp_path, monkeypatch, refused
):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    small.make(tmp_path / "link")
    assert (tmp_path / "there" / LOG).exists()
    monkeypatch.chdir(tmp_path / "here")
    with refused(where="<tmp>/here"):
        small.make(".")
    assert list((tmp_path / "here").iterdir()) == []


def test_a_label_is_booked_to_the_batch_it_says(timed):
    campaign, now = timed
    first = campaign.ask(
        30, over_budget=True
    )  # the whole pool, so the next ask is for the same
    now[0] += timedelta(days=40)
    second = campaign.ask(30, over_budget=True)
    assert set(first["id"]) == set(second["id"])
    one = first.assign(y=first["id"].map(small.label_of)).head(1)
    campaign.tell(one)
    events = events_table(campaign).query("kind == 'labelled'")
    assert list(events["batch_id"]) == [1]
    assert [(check.round, check.labels) for check in campaign.checks()] == [(1, 1)]


def test_a_label_far_beyond_all_others_is_pointed_out(tmp_path):
    campaign = small.make(tmp_path / "campaign", label_range=None)
    first, second = campaign.ask(2)["id"]
    told = campaign.tell({first: 0.5, second: 40.0})
    assert told.unusual == (second,)
    assert told.pending == 0


def test_labels_of_any_size_are_told_apart(tmp_path, refused):
    campaign = small.make(tmp_path / "campaign", label_range=None)
    one = campaign.ask(1)["id"].iloc[0]
    campaign.tell({one: 1e-13})
    with refused(where="labels", remedy="use correct to change it"):
        campaign.tell({one: 9e-13})


def test_a_budget_can_be_passed_on_purpose_only(tmp_path, refused):
    campaign = small.make(tmp_path / "campaign", budget=3)
    campaign.ask()
    with refused(where="budget"):
        campaign.ask()
    assert len(campaign.ask(2, over_budget=True)) == 2


def test_columns_that_some_table_lacks_are_said_to_be_left_out(tmp_path):
    tables = small.make_tables()
    tables["pool"] = tables["pool"].assign(site="north")
    notes = small.make(tmp_path / "campaign", **tables).status().notes
    assert notes == [
        "Column 'site' is not in the labelled and the target table and is left out of the "
        "features."
    ]


def test_dates_in_a_csv_are_dates(tmp_path):
    tables = small.make_tables()
    for name, table in tables.items():
        days = pd.date_range("2024-01-01", periods=len(table)).strftime("%Y-%m-%d")
        table.assign(day=days).to_csv(tmp_path / f"{name}.csv", index=False)
    paths = {name: tmp_path / f"{name}.csv" for name in tables}
    campaign = small.make(tmp_path / "campaign", **paths)
    assert campaign.encoder.names == ["a", "b", "day"]


def test_whole_number_ids_come_back_as_numbers(tmp_path):
    tables = small.make_tables()
    for name in ("labelled", "pool"):
        ids = tables[name]["id"].str[1:]
        tables[name].assign(id=ids).to_csv(tmp_path / f"{name}.csv", index=False)
    paths = {name: tmp_path / f"{name}.csv" for name in ("labelled", "pool")}
    campaign = small.make(tmp_path / "campaign", **paths)
    batch = campaign.ask()
    assert batch["id"].dtype == "int64"
    assert campaign.tell(batch.assign(y=0.5, id=batch["id"].astype(float))).new == 3
