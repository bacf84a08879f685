"""Settings, rounds, and whatever was corrected, skipped or lost."""

from typing import Any

import pandas as pd

from labelwise import __version__
from labelwise.evaluation.round import Plan
from labelwise.report.markup import Markup, clip, tag
from labelwise.report.numbers import NONE, count, moment, number
from labelwise.report.settings import settings_table
from labelwise.report.snapshot import Facts
from labelwise.report.tables import table

LONG, BRIEF = 160, 40  # characters of a reason, and of one that stands above already
SHOWN = ["event", "at", "kind", "id", "batch_id", "label", "reason"]  # of an event


def settings_and_history(facts: Facts) -> list[Markup | None]:
    """In the order in which one asks."""
    return [settings_table(facts), _rounds(facts), *_exceptions(facts), _events(facts)]


def citation() -> list[Markup]:
    """What to name in a publication."""
    paper = "Mittal, Ma, Joshi, Namkoong: "
    return [
        tag(
            "p", f"Made with Labelwise {__version__}. If you publish results, please cite both:"
        ),
        tag(
            "ul",
            tag("li", paper, tag("cite", "A Planning Framework for Adaptive Labeling"), "."),
            tag(
                "li",
                "The Labelwise developers: ",
                tag("cite", f"Labelwise, version {__version__}"),
                ".",
            ),
        ),
    ]


def _rounds(facts: Facts) -> Markup:
    if not facts.rounds:
        return tag("p", "No rounds yet.")
    rows = [_round(one.number, one.at, one.plan) for one in facts.rounds]
    heads = ["batch", "asked", "rows", "policy", "now", "expected", "if random"]
    caption = "Rounds, with the estimand’s standard deviation as each plan saw it"
    return table(caption, heads, rows, texts=(0, 1, 3), last=True)


def _round(number_: int, at: str, plan: Plan) -> list[Any]:
    stds = [number(std) for std in (plan.std, plan.expected, plan.random)]
    return [str(number_), moment(at), count(len(plan.rows)), plan.policy, *stds]


def _exceptions(facts: Facts) -> list[Markup]:
    events = facts.events
    unasked = (events["kind"] == "labelled") & events["batch_id"].isna()
    odd = events[~events["kind"].isin(["asked", "labelled"]) | unasked]
    if odd.empty:
        return [tag("p", "Nothing was corrected, skipped, failed or left to expire.")]
    what = "Corrections, skips, failures, expired rows and labels that were not asked for"
    return [_table(facts, what, odd, LONG)]


def _events(facts: Facts) -> Markup | None:
    """Closed until it is wanted: it is long, and nobody prints it."""
    if facts.events.empty:
        return None
    title = f"Every event ({count(len(facts.events))})"
    return tag(
        "details",
        tag("summary", title),
        _table(facts, "Every event, in order", facts.events, BRIEF),
    )


def _table(facts: Facts, caption: str, events: pd.DataFrame, most: int) -> Markup:
    columns = facts.spec.columns
    rows = [_event(most, *row) for row in events[SHOWN].itertuples(index=False, name=None)]
    heads = ["event", "at", "what", clip(columns.id), "batch", clip(columns.label), "reason"]
    return table(caption, heads, rows, texts=(0, 1, 2, 3, 6), last=True)


def _event(most, event, at, kind, one, batch, label, reason) -> list[Any]:
    told = NONE if pd.isna(label) else number(label, 4)
    asked = NONE if pd.isna(batch) else count(int(batch))
    why = "" if pd.isna(reason) else clip(reason, most)
    return [str(event), moment(at), _kind(kind, batch), clip(one), asked, told, why]


def _kind(kind: str, batch: Any) -> str:
    return "labelled, not asked" if kind == "labelled" and pd.isna(batch) else kind
