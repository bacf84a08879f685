"""The answer, before anything else: the number, how sure it is, and what speaks against it."""

from collections.abc import Iterable

from labelwise.campaign.store.chain import SHORT
from labelwise.evaluation.answer import LEVEL, RESTS_ON, Answer
from labelwise.evaluation.estimate import Estimate
from labelwise.report.belief import name_belief
from labelwise.report.markup import Markup, clip, tag
from labelwise.report.numbers import alike, capital, count, moment, percent, plural
from labelwise.report.snapshot import Facts
from labelwise.report.tables import table
from labelwise.tables.text import listed

LONG = 600  # characters of a warning that are shown
MOST_CARDS = 12  # for further metrics


def answer_section(facts: Facts) -> Markup:
    """Make the top of the page."""
    estimate = facts.estimate
    return tag(
        "header",
        tag("p", "Campaign ", tag("b", clip(facts.spec.name)), class_="over"),
        tag("h1", f"{capital(estimate.title)} {_whose(facts)}"),
        _cards(estimate),
        tag("p", _sentence(facts), class_="lead"),
        tag("p", f"Why this answer: {estimate.why.rstrip('.')}."),
        _both_answers(estimate),
        _parts(estimate),
        _enough(estimate),
        _warnings(estimate.warnings),
        _earlier(facts),
        tag("p", _basis(estimate), class_="note"),
        tag("p", _standing(facts), class_="note"),
    )


def _whose(facts: Facts) -> str:
    target = "the pool" if facts.spec.target == "pool" else "the target population"
    of_model = facts.analysis.inquiry.first.metric.needs == "prediction"
    return f"of the model on {target}" if of_model else f"of {target}"


def _figures(answer: Answer | Estimate, ends: Iterable[float] | None = None) -> list[str]:
    """Write value, standard deviation and ends of the interval to the same decimals."""
    ends = answer.interval() if ends is None else ends
    return alike([answer.value, answer.std, *ends], answer.std)


def _cards(estimate: Estimate) -> Markup:
    """Show the numbers in large type."""
    value, std, low, high = _figures(estimate)
    parts = f"{count(estimate.initial)} from the start, {count(estimate.bought)} bought"
    cards = [
        ("Estimate", value, f"standard deviation {std}"),
        (f"{percent(LEVEL)} interval", f"{low} to {high}", _below(estimate)),
        *_other_metrics(estimate),
        ("Labels used", count(estimate.labels), parts),
    ]
    divisions = [
        tag(
            "div",
            tag("dt", name),
            tag("dd", value, class_="value"),
            tag("dd", below, class_="below"),
        )
        for name, value, below in cards
    ]
    return tag("dl", divisions, class_="cards")


def _other_metrics(estimate: Estimate) -> list[tuple[str, str, str]]:
    """A card for each further metric; groups and the like have a table."""
    seen, cards = {estimate.estimand}, []
    for part in estimate.parts:
        if part.estimand not in seen and len(cards) < MOST_CARDS:
            seen.add(part.estimand)
            value, _, low, high = _figures(part)
            cards.append((capital(clip(part.title)), value, f"{low} to {high}"))
    return cards


def _below(estimate: Estimate) -> str:
    return f"by {RESTS_ON[estimate.headline]}{',' if estimate.mark else ''}{estimate.mark}"


def _sentence(facts: Facts) -> str:
    estimate, level = facts.estimate, percent(LEVEL)
    value, _, low, high = _figures(estimate)
    sure = f"{value}, and between {low} and {high} with {level} probability, if"
    sure += " the belief is right."
    if estimate.combined is not None:
        sure = f"{value}; the {level} interval is {low} to {high}{estimate.mark}."
    if estimate.beats is not None:
        better = percent(estimate.beats)
        sure += f" By the belief, the first model is the better one with {better} probability."
    labels = plural(estimate.labels, "label")
    return f"With {labels}, the {estimate.title} {_whose(facts)} is {sure}"


