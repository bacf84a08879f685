"""What the last batch was chosen for, row by row."""

from collections.abc import Sequence
from typing import Any

from labelwise.campaign.export import state_of
from labelwise.evaluation.round import Plan, Reason, Round
from labelwise.report.markup import Markup, clip, tag
from labelwise.report.numbers import NONE, alike, moment, number, percent, plural
from labelwise.report.snapshot import Facts
from labelwise.report.tables import table
from labelwise.tables.words import in_words


def last_batch(facts: Facts) -> list[Markup]:
    """Tell the plan's verdict, and why each row is in it."""
    if not facts.rounds:
        return [tag("p", "No batch has been asked yet.")]
    last = facts.rounds[-1]
    plan, by = last.plan, _by(facts, last.plan)
    choice = "" if plan.drawn is None else f"{plan.choice} "  # of early batches not recorded
    # Where nothing is left to learn, by any rows, there is nothing to compare.
    verdict = plan.verdict if plan.random > 0.0 else ""
    asked = tag(
        "p",
        f"Batch {last.number} of {plural(len(plan.rows), 'row')} was asked on ",
        moment(last.at),
        f"{by}. {choice}{verdict}",
    )
    return [asked, _rivals(plan, by), _rows(facts, last)]


def _by(facts: Facts, plan: Plan) -> str:
    """Name the policy, unless chance chose by something else."""
    by_loss = facts.spec.sampling.by == "loss" and any(plan.drawn or ())
    return " by chance" if by_loss else f" by the policy “{plan.policy}”"


def _rivals(plan: Plan, by: str) -> Markup:
    after = {
        f"the rows asked{by}": plan.expected,
        "random rows": plan.random,
        "the least certain rows": plan.uncertainty,
    }
    share = lambda std: percent(std / plan.std) if plan.std > 0 else NONE
    rows = [("now, before these labels", number(plan.std), "")]
    rows += [(name, number(std), share(std)) for name, std in after.items()]
    caption = "Standard deviation expected once the labels are in, as the belief saw it then"
    return table(caption, ["with", "standard deviation", "of the present one"], rows)


def _rows(facts: Facts, last: Round) -> Markup:
    plan, label = last.plan, clip(facts.spec.columns.label)
    drawn = plan.drawn or [None] * len(plan.rows)
    ids = facts.ids(list(plan.rows))
    columns = (ids, plan.rows, drawn, _times_uniform(facts, last), plan.reasons)
    heads = [
        clip(facts.spec.columns.id),
        "drawn or chosen",
        "probability, × uniform",
        "share of the gain",
        "speaks for (share of target)",
        f"predicted {label}",
        f"{label}, as it came",
    ]
    body = [_row(facts, *row) for row in zip(*columns, strict=True)]
    return table(f"Rows of batch {last.number}, in order", heads, body, texts=(0, 1))


def _times_uniform(facts: Facts, last: Round) -> list[float]:
    """Each draw's probability, in units of that of a uniform draw from the rows then left."""
    closed = 0 if last.draws is None else len(last.draws.closed)
    return [
        probability * (facts.state.size - closed - place)
        for place, probability in enumerate(last.probabilities)
    ]


def _row(
    facts: Facts, name: str, row: int, drawn: bool | None, times: float, reason: Reason
) -> list[Any]:
    mean, std = alike([reason.mean, reason.std], reason.std)
    label, classes = facts.state.labels.get(row), facts.spec.columns.classes
    return [
        clip(name),
        NONE if drawn is None else "drawn" if drawn else "chosen",
        f"{number(times, 2)}×" if drawn else NONE,
        percent(reason.gain),
        percent(reason.speaks_for),
        f"{mean} ± {std}",
        state_of(facts.state, row)
        if label is None
        else _as_it_came(label, reason.std, classes),
    ]


def _as_it_came(label: float, std: float, classes: Sequence[str]) -> Any:
    return clip(in_words(label, classes)) if classes else alike([label], std)[0]
