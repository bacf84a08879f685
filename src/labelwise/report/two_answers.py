"""The two answers side by side: by rows that chance drew, and by the belief."""

from labelwise.evaluation.answer import LEVEL, RESTS_ON, Answer
from labelwise.evaluation.estimate import Estimate
from labelwise.report.markup import Markup, tag
from labelwise.report.numbers import alike, percent, plural
from labelwise.report.tables import table


def both_answers(estimate: Estimate) -> Markup | None:
    """A row each, the headline first, and what they rest on; nothing if there is only one."""
    if estimate.design is None:
        return None
    both = sorted(
        (estimate.design, estimate.credible), key=lambda one: one is not estimate.lead
    )
    ordered = [*(_row(answer) for answer in both), *_at_every_look(estimate)]
    heads = ["answer", "estimate", f"{percent(LEVEL)} interval"]
    found = table("Two answers to the same question", heads, ordered)
    return tag("div", found, tag("p", _basis(estimate), class_="note"))


def _row(answer: Answer) -> list[str]:
    numbers = [answer.value, answer.std, *answer.interval()]
    value, std, low, high = alike(numbers, answer.std)
    return [f"by {RESTS_ON[answer.rests_on]}", f"{value} ± {std}", f"{low} to {high}"]


def _at_every_look(estimate: Estimate) -> list[list[str]]:
    """Wider, and for whoever looks more than once."""
    if estimate.anytime is None or estimate.design is None:
        return []
    design = estimate.design
    value, low, high = alike([design.value, *estimate.anytime], design.std)
    return [["by drawn rows, at every look", value, f"{low} to {high}"]]


def _basis(estimate: Estimate) -> str:
    draws = plural(0 if estimate.design is None else estimate.design.draws, "row")
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
