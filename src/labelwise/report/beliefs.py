"""Which belief foretells labels it has not seen: shown where candidates were judged."""

from collections.abc import Mapping
from typing import Any

from labelwise.report.markup import Markup, clip, tag
from labelwise.report.numbers import count, number
from labelwise.report.snapshot import Facts
from labelwise.report.tables import table


def beliefs(facts: Facts) -> Markup | None:
    """The candidates side by side; of a belief that is checked, as they stood on record."""
    record = facts.estimate.belief.get("checked")
    found = facts.beliefs or (record or {}).get("contest")
    parts = [_choice(record), None if found is None else _standings(found)]
    if not any(parts):
        return None
    return tag("div", tag("h3", "Which belief to trust"), parts)


def _choice(record: Mapping[str, Any] | None) -> Markup | None:
    """Say what was chosen and when, of a belief that is checked."""
    if record is None:
        return None
    if record["round"] == 0:
        return tag("p", f"The belief is chosen when rows are asked; so far {record['chosen']}.")
    told = f"{record['chosen']} was chosen before batch {count(record['round'])} was asked."
    why = f" {clip(record['why'])}" if record["why"] else ""
    return tag("p", told + why)


def _standings(found: Mapping[str, Any]) -> Markup:
    text = (
        "Every candidate foretold each cluster of labelled rows from all others, and the last "
        "batches from the labels before them. Shown is what ten labels cost, in nats (joint "
        "log-loss, less is better), and of how many clusters the mean label lay in the 90 % "
        "interval for it."
    )
    heads = ["belief", "on clusters", "on batches", "clusters held", "calibrated"]
    rows = [_row(one) for one in found["standings"]]
    shown = table("Beliefs on labels they had not seen", heads, rows, texts=(0, 4), last=True)
    verdict = found.get("verdict")
    warnings = [tag("p", f"Warning: {clip(one)}.") for one in found.get("warnings", ())]
    return tag("div", tag("p", text), shown, tag("p", verdict) if verdict else None, warnings)


def _row(one: Mapping[str, Any]) -> list[Any]:
    told = lambda part: "–" if (loss := _mean(one, part)) is None else number(loss, 3)
    held = f"{count(one['held'])} of {count(len(one['clusters']))}"
    calibrated = "yes" if one["calibrated"] else tag("b", "no")
    return [one["name"], told("clusters"), told("batches"), held, calibrated]


def _mean(one: Mapping[str, Any], part: str) -> float | None:
    """Of clusters or batches, by labels; records of before have plain losses."""
    losses = one[part]
    return one.get(f"on_{part}", sum(losses) / len(losses) if losses else None)
