"""What one may try who knows SQL, files and hashes: it is refused, or told."""

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from labelwise.campaign.store.folder import LOG
from labelwise.campaign.store.kept import bind_kept
from labelwise.campaign.verify import verify_folder
from labelwise.errors import StoreError
from tests.campaign import small
from tests.campaign.conftest import open_campaign
from tests.campaign.test_altered import BY_SQL, forge

ANSWERS = ("credible", "design", "combined")


def cut_short(folder: Path, place: Path) -> Path:
    """A copy whose last event stood in the write-ahead file, which somebody deleted."""
    keeper = sqlite3.connect(folder / LOG)
    keeper.execute("SELECT * FROM events").fetchall()
    open_campaign(folder).skip("r8")
    short = Path(shutil.copytree(folder, place))
    keeper.close()
    (short / f"{LOG}-wal").unlink()
    (short / f"{LOG}-shm").unlink(missing_ok=True)
    return short


@pytest.mark.parametrize("how", ["a label", "a reason", "a time", "no skip", "one more"])
def test_an_altered_history_is_not_exported(how, begun, tmp_path):
    forge(begun.path, *BY_SQL[how])
    with pytest.raises(StoreError, match="altered"):
        open_campaign(begun.path).export(tmp_path / "events.csv", history=True)
    assert not (tmp_path / "events.csv").exists()


def test_a_backup_does_not_hide_that_the_log_lost_its_end(begun, tmp_path):
    short = cut_short(begun.path, tmp_path / "short")
    with pytest.raises(StoreError, match="its end is gone"):
        open_campaign(short).backup(tmp_path / "copy")
    with pytest.raises(StoreError, match="its end is gone"):
        open_campaign(short).export(tmp_path / "events.csv", history=True)
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("how", ["a round", "no predictions", "an id", "the seed"])
def test_a_backup_of_an_altered_log_is_refused(how, begun, tmp_path):
    forge(begun.path, *BY_SQL[how])
    with pytest.raises(StoreError, match="altered"):
        begun.backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("inside", ["copy", "batches/copy", "tables/copy"])
def test_a_backup_does_not_stand_in_what_it_copies(inside, begun, refused):
    (begun.path / "batches").mkdir()
    with refused(where=f"<tmp>/campaign/{inside}"):
        begun.backup(begun.path / inside)
    assert not list(begun.path.rglob("*copy*"))


def test_a_backup_minds_no_batch_that_comes_and_goes(begun, tmp_path, monkeypatch):
    """Somebody asks meanwhile: a file in the making has another name a moment later."""
    batches = begun.path / "batches"
    batches.mkdir()
    for name in ("kept.csv", "gone.csv", ".kept.csv.abcd1234"):
        (batches / name).write_text("id,y\n")
    os.symlink(batches / "nowhere", batches / "dangling.csv")
    os.mkfifo(batches / "pipe.csv")
    copy = shutil.copy2

    def copy_or_lose(source, *more, **options):
        if Path(source).name == "gone.csv":
            os.unlink(source)
        return copy(source, *more, **options)

    monkeypatch.setattr(shutil, "copy2", copy_or_lose)
    made = begun.backup(tmp_path / "copy")
    assert [file.name for file in (made / "batches").iterdir()] == ["kept.csv"]


MEDDLE = """
    CREATE TRIGGER {name} AFTER INSERT ON events WHEN NEW.label IS NOT NULL
    BEGIN UPDATE events SET label = 0.0 WHERE event = NEW.event; END
"""


@pytest.mark.parametrize("name", ["helper", "events_stay"])
def test_code_in_the_database_does_not_change_what_is_told(name, begun):
    forge(begun.path, MEDDLE.format(name=name))
    before = small.dump(begun.path)["events"]
    with pytest.raises(StoreError, match="meddle"):
        begun.tell(small.labels_of(begun.pending()["id"]))
    assert small.dump(begun.path)["events"] == before
    assert any(name in problem for problem in verify_folder(begun.path).problems)


def test_an_event_that_is_written_otherwise_than_meant_is_refused(begun, monkeypatch):
    """Even if the code that changes it is not seen."""
    monkeypatch.setattr("labelwise.campaign.store.reading._check_own", lambda log: None)
    out = small.labels_of(begun.pending()["id"])
    forge(begun.path, MEDDLE.format(name="helper"))
    with pytest.raises(StoreError, match="as it was meant"):
        begun.tell(out)


def test_a_log_cannot_be_made_to_look_as_if_it_never_had_hashes(begun):
    forge(
        begun.path,
        "UPDATE events SET label = 0.999 WHERE kind = 'labelled'",
        "DROP TABLE chain",
        "DROP TABLE start",
        "ALTER TABLE fits DROP COLUMN record",
        "ALTER TABLE estimates DROP COLUMN record",
        "PRAGMA user_version = 4",
    )
    with pytest.raises(StoreError, match="the chain of hashes is gone"):
        open_campaign(begun.path)
    assert not verify_folder(begun.path).sound


