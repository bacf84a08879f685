"""The two answers side by side: by rows that chance drew, and by the belief."""

from typing import Any

from labelwise.campaign.estimate import LEVEL, RESTS_ON, Estimate, interval_of
from labelwise.campaign.report.markup import Markup, tag
from labelwise.campaign.report.tables import table
from labelwise.campaign.report.words import alike, percent, plural


def both_answers(estimate: Estimate) -> Markup | None:
    """A row each, the headline first, and what they rest on; nothing if there is only one."""
    if estimate.credible is None or estimate.design is None:
        return None
    rows = {
        "design": _row("design", estimate.design),
        "belief": _row("belief", estimate.credible),
    }
    ordered = [rows.pop(estimate.headline), *rows.values(), *_at_every_look(estimate)]
    heads = ["answer", "estimate", f"{percent(LEVEL)} interval"]
    found = table("Two answers to the same question", heads, ordered)
    return tag("div", found, tag("p", _basis(estimate), class_="note"))


def _row(name: str, answer: dict[str, Any]) -> list[str]:
    low, high = interval_of(answer)
    value, std, low, high = alike([answer["value"], answer["std"], low, high], answer["std"])
    return [f"by {RESTS_ON[name]}", f"{value} ± {std}", f"{low} to {high}"]


def _at_every_look(estimate: Estimate) -> list[list[str]]:
    """Wider, and for whoever looks more than once."""
    if estimate.anytime is None or estimate.design is None:
        return []
    design = estimate.design
    value, low, high = alike([design["value"], *estimate.anytime], design["std"])
    return [["by drawn rows, at every look", value, f"{low} to {high}"]]


def _basis(estimate: Estimate) -> str:
    draws = plural((estimate.design or {})["draws"], "row")
    text = (
        f"By drawn rows: from {draws} drawn by chance, as in a survey; it holds whether or not "
        f"the belief is right. By the belief: from all {plural(estimate.labels, 'label')}; it "
        "holds if the belief is right."
    )
    if estimate.anytime is None:
        return text
    return (
        f"{text} At every look: an interval that may be looked at after every batch, and used "
        "to decide when to stop; the first one by drawn rows is for one look, at the end."
    )
