"""All that a report tells, read at one instant: later labels are left to the next report."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from labelwise.campaign.analysis import Analysis
from labelwise.campaign.campaign import Campaign
from labelwise.campaign.check import Check
from labelwise.campaign.estimate import Estimate
from labelwise.campaign.export import events_table, read_rounds
from labelwise.campaign.settings import Settings
from labelwise.campaign.state import State
from labelwise.campaign.status import budget_of
from labelwise.tables.ids import as_ids

EVENT = ["event", "at", "kind", "id", "batch_id", "place", "probability", "label", "reason"]


@dataclass(frozen=True)
class Facts:
    """A campaign, as it stood when the report was made."""

    settings: Settings
    state: State
    analysis: Analysis
    estimate: Estimate
    checks: list[Check]
    rounds: list[dict[str, Any]]
    events: pd.DataFrame
    shift: dict[str, Any]
    rows: dict[str, int]  # of the tables
    budget: dict[str, int | None]  # total, spent, left
    notes: list[str]  # what was decided about columns
    names: list[str]  # of the features
    pool: pd.DataFrame
    made: str  # when

    @cached_property
    def bought_in_order(self) -> list[int]:
        """Pool rows with a label: those asked, in the order asked, then any others."""
        asked = (row for one in self.rounds for row in one["plan"]["rows"])
        known = [row for row in dict.fromkeys(asked) if row in self.state.labels]
        return known + sorted(set(self.state.labels) - set(known))

    def ids(self, rows: list[int]) -> list[str]:
        """The user's names of some pool rows."""
        column = self.settings.columns.id
        return as_ids(self.pool[column].iloc[rows], "The pool table") if rows else []


def read_facts(campaign: Campaign) -> Facts:
    """Read the state first: whatever comes after it is left out."""
    state = campaign._state()
    analysis = campaign._analysis(state)
    # The id column bears the user's name for it, which may be that of another column.
    events = events_table(campaign).set_axis(EVENT, axis=1)
    return Facts(
        settings=campaign.settings,
        state=state,
        analysis=analysis,
        estimate=campaign._estimate(analysis, state),
        checks=campaign._checks(state),
        rounds=[one for one in read_rounds(campaign) if one["round"] <= state.round],
        events=events[events["event"] <= state.event],
        shift=campaign._store.document("shift"),
        rows=campaign._store.document("rows"),
        budget=budget_of(campaign.settings, state),
        notes=list(campaign._encoder.notes),
        names=campaign._encoder.names,
        pool=campaign._tables["pool"],
        made=campaign._store.now(),
    )