def test_another_campaign_in_its_place_is_not_taken_for_it(begun):
    """An open campaign knows tables and settings; the labels of another do not fit them."""
    begun.estimate()
    small.make(begun.path.with_name("other"), seed=11)
    shutil.rmtree(begun.path)
    begun.path.with_name("other").rename(begun.path)
    for use in (begun.estimate, begun.status, lambda: begun.skip("r7")):
        with pytest.raises(StoreError, match="another campaign has taken its place"):
            use()
    assert open_campaign(begun.path).verify().sound


def test_what_another_user_left_keeps_nobody_from_making_a_campaign(tmp_path, monkeypatch):
    left, look = tmp_path / ".campaign.abcd1234", Path.iterdir
    left.mkdir()

    def iterdir(path):
        if path == left:
            raise PermissionError(13, "Permission denied")
        return look(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    small.make(tmp_path / "campaign")
    assert left.is_dir()


def forge_kept(folder: Path, table: str, change, **columns) -> None:
    """Change what was kept, together with its hash."""
    log = sqlite3.connect(folder / LOG)
    for labels, content in log.execute(f"SELECT labels, content FROM {table}").fetchall():
        new = json.dumps(change(json.loads(content)))
        log.execute(f"UPDATE {table} SET content = ? WHERE labels = ?", (new, labels))
    for name, value in columns.items():
        log.execute(f"UPDATE {table} SET {name} = ?", (value,))
    bind_kept(log)
    log.commit()
    log.close()


def narrower(stored: dict) -> dict:
    """The same value, and an interval of no width."""
    sure = {"std": 1e-6, "quantiles": [stored["value"]] * len(stored["quantiles"])}
    return (
        stored | sure | {name: narrower(stored[name]) for name in ANSWERS if stored.get(name)}
    )


def higher(stored: dict) -> dict:
    raised = {"value": stored["value"] + 7.0}
    return (
        stored | raised | {name: higher(stored[name]) for name in ANSWERS if stored.get(name)}
    )


@pytest.mark.parametrize("change", [narrower, higher])
def test_an_estimate_forged_with_its_hash_is_found_by_verify(change, begun):
    begun.estimate()
    # As if it were of an earlier event, after which no label came.
    forge_kept(begun.path, "estimates", change, event=1)
    assert begun.status().estimate["current"]
    (problem,) = verify_folder(begun.path).problems
    assert "the kept estimate says" in problem
    begun.estimate()
    assert verify_folder(begun.path).sound


def test_an_estimate_of_another_version_is_not_shown_as_the_present_one(begun):
    begun.estimate()
    forge_kept(begun.path, "estimates", lambda one: narrower(one) | {"version": "0.0.9"})
    assert not begun.status().estimate["current"]
    found = verify_folder(begun.path)
    assert found.sound
    assert any("the kept estimate says" in note for note in found.notes)


def test_an_estimate_forged_for_the_future_is_not_shown(begun):
    expected = begun.estimate()
    forge_kept(begun.path, "estimates", narrower, event=1_000_000)
    assert begun.status().estimate is None
    begun.estimate()
    assert begun.status().estimate["std"] == pytest.approx(expected.std, rel=1e-9)


@pytest.mark.parametrize("content", [{"kernel": "rbf"}, [1], "x", {"variance": "much"}])
def test_a_kept_fit_that_means_nothing_is_made_anew(content, begun):
    expected = begun.estimate().value
    forge_kept(begun.path, "fits", lambda _: content)
    assert open_campaign(begun.path).estimate().value == pytest.approx(expected, rel=1e-9)
    assert verify_folder(begun.path).sound


def test_a_kept_fit_runs_no_code(begun, tmp_path):
    """Whoever hands on a folder could else let it run what he likes."""
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nModel = dict\n")
    expected, path = begun.estimate().value, f"{tmp_path / 'evil.py'}:Model"
    own = {"own": path, "options": {}, "members": 2, "seed": 0, "labels": "", "noise": 1.0}
    forge_kept(begun.path, "fits", lambda fit: fit | own)
    assert open_campaign(begun.path).estimate().value == pytest.approx(expected, rel=1e-9)
    assert not (tmp_path / "ran").exists()


def test_a_fit_forged_to_be_surer_is_found_by_verify(begun):
    begun.estimate()
    forge_kept(begun.path, "fits", lambda fit: fit | {"variance": 1e-4, "noise": 1e-4})
    (problem,) = verify_folder(begun.path).problems
    assert "the kept fit gives" in problem
