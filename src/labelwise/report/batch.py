"""What the last batch was chosen for, row by row."""

from typing import Any

from labelwise.campaign.export import state_of
from labelwise.evaluation.round import Plan, Reason, Round
from labelwise.report.markup import Markup, clip, tag
from labelwise.report.numbers import NONE, alike, moment, number, percent, plural
from labelwise.report.snapshot import Facts
from labelwise.report.tables import table


def last_batch(facts: Facts) -> list[Markup]:
    """The plan's verdict, and why each row is in it."""
    if not facts.rounds:
        return [tag("p", "No batch has been asked yet.")]
    last = facts.rounds[-1]
    plan = last.plan
    asked = tag(
        "p",
        f"Batch {last.number} of {plural(len(plan.rows), 'row')} was asked on ",
        moment(last.at),
        f"{_by(facts, plan)}. {_choice(plan)}{_verdict(plan)}",
    )
    return [asked, _rivals(facts, plan), _rows(facts, last)]


def _by(facts: Facts, plan: Plan) -> str:
    """The policy, unless chance chose by something else."""
    by_loss = facts.spec.sampling.by == "loss" and any(plan.drawn or ())
    return " by chance" if by_loss else f" by the policy “{plan.policy}”"


def _choice(plan: Plan) -> str:
    """Of early batches it was not recorded."""
    return "" if plan.drawn is None else f"{plan.choice} "


def _verdict(plan: Plan) -> str:
    # Where nothing is left to learn, by any rows, there is nothing to compare.
    return plan.verdict if plan.random > 0.0 else ""


def _rivals(facts: Facts, plan: Plan) -> Markup:
    after = {
        f"the rows asked{_by(facts, plan)}": plan.expected,
        "random rows": plan.random,
        "the least certain rows": plan.uncertainty,
    }
    share = lambda std: percent(std / plan.std) if plan.std > 0 else "–"
    rows = [("now, before these labels", number(plan.std), "")]
    rows += [(name, number(std), share(std)) for name, std in after.items()]
    caption = "Standard deviation expected once the labels are in, as the belief saw it then"
    return table(caption, ["with", "standard deviation", "of the present one"], rows)


def _rows(facts: Facts, last: Round) -> Markup:
    plan = last.plan
    rows = list(plan.rows)
    ids = facts.ids(rows)
    label = clip(facts.spec.columns.label)
    body = [
        [clip(name), *how, *_row(facts, row, reason)]
        for name, row, reason, how in zip(ids, rows, plan.reasons, _how(plan), strict=True)
    ]
    heads = [
        clip(facts.spec.columns.id),
        "drawn or chosen",
        "probability of the draw",
        "share of the gain",
        "speaks for (share of target)",
        f"predicted {label}",
        f"{label}, as it came",
    ]
    return table(f"Rows of batch {last.number}, in order", heads, body, texts=(0, 1))


def _how(plan: Plan) -> list[list[str]]:
    """Of every row, whether chance drew it, and how likely that was among the rows left."""
    drawn = plan.drawn
    if drawn is None:
        return [[NONE, NONE]] * len(plan.rows)
    pairs = zip(drawn, plan.probabilities, strict=True)
    return [["drawn", number(chance, 2)] if one else ["chosen", NONE] for one, chance in pairs]


def _row(facts: Facts, row: int, reason: Reason) -> list[Any]:
    mean, std = alike([reason.mean, reason.std], reason.std)
    known = facts.state.labels.get(row)
    came = state_of(facts.state, row) if known is None else alike([known], reason.std)[0]
    spoken = percent(reason.speaks_for)
    return [percent(reason.gain), spoken, f"{mean} ± {std}", came]
