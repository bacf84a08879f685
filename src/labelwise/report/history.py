"""Settings, rounds, and whatever was corrected, skipped or lost."""

from typing import Any

import pandas as pd

from labelwise import __version__
from labelwise.evaluation.round import Round
from labelwise.report.markup import Markup, clip, tag
from labelwise.report.numbers import NONE, count, moment, number
from labelwise.report.settings import settings_table
from labelwise.report.snapshot import Facts
from labelwise.report.tables import table

LONG, BRIEF = 160, 40  # characters of a reason, and of one that stands above already
SHOWN = ["event", "at", "kind", "id", "batch_id", "label", "reason"]  # of an event


def settings_and_history(facts: Facts) -> list[Markup | None]:
    """Tell what was set and what happened, in the order in which one asks."""
    return [settings_table(facts), _rounds(facts), _exceptions(facts), _events(facts)]


def citation() -> list[Markup]:
    """Say what to name in a publication."""
    made = f"Made with Labelwise {__version__}. If you publish results, please cite both:"
    works = {
        "Mittal, Ma, Joshi, Namkoong: ": "A Planning Framework for Adaptive Labeling",
        "The Labelwise developers: ": f"Labelwise, version {__version__}",
    }
    items = [tag("li", who, tag("cite", what), ".") for who, what in works.items()]
    return [tag("p", made), tag("ul", items)]


def _rounds(facts: Facts) -> Markup:
    if not facts.rounds:
        return tag("p", "No rounds yet.")
    rows = [_round(round_) for round_ in facts.rounds]
    heads = ["batch", "asked", "rows", "policy", "now", "expected", "if random"]
    caption = "Rounds, with the estimand’s standard deviation as each plan saw it"
    return table(caption, heads, rows, texts=(0, 1, 3), last=True)


def _round(round_: Round) -> list[Any]:
    plan = round_.plan
    stds = [number(std) for std in (plan.std, plan.expected, plan.random)]
    asked = [str(round_.number), moment(round_.at), count(len(plan.rows)), plan.policy]
    return [*asked, *stds]


def _exceptions(facts: Facts) -> Markup:
    events = facts.events
    unasked = (events["kind"] == "labelled") & events["batch_id"].isna()
    odd = events[~events["kind"].isin(["asked", "labelled"]) | unasked]
    if odd.empty:
        return tag("p", "Nothing was corrected, skipped, failed or left to expire.")
    what = "Corrections, skips, failures, expired rows and labels that were not asked for"
    return _table(facts, what, odd, LONG)


def _events(facts: Facts) -> Markup | None:
    """List every event, closed until it is wanted: it is long, and nobody prints it."""
    if facts.events.empty:
        return None
    title = tag("summary", f"Every event ({count(len(facts.events))})")
    return tag("details", title, _table(facts, "Every event, in order", facts.events, BRIEF))


def _table(facts: Facts, caption: str, events: pd.DataFrame, most: int) -> Markup:
    columns = facts.spec.columns
    rows = [_event(most, *row) for row in events[SHOWN].itertuples(index=False, name=None)]
    heads = ["event", "at", "what", clip(columns.id), "batch", clip(columns.label), "reason"]
    return table(caption, heads, rows, texts=(0, 1, 2, 3, 6), last=True)


def _event(most, event, at, kind, id, batch, label, reason) -> list[Any]:
    unasked = pd.isna(batch)
    return [
        str(event),
        moment(at),
        "labelled, not asked" if kind == "labelled" and unasked else kind,
        clip(id),
        NONE if unasked else count(int(batch)),
        NONE if pd.isna(label) else clip(label) if isinstance(label, str) else number(label, 4),
        "" if pd.isna(reason) else clip(reason, most),
    ]
