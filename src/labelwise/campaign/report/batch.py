"""What the last batch was chosen for, row by row."""

from typing import Any

from labelwise.campaign.export import state_of
from labelwise.campaign.planning import verdict
from labelwise.campaign.report.facts import Facts
from labelwise.campaign.report.markup import Markup, clip, tag
from labelwise.campaign.report.tables import table
from labelwise.campaign.report.words import alike, moment, number, percent, plural


def last_batch(facts: Facts) -> list[Markup]:
    """The plan's verdict, and why each row is in it."""
    if not facts.rounds:
        return [tag("p", "No batch has been asked yet.")]
    last = facts.rounds[-1]
    plan = last["plan"]
    asked = tag(
        "p",
        f"Batch {last['round']} of {plural(len(plan['rows']), 'row')} was asked on ",
        moment(last["at"]),
        f" by the policy “{plan['policy']}”. {_verdict(plan)}",
    )
    return [asked, _rivals(plan), _rows(facts, last)]


def _verdict(plan: dict[str, Any]) -> str:
    if not plan["random"] > 0.0:  # nothing is left to learn, by any rows
        return ""
    return verdict(plan["policy"], plan["expected"], plan["random"])


def _rivals(plan: dict[str, Any]) -> Markup:
    names = {
        "expected": f"the rows asked ({plan['policy']})",
        "random": "random rows",
        "uncertainty": "the least certain rows",
    }
    rows = [("now, before these labels", number(plan["std"]), "")] + [
        (name, number(plan[key]), percent(plan[key] / plan["std"]) if plan["std"] > 0 else "–")
        for key, name in names.items()
    ]
    caption = "Standard deviation expected once the labels are in, as the belief saw it then"
    return table(caption, ["with", "standard deviation", "of the present one"], rows)


def _rows(facts: Facts, last: dict[str, Any]) -> Markup:
    plan = last["plan"]
    rows = list(plan["rows"])
    ids = facts.ids(rows)
    label = clip(facts.settings.columns.label)
    body = [
        _row(facts, name, row, reason)
        for name, row, reason in zip(ids, rows, plan["reasons"], strict=True)
    ]
    heads = [
        clip(facts.settings.columns.id),
        "share of the gain",
        "speaks for (share of target)",
        f"predicted {label}",
        f"{label}, as it came",
    ]
    return table(f"Rows of batch {last['round']}, in order", heads, body)


def _row(facts: Facts, name: str, row: int, reason: dict[str, float]) -> list[Any]:
    mean, std = alike([reason["mean"], reason["std"]], reason["std"])
    known = facts.state.labels.get(row)
    came = state_of(facts.state, row) if known is None else alike([known], reason["std"])[0]
    spoken = percent(reason["speaks_for"])
    return [clip(name), percent(reason["gain"]), spoken, f"{mean} ± {std}", came]
