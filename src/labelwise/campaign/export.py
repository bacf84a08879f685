"""A campaign as tables, for other tools: rows with their states, or the history."""

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from labelwise.campaign.state import State

if TYPE_CHECKING:
    from labelwise.campaign.campaign import Campaign

EVENTS = """
    SELECT event, events.at, kind, id, events.round AS batch_id, place, probability, label,
           reason
    FROM events JOIN items USING (item) ORDER BY event
"""


def events_table(campaign: "Campaign") -> pd.DataFrame:
    """Every event, in order."""
    with campaign._store.read() as log:
        cursor = log.execute(EVENTS)
        names = [column[0] for column in cursor.description]
        table = pd.DataFrame(cursor.fetchall(), columns=names)
    return table.rename(columns={"id": campaign.settings.columns.id})


def rows_table(campaign: "Campaign") -> pd.DataFrame:
    """Every pool row: its state, the batch it was last asked in, its label, its columns."""
    state, columns = campaign._state(), campaign.settings.columns
    pool = campaign._tables["pool"]
    asked = _last_asked(campaign)
    rows = range(len(pool))
    table = pd.DataFrame(
        {
            columns.id: pool[columns.id],
            "state": [state_of(state, row) for row in rows],
            "batch_id": pd.array([asked.get(row, (None, None))[0] for row in rows], "Int64"),
            "probability": [asked.get(row, (None, np.nan))[1] for row in rows],
            columns.label: [state.labels.get(row, np.nan) for row in rows],
        }
    )
    rest = [column for column in pool if column not in (columns.id, columns.label)]
    return pd.concat([table, pool[rest]], axis=1)


def state_of(state: State, row: int) -> str:
    """What has become of a row, in one word."""
    for name in ("pending", "skipped", "failed", "expired"):
        if row in getattr(state, name):
            return name
    return "labelled" if row in state.labels else "available"


def read_rounds(campaign: "Campaign") -> list[dict]:
    """Every committed ask, with what its plan knew and expected."""
    with campaign._store.read() as log:
        rows = log.execute("SELECT round, at, content FROM rounds ORDER BY round").fetchall()
    return [{"round": number, "at": at, **json.loads(content)} for number, at, content in rows]


def _last_asked(campaign: "Campaign") -> dict[int, tuple[int, float]]:
    query = (
        "SELECT position, round, probability FROM events JOIN items USING (item) "
        "WHERE kind = 'asked' ORDER BY event"
    )
    with campaign._store.read() as log:
        return {row: (number, chance) for row, number, chance in log.execute(query)}