def _both_answers(estimate: Estimate) -> Markup | None:
    """Give the answer and its ingredients a row each, and say what they rest on."""
    design = estimate.design
    if design is None:
        return None
    rows = []
    for answer in (estimate.lead, *estimate.ingredients):
        value, std, low, high = _figures(answer)
        rows.append([f"by {RESTS_ON[answer.rests_on]}", f"{value} ± {std}", f"{low} to {high}"])
    text = (
        f"By drawn rows: from {plural(design.draws, 'row')} drawn by chance, as in a survey; "
        "it holds whether or not the belief is right. By the belief: from all "
        f"{plural(estimate.labels, 'label')}; it holds if the belief is right. Together: the "
        "belief's answer, moved towards the drawn rows' as far as the two disagree by more "
        "than chance explains."
    )
    if estimate.anytime is not None:  # wider, and for whoever looks more than once
        value, _, low, high = _figures(estimate, estimate.anytime)
        rows.append(["at every look", value, f"{low} to {high}"])
        text += (
            " At every look: an interval that may be looked at after every batch, and used to "
            "decide when to stop; the others are for one look, at the end."
        )
    rows += _as_it_might_be(estimate)
    heads = ["answer", "estimate", f"{percent(LEVEL)} interval"]
    shown = table("The answer and its ingredients", heads, rows)
    return tag("div", shown, tag("p", text, class_="note"))


def _as_it_might_be(estimate: Estimate) -> list[list[str]]:
    """Rows for the answer whatever is missing, and for the one before corrections."""
    others = {}
    if estimate.extremes:
        others["whatever the missing labels are"] = _figures(estimate, estimate.widest())
    if estimate.uncorrected is not None:
        others["without corrections"] = _figures(estimate.uncorrected)
    return [[name, value, f"{low} to {high}"] for name, (value, _, low, high) in others.items()]


def _parts(estimate: Estimate) -> Markup | None:
    """Give other estimands, groups and models a row each."""
    if not estimate.parts:
        return None
    rows = []
    for part in (estimate, *estimate.parts):
        value, _, low, high = _figures(part)
        rows.append([clip(part.title), value, f"{low} to {high}", RESTS_ON[part.headline]])
    heads = ["what", "estimate", f"{percent(LEVEL)} interval", "rests on"]
    return table("All that was asked for", heads, rows, texts=(0, 3), spare=3)


def _enough(estimate: Estimate) -> Markup | None:
    if estimate.enough is None:
        return None
    return tag("p", tag("b", f"Enough is known: {estimate.enough}."))


def _warnings(warnings: tuple[str, ...]) -> Markup:
    if not warnings:
        return tag("p", "No warnings.", class_="fine")
    title = "⚠ Warning" if len(warnings) == 1 else f"⚠ {len(warnings)} warnings"
    items = tag("ul", [tag("li", _in_a_line(warning)) for warning in warnings])
    return tag("section", tag("h2", title), items, class_="warnings", id="warnings")


def _in_a_line(warning: str) -> Markup | str:
    """What is wrong, in a line; the rest opens below it."""
    head, _, rest = warning.partition(": " if ": " in warning else "; ")
    if not rest:
        return clip(warning, LONG)
    return tag("details", tag("summary", f"{clip(head, LONG)}."), clip(capital(rest), LONG))


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
        f"of the labels that Labelwise keeps ({name_belief(estimate.belief)}); "
        f"{_role(estimate)} How its predictions of fresh labels fared is told under “Belief "
        "and check”."
    )


def _role(estimate: Estimate) -> str:
    if estimate.combined is not None:
        return (
            "rows drawn by chance check it, and put the answer right where it is wrong by more "
            "than chance explains."
        )
    return (
        "the interval is its own, and has the stated probability as far as that model "
        "describes the labels well."
    )


def _standing(facts: Facts) -> list:
    out, total, spent = len(facts.state.pending), facts.budget["total"], facts.budget["spent"]
    waiting = f"{plural(out, 'row')} out to be labelled" if out else "no rows out"
    budget = (
        "no budget was set"
        if total is None
        else f"{count(spent or 0)} of a budget of {plural(total, 'label')} bought or on order"
    )
    rounds = plural(facts.state.round, "round")
    waiting += f"; {facts.estimate.fates.line}" if facts.estimate.fates.drawn else ""
    log = [" Head of the log: ", tag("code", facts.state.head[:SHORT]), "."]
    return [f"So far: {rounds}, {waiting}; {budget}. Made ", moment(facts.made), ".", *log]
