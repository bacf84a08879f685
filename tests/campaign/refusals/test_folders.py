"""Folders that are no campaign, or are damaged: refused, and left as they are."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labelwise.errors import StoreError
from tests.campaign import small
from tests.campaign.refusals.cases import Case, by_id, files_in


def edited(statement: str, *values: Any) -> Callable[[Path], None]:
    """Change the log behind its back."""

    def edit(folder: Path) -> None:
        log = sqlite3.connect(folder / "campaign.db")
        with log:
            log.execute(statement, values)
        log.close()

    return edit


def forged(change: Callable[[Path], None]) -> Callable[[Path], None]:
    """Change it, and its hashes too."""

    def forge(folder: Path) -> None:
        change(folder)
        small.bind_again(folder)

    return forge


def cut(share: float, extra: int = 0) -> Callable[[Path], None]:
    """Truncate the log."""

    def truncate(folder: Path) -> None:
        path = folder / "campaign.db"
        os.truncate(path, int(share * path.stat().st_size) + extra)

    return truncate


def scrambled(folder: Path) -> None:
    path = folder / "campaign.db"
    content = bytearray(path.read_bytes())
    content[4096:12288] = bytes(8192)
    path.write_bytes(content)


def another_database(folder: Path) -> None:
    (folder / "campaign.db").unlink()
    edited("CREATE TABLE events (event)")(folder)


def swapped(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def removed(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def linked(name: str) -> Callable[[Path], None]:
    """Move a part of the folder outside, with a link in its place."""

    def link(folder: Path) -> None:
        shutil.move(folder / name, folder.parent / "outside")
        (folder / name).symlink_to(folder.parent / "outside")

    return link


def document(name: str, change: Callable[[dict], dict]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        log = sqlite3.connect(folder / "campaign.db")
        query = "SELECT content FROM documents WHERE name = ?"
        content = change(json.loads(log.execute(query, (name,)).fetchone()[0]))
        log.close()
        edited("UPDATE documents SET content = ? WHERE name = ?", json.dumps(content), name)(
            folder
        )

    return edit


def without(key: str) -> Callable[[dict], dict]:
    return lambda found: {name: value for name, value in found.items() if name != key}


FOLDERS = [
    Case("no log", "<tmp>/campaign", removed("campaign.db")),
    Case("another database", "<tmp>/campaign/campaign.db", another_database),
    Case(
        "text for a log",
        "<tmp>/campaign/campaign.db",
        swapped("campaign.db", b"a,b\n1,2\n" * 512),
        StoreError,
    ),
    Case("a newer schema", "<tmp>/campaign", edited("PRAGMA user_version = 99")),
    Case("an empty log", "<tmp>/campaign/campaign.db", cut(0), StoreError),
    Case("a log cut after a page", "<tmp>/campaign/campaign.db", cut(0, 4096), StoreError),
    Case("a log without its end", "<tmp>/campaign/campaign.db", cut(1, -1), StoreError),
    Case("a log with a hole", "<tmp>/campaign/campaign.db", scrambled, StoreError),
    Case(
        "settings without a key",
        "settings.seed",
        forged(document("settings", without("seed"))),
        StoreError,
    ),
    Case(
        "settings with a strange key",
        "settings.colour",
        forged(document("settings", lambda found: found | {"colour": 1})),
        StoreError,
    ),
    Case(
        "settings that point outside",
        "settings.target",
        forged(document("settings", lambda found: found | {"target": "../../other"})),
        StoreError,
    ),
    Case(
        "settings that are no JSON",
        "<tmp>/campaign",
        forged(edited("UPDATE documents SET content = '{' WHERE name = 'settings'")),
        StoreError,
    ),
    Case(
        "no settings",
        "<tmp>/campaign",
        forged(edited("DELETE FROM documents WHERE name = 'settings'")),
        StoreError,
    ),
    Case(
        "a round without its plan",
        "<tmp>/campaign",
        forged(edited("INSERT INTO rounds VALUES (3, 'now', '{}')")),
        StoreError,
    ),
    Case(
        "an encoder without a key",
        "encoder",
        forged(document("encoder", without("codings"))),
        StoreError,
    ),
    Case(
        "no pool",
        "<tmp>/campaign/tables/pool.parquet",
        removed("tables/pool.parquet"),
        StoreError,
    ),
    Case(
        "a damaged pool",
        "<tmp>/campaign",
        forged(swapped("tables/pool.parquet", b"PAR1 and nothing")),
        StoreError,
    ),
    Case("a pool outside", "<tmp>/campaign", linked("tables/pool.parquet"), StoreError),
    Case("tables outside", "<tmp>/campaign", linked("tables"), StoreError),
]


@by_id(FOLDERS)
def test_a_damaged_folder_is_refused_and_left_alone(case, refused, begun):
    from labelwise.campaign.campaign import Campaign

    folder = begun.path
    case.action(folder)
    before = contents(folder)
    with refused(where=case.where, error=case.error):
        Campaign.open(folder).ask()
    assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {
        name: (folder / name).read_bytes()
        for name in files_in(folder)
        if (folder / name).is_file()
    }


@pytest.mark.parametrize("name", ["nowhere", "notes.txt"])
def test_what_is_no_campaign_is_not_opened(name, refused, tmp_path):
    from labelwise.campaign.campaign import Campaign

    (tmp_path / "notes.txt").write_text("hello")
    with refused(where=f"<tmp>/{name}"):
        Campaign.open(tmp_path / name)


def occupied(folder: Path) -> Path:
    (folder / "taken").mkdir()
    (folder / "taken" / "notes.txt").write_text("hello")
    return folder / "taken"


def a_file(folder: Path) -> Path:
    (folder / "taken").write_text("hello")
    return folder / "taken"


def under_a_file(folder: Path) -> Path:
    return a_file(folder) / "campaign"


def a_campaign(folder: Path) -> Path:
    (folder / "taken").mkdir()
    (folder / "taken" / "campaign.db").write_text("hello")
    return folder / "taken"


PLACES = [
    Case("a folder in use", "<tmp>/taken", occupied),
    Case("a file", "<tmp>/taken", a_file),
    Case("under a file", "<tmp>/taken/campaign", under_a_file),
    Case("a campaign", "<tmp>/taken", a_campaign),
]


@by_id(PLACES)
def test_a_campaign_is_not_made_where_something_is(case, refused, tmp_path):
    path = case.action(tmp_path)
    before = files_in(tmp_path)
    with refused(where=case.where):
        small.make(path)
    assert files_in(tmp_path) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_named(refused, tmp_path):
    tmp_path.chmod(0o500)
    with refused(where="<tmp>/campaign"):
        small.make(tmp_path / "campaign")
