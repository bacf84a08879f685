"""Nothing is altered unseen: every change of log or tables from outside is found, and told."""

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from labelwise.campaign.campaign import Campaign
from labelwise.campaign.store.folder import LOG
from labelwise.campaign.verify import verify_folder
from labelwise.cli.app import app
from labelwise.errors import StoreError
from tests.campaign import small
from tests.campaign.conftest import open_campaign
from tests.recorded.campaigns import FOLDER

APPEND_ONLY = "SELECT name FROM sqlite_master WHERE type = 'trigger'"


def forge(folder: Path, *statements: str) -> None:
    """Change the log as one would who knows SQL and not the hashes."""
    log = sqlite3.connect(folder / LOG)
    for (name,) in log.execute(APPEND_ONLY).fetchall():
        log.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        assert log.execute(statement).rowcount != 0
    log.commit()
    log.close()


def reverse_pool(folder: Path) -> None:
    path = folder / "tables" / "pool.parquet"
    pd.read_parquet(path)[::-1].to_parquet(path, index=False)


def another_pool(folder: Path) -> None:
    other = small.make_tables()["pool"].assign(psi=0.5)
    other.to_parquet(folder / "tables" / "pool.parquet", index=False)


def other_log(folder: Path) -> None:
    """The log of a campaign with the same tables and other labels."""
    small.make(folder.parent / "other", seed=11)
    campaign = open_campaign(folder.parent / "other")
    campaign.tell(small.labels_of(campaign.ask(5)["id"]))
    shutil.copy(folder.parent / "other" / LOG, folder / LOG)


BY_SQL = {
    "a label": ["UPDATE events SET label = label + 0.25 WHERE kind = 'labelled'"],
    "a reason": ["UPDATE events SET reason = 'lost' WHERE kind = 'skipped'"],
    "a probability": ["UPDATE events SET probability = 0.9 WHERE event = 1"],
    "a time": ["UPDATE events SET at = '2031' || substr(at, 5) WHERE event = 2"],
    "no skip": ["DELETE FROM chain WHERE event = 10", "DELETE FROM events WHERE event = 10"],
    "no end": ["DELETE FROM chain WHERE event > 9", "DELETE FROM events WHERE event > 9"],
    "one more": [
        "INSERT INTO events (at, kind, item, label) VALUES ('2030', 'labelled', 25, 0.5)"
    ],
    "a round": ["UPDATE rounds SET content = replace(content, 'random', 'planned')"],
    "no round": [
        "DELETE FROM predictions WHERE round = 2",
        "DELETE FROM rounds WHERE round = 2",
    ],
    "no predictions": ["DELETE FROM predictions WHERE round = 1"],
    "an id": ["UPDATE items SET id = 'r99' WHERE id = 'r7'"],
    "a row of the pool": ["UPDATE items SET position = 77 WHERE id = 'r7'"],
    "the seed": [
        "UPDATE documents SET content = replace(content, '\"seed\": 3', '\"seed\": 4')"
    ],
}
BY_SQL |= {
    "the start's hashes": [
        "UPDATE start SET content = replace(content, '\"items\"', '\"itens\"')"
    ],
    "no JSON at the start": ["UPDATE start SET content = replace(content, '{', char(2))"],
    "nothing at the start": ["UPDATE start SET content = ''"],
}
BY_FILES = {
    "reversed": reverse_pool,
    "another pool": another_pool,
    "another log": other_log,
}


def alter(how: str, folder: Path) -> None:
    if how in BY_SQL:
        forge(folder, *BY_SQL[how])
    else:
        BY_FILES[how](folder)


def use(folder: Path) -> None:
    campaign = open_campaign(folder)
    campaign.tell({"r7": 0.5}, unasked="accept")
    campaign.estimate()


@pytest.mark.parametrize("how", [*BY_SQL, *BY_FILES])
def test_what_was_altered_is_not_used_and_verify_tells_it(how, begun):
    alter(how, begun.path)
    with pytest.raises(StoreError, match=r"altered|is not the one"):
        use(begun.path)
    found = verify_folder(begun.path)
    assert not found.sound
    assert all("\n" not in problem for problem in found.problems)


def test_a_whole_campaign_is_verified_and_its_head_stands_everywhere(begun):
    begun.estimate()
    found = begun.verify()
    assert found.sound, found
    assert found.events == 11
    assert found.bound_late == 0
    status, estimate = begun.status(), begun.estimate()
    assert estimate.head == found.head
    assert estimate.to_dict()["head"] == found.head
    assert status.head == found.head[:12]
    page = begun.report().read_text()
    assert status.head in page
    assert status.head in str(found)


def test_verify_says_which_events_still_hold(begun):
    forge(begun.path, "UPDATE events SET label = 0.123 WHERE event = 5")
    (problem,) = [one for one in verify_folder(begun.path).problems if "event 5" in one]
    assert problem.endswith("events up to 4 hold")
    assert "the pool table" in verify_folder(begun.path).trusted


