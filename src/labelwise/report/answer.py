"""The answer, before anything else: the number, how sure it is, and what speaks against it."""

from labelwise.evaluation.answer import LEVEL, RESTS_ON
from labelwise.evaluation.estimate import Estimate
from labelwise.report.markup import Markup, clip, tag
from labelwise.report.numbers import alike, capital, count, moment, percent, plural
from labelwise.report.snapshot import Facts
from labelwise.report.tables import table
from labelwise.report.two_answers import both_answers
from labelwise.tables.text import listed

LONG = 600  # characters of a warning that are shown


def answer(facts: Facts) -> Markup:
    """The top of the page."""
    estimate = facts.estimate
    return tag(
        "header",
        tag("p", "Campaign ", tag("b", clip(facts.spec.name)), class_="over"),
        tag("h1", f"{capital(estimate.title)} {_whose(facts)}"),
        _figures(facts),
        tag("p", _sentence(facts), class_="lead"),
        tag("p", f"Why this answer: {estimate.why.rstrip('.')}."),
        both_answers(estimate),
        _parts(estimate),
        _warnings(facts.estimate),
        _earlier(facts),
        tag("p", _basis(estimate), class_="note"),
        tag("p", _standing(facts), class_="note"),
    )


def figures_of(estimate: Estimate) -> tuple[str, str, str]:
    """Value and ends of the interval, to the same decimals."""
    low, high = estimate.interval()
    value, low, high = alike([estimate.value, low, high], estimate.std)
    return value, low, high


def _whose(facts: Facts) -> str:
    target = "the pool" if facts.spec.target == "pool" else "the target population"
    of_model = facts.analysis.inquiry.first.metric.needs == "prediction"
    return f"of the model on {target}" if of_model else f"of {target}"


def _figures(facts: Facts) -> Markup:
    """The numbers in large type."""
    estimate = facts.estimate
    value, low, high = figures_of(estimate)
    parts = f"{count(estimate.initial)} from the start, {count(estimate.bought)} bought"
    cards = [
        ("Estimate", value, f"standard deviation {alike([estimate.std], estimate.std)[0]}"),
        (f"{percent(LEVEL)} interval", f"{low} to {high}", f"by {RESTS_ON[estimate.headline]}"),
        ("Labels used", count(estimate.labels), parts),
    ]
    return tag("dl", [_card(*card) for card in cards], class_="cards")


def _card(name: str, value: str, below: str) -> Markup:
    return tag(
        "div",
        tag("dt", name),
        tag("dd", value, class_="value"),
        tag("dd", below, class_="below"),
    )


def _sentence(facts: Facts) -> str:
    estimate = facts.estimate
    value, low, high = figures_of(estimate)
    start = f"With {plural(estimate.labels, 'label')}, the {estimate.title} {_whose(facts)} is "
    sure = (
        f"{value}; the {percent(LEVEL)} interval is {low} to {high}, whether or not the belief "
        "is right."
        if estimate.headline == "design"
        else f"{value}, and between {low} and {high} with {percent(LEVEL)} probability, if the "
        "belief is right."
    )
    return start + sure + _which(estimate)


def _which(estimate: Estimate) -> str:
    """Of two models, how likely it is that the first is the better one."""
    if estimate.beats is None:
        return ""
    chance = percent(estimate.beats)
    return f" By the belief, the first model is the better one with {chance} probability."


def _parts(estimate: Estimate) -> Markup | None:
    """Other estimands, groups and models, a row each."""
    if not estimate.parts:
        return None
    rows = []
    for part in (estimate, *estimate.parts):
        value, low, high = figures_of(part)
        basis = RESTS_ON[part.headline]
        rows.append([clip(part.title), value, f"{low} to {high}", basis])
    heads = ["what", "estimate", f"{percent(LEVEL)} interval", "rests on"]
    return table("All that was asked for", heads, rows, texts=(0, 3))


def _warnings(estimate: Estimate) -> Markup:
    warnings = estimate.warnings
    if not warnings:
        return tag("p", "No warnings.", class_="fine")
    title = "Warning" if len(warnings) == 1 else f"{len(warnings)} warnings"
    items = [tag("li", clip(warning, LONG)) for warning in warnings]
    return tag(
        "section", tag("h2", f"⚠ {title}"), tag("ul", items), class_="warnings", id="warnings"
    )


def _earlier(facts: Facts) -> Markup | None:
    """Warnings look at the last batch; a belief that was wrong before is worth a word."""
    wrong = [str(check.round) for check in facts.checks[:-1] if check.contradicted]
    if not wrong:
        return None
    batches = "batch" if len(wrong) == 1 else "batches"
    return tag(
        "p",
        f"Labels of {batches} {listed(wrong)} contradicted the belief of their time; it has "
        "been given them since.",
    )


def _basis(estimate: Estimate) -> str:
    return (
        f"Quantity: {estimate.title}, {estimate.quantity}. The belief is the statistical model "
        f"of the labels that Labelwise keeps (a Gaussian process); {_role(estimate)} How its "
        "predictions of fresh labels fared is told under “Belief and check”."
    )


def _role(estimate: Estimate) -> str:
    if estimate.headline == "design" and estimate.lead.heavy:
        return "it sharpens the answer by drawn rows; whether that holds does not depend on it."
    if estimate.headline == "design":
        return (
            "it sharpens the answer by drawn rows, but whether that holds does not depend on "
            f"it: of campaigns like this one, about {percent(LEVEL)} have an interval that "
            "holds the truth."
        )
    return (
        "the interval is its own, and has the stated probability as far as that model "
        "describes the labels well."
    )


def _standing(facts: Facts) -> list:
    budget, out = facts.budget, len(facts.state.pending)
    waiting = f"{plural(out, 'row')} out to be labelled" if out else "no rows out"
    total = "no budget was set" if budget["total"] is None else _budget(budget)
    rounds = plural(facts.state.round, "round")
    return [f"So far: {rounds}, {waiting}; {total}. Made ", moment(facts.made), "."]


def _budget(budget: dict[str, int | None]) -> str:
    total, spent = budget["total"] or 0, budget["spent"] or 0
    return f"{count(spent)} of a budget of {plural(total, 'label')} bought or on order"
