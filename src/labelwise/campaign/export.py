"""A campaign as tables: batches to label, rows with their states, the history."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from labelwise.campaign.labelstudio import BATCH
from labelwise.campaign.store.contract import AbstractStore
from labelwise.errors import StoreError
from labelwise.evaluation.joined import Joined
from labelwise.evaluation.round import Plan
from labelwise.evaluation.state import FATES, State
from labelwise.tables.text import apart
from labelwise.tables.words import in_words

if TYPE_CHECKING:
    from labelwise.campaign.campaign import Campaign

EVENT = ["event", "at", "kind", "id", "round", "place", "probability", "label", "reason"]
EVENT += ["treatment"]
MANY = 10  # numbered columns of a kind
REASONS = ("gain_share", "target_share", "predicted", "predicted_std")


def read_table(store: AbstractStore, name: str) -> pd.DataFrame:
    """One of the tables that the campaign was made with."""
    content = store.table(name)
    try:
        return pd.read_parquet(BytesIO(content))
    except Exception as error:
        raise StoreError(
            f"The {name} table of {store.place} is damaged ({type(error).__name__})",
            "restore it from a copy",
            where=store.place,
        ) from error


def with_joined(pool: pd.DataFrame, joined: Sequence[Joined]) -> pd.DataFrame:
    """The pool table, then rows that joined."""
    if not joined:
        return pool
    more = [as_in(pool, pd.read_parquet(BytesIO(one.table))) for one in joined]
    return pd.concat([pool, *more], ignore_index=True)


def as_in(pool: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the kinds of columns that the pool has, but for cells that these cannot hold.

    A column of whole numbers, none of them missing in the sample, may have gaps elsewhere.
    """
    kinds = {name: pool[name].dtype for name in pool if not rows[name].isna().any()}
    return rows[list(pool)].astype(kinds)


def batch_table(
    campaign: "Campaign", rows: Sequence[int], numbers: Any, treated: Sequence[float] | None
) -> pd.DataFrame:
    """Rows of rounds as they are handed out; predictions stay hidden, lest they sway anyone."""
    columns, pool = campaign.spec.columns, campaign.pool_with(rows)
    hidden = {columns.id, columns.label, columns.prediction, columns.versus, BATCH}
    hidden |= {columns.weight, columns.cost, columns.probability}
    hidden |= {columns.treatment} if treated is not None else set()
    hidden |= {*columns.derived, *columns.chances, *numbered(pool.columns)}
    shown = list(columns.show) or [column for column in pool if column not in hidden]
    batch = pool.iloc[list(rows)][[columns.id, *shown]].reset_index(drop=True)
    batch.insert(0, BATCH, pd.Series(numbers, batch.index, dtype=int))
    if treated is not None:
        batch.insert(2, str(columns.treatment), pd.Series(treated, batch.index, dtype=int))
    second = {} if columns.second_label is None else {columns.second_label: np.nan}
    return batch.assign(**{columns.label: None if columns.classes else np.nan}, **second)


def numbered(names: Iterable[Any]) -> set[Any]:
    """Columns such as emb_0, emb_1, ...: nobody reads them."""
    stems = {name: re.sub(r"\d+$", "", str(name)) for name in names}
    many = {stem for stem, count in Counter(stems.values()).items() if count >= MANY}
    return {name for name, stem in stems.items() if stem in many and stem != str(name)}


def shown_only(batch: pd.DataFrame, campaign: "Campaign", show: Sequence[str]) -> pd.DataFrame:
    """A batch with these columns of the pool alone, beside what it must have."""
    columns = campaign.spec.columns
    pool = campaign.tables["pool"].set_index(columns.id, drop=False)
    kept = [name for name in (BATCH, columns.id, columns.treatment) if name in batch]
    own = pool.loc[batch[columns.id], list(show)].reset_index(drop=True)
    return pd.concat([batch[kept], own, batch[[columns.label]]], axis=1)


def plan_table(campaign: "Campaign", plan: Plan) -> pd.DataFrame:
    """The rows of a plan, with why each was chosen."""
    batch = batch_table(campaign, plan.rows, 0, plan.treated)
    columns = campaign.spec.columns
    second = [] if columns.second_label is None else [columns.second_label]
    rows = batch.drop(columns=[BATCH, columns.label, *second])
    ours = [apart(name, set(rows.columns)) for name in REASONS]
    reasons = pd.DataFrame([vars(reason) for reason in plan.reasons]).set_axis(ours, axis=1)
    return pd.concat([rows.iloc[:, :1], reasons, rows.iloc[:, 1:]], axis=1)


def read_events(campaign: "Campaign") -> pd.DataFrame:
    """Every event, in order, under our own names of columns."""
    history = campaign.store.history()
    rows = [{"event": number, "id": id_, **event._asdict()} for number, id_, event in history]
    classes = campaign.spec.columns.classes
    rows = [{**row, "label": in_words(row["label"], classes)} for row in rows]
    return pd.DataFrame(rows, columns=EVENT).rename(columns={"round": "batch_id"})


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
    history = (logged.event for logged in campaign.store.history())
    asked = {event.position: event for event in history if event.kind == "asked"}
    last = lambda row, part: getattr(asked[row], part) if row in asked else None
    rows = range(len(pool))
    taken = set(pool.columns) | {columns.label}
    ours = {
        "state": [state_of(state, row) for row in rows],
        "batch_id": pd.array([last(row, "round") for row in rows], "Int64"),
        "probability": np.array([last(row, "probability") for row in rows], float),
    }
    if state.treated:
        ours["assigned"] = pd.array([state.treated.get(row) for row in rows], "Int64")
    if campaign.phase is not None:
        ours["first_phase_probability"] = campaign.phase.probability
    table = pd.DataFrame(
        {
            columns.id: pool[columns.id],
            **{apart(name, taken): values for name, values in ours.items()},
            columns.label: _labels(state, rows, columns.classes),
        }
    )
    hidden = {columns.id, columns.label, *columns.derived}
    rest = [column for column in pool if column not in hidden]
    return pd.concat([table, pool[rest]], axis=1)


def _labels(state: State, rows: Sequence[int], classes: Sequence[str]) -> list[Any]:
    """Labels of rows as people know them; empty where there is none."""
    known = state.labels
    if not classes:
        return [known.get(row, np.nan) for row in rows]
    return [in_words(known.get(row), classes) for row in rows]


def state_of(state: State, row: int) -> str:
    """What has become of a row, in one word."""
    known = "labelled" if row in state.labels else "available"
    return next((fate for fate in FATES if row in getattr(state, fate)), known)