def test_a_forged_fit_or_estimate_counts_as_lost(begun):
    expected = begun.estimate().value
    forge(
        begun.path,
        "UPDATE fits SET content = replace(content, '0.1', '0.9')",
        "UPDATE estimates SET content = replace(content, '0.', '7.')",
    )
    campaign = open_campaign(begun.path)
    assert campaign.status().estimate is None
    assert campaign.store.fit(campaign.state().fingerprint()) is None
    found = verify_folder(begun.path)
    assert found.sound
    assert any("void" in note for note in found.notes)
    assert campaign.estimate().value == pytest.approx(expected, rel=1e-9)
    assert campaign.status().estimate is not None


def test_a_damaged_page_of_what_was_kept_is_not_fatal(begun):
    expected = begun.estimate().value
    log = sqlite3.connect(begun.path / LOG)
    query = "SELECT rootpage FROM sqlite_master WHERE name = 'estimates'"
    page, size = log.execute(query).fetchone()[0], log.execute("PRAGMA page_size").fetchone()[0]
    log.close()
    with open(begun.path / LOG, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(range(256)) * (size // 256))
    campaign = open_campaign(begun.path)
    assert campaign.estimate().value == pytest.approx(expected, rel=1e-9)
    assert campaign.status().estimate is None
    assert not verify_folder(begun.path).sound


def test_a_log_without_its_write_ahead_file_is_told_of(begun):
    """As after a crash: the last commit stands in that file alone, and somebody deletes it."""
    keeper = sqlite3.connect(begun.path / LOG)
    keeper.execute("SELECT * FROM events").fetchall()
    begun.skip("r7")
    copy = shutil.copytree(begun.path, begun.path.with_name("crashed"))
    keeper.close()
    assert (copy / f"{LOG}-wal").stat().st_size > 0
    assert open_campaign(copy).status().pool["skipped"] == 2
    lost = shutil.copytree(begun.path, begun.path.with_name("lost"))
    keeper = sqlite3.connect(lost / LOG)
    keeper.execute("SELECT * FROM events").fetchall()
    open_campaign(lost).skip("r8")
    short = shutil.copytree(lost, begun.path.with_name("short"))
    keeper.close()
    (short / f"{LOG}-wal").unlink()
    (short / f"{LOG}-shm").unlink(missing_ok=True)
    with pytest.raises(StoreError, match="its end is gone"):
        open_campaign(short).status()
    assert any("its end is gone" in one for one in verify_folder(short).problems)


def test_a_head_that_was_not_written_is_no_loss(begun, monkeypatch):
    """A process killed between the commit and the head leaves an earlier one."""
    monkeypatch.setattr("labelwise.campaign.store.folder.write_head", os.times)
    with pytest.raises(TypeError):
        begun.skip("r7")
    monkeypatch.undo()
    assert open_campaign(begun.path).status().pool["skipped"] == 2
    assert open_campaign(begun.path).skip("r8") == 1


def test_a_missing_head_is_noted_and_written_anew(begun):
    (begun.path / "campaign.head").unlink()
    found = verify_folder(begun.path)
    assert found.sound
    assert any("campaign.head" in note for note in found.notes)
    begun.skip("r7")
    assert not verify_folder(begun.path).notes


def test_a_folder_of_an_earlier_version_is_bound_when_it_is_opened(tmp_path):
    folder = shutil.copytree(FOLDER, tmp_path / "old")
    before = small.dump(folder)
    campaign = Campaign.open(folder)
    found = verify_folder(folder)
    assert found.sound, found
    assert found.bound_late == found.events == len(before["events"])
    assert f"{found.events} events happened before" in str(found)
    head = campaign.state().head
    campaign.skip(str(campaign.tables["pool"]["id"].iloc[0]))
    assert campaign.state().head != head
    reverse_pool(folder)
    assert not verify_folder(folder).sound


def test_a_folder_that_is_no_campaign_is_refused_by_verify_too(tmp_path, refused):
    with refused(where="<tmp>/nothing"):
        verify_folder(tmp_path / "nothing")


def test_the_commands_say_the_same_with_exit_codes(begun, tmp_path):
    run = lambda *words: CliRunner().invoke(app, [str(word) for word in words])
    done = run("backup", begun.path, tmp_path / "copy", "--json")
    assert done.exit_code == 0, done.output
    head = begun.status().head
    assert json.loads(done.stdout) == {"folder": str(tmp_path / "copy"), "head": head}
    done = run("verify", tmp_path / "copy")
    assert done.exit_code == 0
    assert head in done.stdout
    assert head in run("status", begun.path).stdout
    assert head in run("estimate", begun.path).stdout
    reverse_pool(tmp_path / "copy")
    done = run("verify", tmp_path / "copy")
    assert done.exit_code == 1
    assert done.stdout.startswith("wrong: the pool table: ")
    found = json.loads(run("verify", tmp_path / "copy", "--json").stdout)
    assert (found["sound"], len(found["problems"])) == (False, 1)
    assert "every event" in found["trusted"]
