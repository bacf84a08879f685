"""Disks that give up: nothing changes, nothing is left half written."""

import os
from pathlib import Path

import pandas as pd
import pytest

from labelwise.errors import StoreError
from tests.campaign import small
from tests.campaign.refusals.cases import files_in, history


@pytest.fixture
def full_disk(monkeypatch):
    """No log can grow by another page."""
    from labelwise.campaign.store import folder as store

    connect = store._connect

    def limited(*arguments, **options):
        log = connect(*arguments, **options)
        log.execute("PRAGMA max_page_count = 1")  # SQLite takes the present size instead
        return log

    monkeypatch.setattr(store, "_connect", limited)


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("verb", ["ask", "skip", "correct"])
def test_a_full_disk_changes_nothing(verb, refused, begun, ids):
    before = history(begun)
    long = "because " * 2000
    action = {
        "ask": begun.ask,
        "skip": lambda: begun.skip(ids["available"], long),
        "correct": lambda: begun.correct({ids["labelled"]: 0.5}, long),
    }[verb]
    with refused(where="<tmp>/campaign", error=StoreError):
        action()
    assert history(begun) == before


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_leaves_no_new_log(refused, tmp_path):
    with refused(where="<tmp>/campaign", error=StoreError):
        small.make(tmp_path / "campaign")
    assert list(tmp_path.iterdir()) == []


def no_space(*_, **__):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("owner", "name"), [(os, "fsync"), (os, "rename"), (Path, "write_bytes")]
)
def test_a_disk_that_fails_leaves_no_new_campaign(owner, name, refused, tmp_path, monkeypatch):
    monkeypatch.setattr(owner, name, no_space)
    with refused(where="<tmp>/campaign", error=StoreError):
        small.make(tmp_path / "campaign")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("owner", "name", "ending"),
    [
        (os, "fsync", "csv"),
        (os, "replace", "csv.gz"),
        (Path, "write_bytes", "json"),
        (pd.DataFrame, "to_parquet", "parquet"),
    ],
)
def test_a_disk_that_fails_leaves_the_old_export(
    owner, name, ending, refused, begun, monkeypatch
):
    path = begun.path.parent / f"rows.{ending}"
    path.write_text("the old one")
    before = files_in(begun.path.parent)
    monkeypatch.setattr(owner, name, no_space)
    with refused(where=f"<tmp>/rows.{ending}", error=StoreError):
        begun.export(path)
    assert path.read_text() == "the old one"
    assert files_in(begun.path.parent) == before
