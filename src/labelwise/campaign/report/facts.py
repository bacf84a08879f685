"""All that a report tells, read at one instant: later labels are left to the next report."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from labelwise.campaign.analysis import Analysis
from labelwise.campaign.check import Check
from labelwise.campaign.estimate import Estimate
from labelwise.campaign.export import read_events
from labelwise.campaign.ledger import Ledger
from labelwise.campaign.settings import Settings
from labelwise.campaign.state import State
from labelwise.campaign.status import budget_of
from labelwise.tables.ids import as_ids


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
        return as_ids(self.pool[column].iloc[rows], "The pool table", "pool") if rows else []


def read_facts(ledger: Ledger) -> Facts:
    """Read the state first: whatever comes after it is left out."""
    state = ledger.state()
    analysis = ledger.analysis(state)
    events = read_events(ledger)
    return Facts(
        settings=ledger.settings,
        state=state,
        analysis=analysis,
        estimate=ledger.estimate(analysis, state),
        checks=ledger.checks(state),
        rounds=[one for one in ledger.rounds() if one["round"] <= state.round],
        events=events[events["event"] <= state.event],
        shift=ledger.store.document("shift"),
        rows=ledger.store.document("rows"),
        budget=budget_of(ledger.settings, state),
        notes=list(ledger.encoder.notes),
        names=ledger.feature_names,
        pool=ledger.tables["pool"],
        made=ledger.store.now(),
    )
