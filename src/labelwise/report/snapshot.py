"""All that a report tells, read at one instant: later labels are left to the next report."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from labelwise.campaign.campaign import Campaign
from labelwise.campaign.export import read_events
from labelwise.campaign.status import budget_of
from labelwise.evaluation.belief_check import BeliefCheck
from labelwise.evaluation.check import Check
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.posterior import Posterior
from labelwise.evaluation.round import Round
from labelwise.evaluation.spec import Spec
from labelwise.evaluation.state import State
from labelwise.tables.ids import as_ids


@dataclass(frozen=True)
class Facts:
    """A campaign, as it stood when the report was made."""

    spec: Spec
    state: State
    analysis: Posterior
    estimate: Estimate
    checks: list[Check]
    rounds: list[Round]
    events: pd.DataFrame
    shift: dict[str, Any]
    rows: dict[str, int]  # of the tables
    budget: dict[str, int | None]  # total, spent, left
    notes: list[str]  # what was decided about columns
    names: tuple[str, ...]  # of the features
    pool: pd.DataFrame
    made: str  # when
    evaluation: Evaluation
    beliefs: dict[str, Any] | None = None  # how candidates did, if they were judged

    @cached_property
    def bought_in_order(self) -> list[int]:
        """Pool rows with a label: those asked, in the order asked, then any others."""
        asked = (row for round_ in self.rounds for row in round_.rows)
        known = [row for row in dict.fromkeys(asked) if row in self.state.labels]
        return known + sorted(set(self.state.labels) - set(known))

    def ids(self, rows: list[int]) -> list[str]:
        """Give the user's names of some pool rows."""
        column = self.spec.columns.id
        return as_ids(self.pool[column].iloc[rows], "The pool table", "pool") if rows else []


def read_facts(campaign: Campaign, beliefs: BeliefCheck | None = None) -> Facts:
    """Read the state first: whatever comes after it is left out."""
    state = campaign.state()
    evaluation = campaign.evaluation(state)
    events = read_events(campaign)
    return Facts(
        spec=campaign.spec,
        state=state,
        analysis=evaluation.posterior,
        estimate=campaign.answer(evaluation),
        checks=evaluation.checks(),
        rounds=list(evaluation.rounds),
        events=events[events["event"] <= state.event],
        shift=campaign.store.document("shift"),
        rows=campaign.store.document("rows"),
        budget=budget_of(campaign.spec, state),
        notes=list(campaign.encoder.notes),
        names=campaign.feature_names,
        pool=campaign.tables["pool"],
        made=campaign.store.now(),
        evaluation=evaluation,
        beliefs=None if beliefs is None else beliefs.to_dict(),
    )
