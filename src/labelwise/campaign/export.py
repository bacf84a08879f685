"""A campaign as tables, for other tools: rows with their states, or the history."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from labelwise.evaluation.state import State
from labelwise.tables.text import apart

if TYPE_CHECKING:
    from labelwise.campaign.campaign import Campaign

EVENTS = """
    SELECT event, events.at, kind, id, events.round AS batch_id, place, probability, label,
        reason, treatment
    FROM events JOIN items USING (item) ORDER BY event
"""


def read_events(campaign: "Campaign") -> pd.DataFrame:
    """Every event, in order, under our own names of columns."""
    with campaign.store.read() as log:
        cursor = log.execute(EVENTS)
        names = [column[0] for column in cursor.description]
        return pd.DataFrame(cursor.fetchall(), columns=names)


def events_table(campaign: "Campaign") -> pd.DataFrame:
    """The same with the user's name for the id."""
    events = read_events(campaign)
    column = campaign.spec.columns.id
    ours = {name: apart(name, {column}) for name in events.columns if name != "id"}
    return events.rename(columns={**ours, "id": column})


def rows_table(campaign: "Campaign") -> pd.DataFrame:
    """Every pool row: its state, the batch it was last asked in, its label, its columns."""
    state, columns = campaign.state(), campaign.spec.columns
    pool = campaign.tables["pool"]
    asked = _last_asked(campaign)
    rows = range(len(pool))
    taken = set(pool.columns) | {columns.label}
    ours = {
        "state": [state_of(state, row) for row in rows],
        "batch_id": pd.array([asked.get(row, (None, None))[0] for row in rows], "Int64"),
        "probability": [asked.get(row, (None, np.nan))[1] for row in rows],
    }
    if state.treated:
        ours["assigned"] = pd.array([state.treated.get(row) for row in rows], "Int64")
    table = pd.DataFrame(
        {
            columns.id: pool[columns.id],
            **{apart(name, taken): values for name, values in ours.items()},
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


def _last_asked(campaign: "Campaign") -> dict[int, tuple[int, float]]:
    query = (
        "SELECT position, round, probability FROM events JOIN items USING (item) "
        "WHERE kind = 'asked' ORDER BY event"
    )
    with campaign.store.read() as log:
        return {row: (number, chance) for row, number, chance in log.execute(query)}
