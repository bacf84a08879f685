"""Fits and estimates that are kept: each with its hash, as they could be computed again."""

import json
import sqlite3
from typing import Any

from labelwise import __version__
from labelwise.campaign.store.chain import hash_of
from labelwise.campaign.store.contract import Computed
from labelwise.evaluation.estimate import Estimate

FIT = "SELECT content, record FROM fits WHERE labels = ?"
ESTIMATE = """
    SELECT content, record, labels, at, event FROM estimates
    WHERE event <= (SELECT coalesce(max(event), 0) FROM events)
    ORDER BY event DESC, at DESC LIMIT 1
"""
KEEP_FIT = "INSERT OR REPLACE INTO fits (labels, content, record) VALUES (?, ?, ?)"
KEEP_ESTIMATE = """
    INSERT OR REPLACE INTO estimates (labels, content, record, event, at)
    VALUES (?, ?, ?, ?, ?)
"""


def read_fit(log: sqlite3.Connection, labels: str) -> Any:
    """The fit kept for these labels; None if there is none, or not as it was kept."""
    row = log.execute(FIT, (labels,)).fetchone()
    if row is None or row[1] != _record(labels, row[0]):
        return None
    return json.loads(row[0])


def keep_fit(log: sqlite3.Connection, labels: str, fit: Any) -> None:
    """Keep a fit, unless one that can be read is there."""
    if read_fit(log, labels) is None:
        text = json.dumps(fit)
        log.execute(KEEP_FIT, (labels, text, _record(labels, text)))


def read_estimate(log: sqlite3.Connection) -> Computed | None:
    """The estimate of the latest event; None if there is none, or not as it was kept."""
    row = log.execute(ESTIMATE).fetchone()
    if row is None or row[1] != _record(row[2], row[0]):
        return None
    stored = json.loads(row[0])
    version = str(stored.get("version", ""))
    return Computed(row[3], row[2], Estimate.from_dict(stored), row[4], version)


def keep_estimate(
    log: sqlite3.Connection, labels: str, event: int, estimate: Estimate, now: str
) -> None:
    """Keep an estimate, instead of an earlier one of the same labels."""
    text = json.dumps({**estimate.to_dict(), "version": __version__})
    log.execute(KEEP_ESTIMATE, (labels, text, _record(labels, text), event, now))


def bind_kept(log: sqlite3.Connection) -> None:
    """Give what was kept before there were hashes theirs."""
    for table in ("fits", "estimates"):
        rows = log.execute(f"SELECT labels, content FROM {table}").fetchall()
        records = [(_record(*row), row[0]) for row in rows]
        log.executemany(f"UPDATE {table} SET record = ? WHERE labels = ?", records)


def count_spoilt(log: sqlite3.Connection) -> int:
    """How many are not as they were kept."""
    spoilt = 0
    for table in ("fits", "estimates"):
        rows = log.execute(f"SELECT labels, content, record FROM {table}")
        spoilt += sum(record != _record(labels, text) for labels, text, record in rows)
    return spoilt


def _record(labels: Any, content: Any) -> str:
    return hash_of(f"{labels}{content}".encode())
