"""What the last batch was chosen for, row by row."""

from typing import Any

from labelwise.campaign.export import state_of
from labelwise.campaign.planning import verdict, who_chose
from labelwise.campaign.report.facts import Facts
from labelwise.campaign.report.markup import Markup, clip, tag
from labelwise.campaign.report.tables import table
from labelwise.campaign.report.words import NONE, alike, moment, number, percent, plural


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
        f"{_by(facts, plan)}. {_choice(plan)}{_verdict(plan)}",
    )
    return [asked, _rivals(facts, plan), _rows(facts, last)]


def _by(facts: Facts, plan: dict[str, Any]) -> str:
    """The policy, unless chance chose by something else."""
    draw = facts.settings.draw
    by_loss = draw is not None and draw["by"] == "loss" and any(plan.get("drawn") or ())
    return " by chance" if by_loss else f" by the policy “{plan['policy']}”"


def _choice(plan: dict[str, Any]) -> str:
    """Of early batches it was not recorded."""
    drawn = plan.get("drawn")
    return "" if drawn is None else f"{who_chose(drawn)} "


def _verdict(plan: dict[str, Any]) -> str:
    if not plan["random"] > 0.0:  # nothing is left to learn, by any rows
        return ""
    drawn = any(plan.get("drawn") or ())
    return verdict(plan["policy"], plan["expected"], plan["random"], drawn)


def _rivals(facts: Facts, plan: dict[str, Any]) -> Markup:
    names = {
        "expected": f"the rows asked{_by(facts, plan)}",
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
        [clip(name), *how, *_row(facts, row, reason)]
        for name, row, reason, how in zip(ids, rows, plan["reasons"], _how(plan), strict=True)
    ]
    heads = [
        clip(facts.settings.columns.id),
        "drawn or chosen",
        "probability of the draw",
        "share of the gain",
        "speaks for (share of target)",
        f"predicted {label}",
        f"{label}, as it came",
    ]
    return table(f"Rows of batch {last['round']}, in order", heads, body, texts=(0, 1))


def _how(plan: dict[str, Any]) -> list[list[str]]:
    """Of every row, whether chance drew it, and how likely that was among the rows left."""
    drawn = plan.get("drawn")
    if drawn is None:
        return [[NONE, NONE]] * len(plan["rows"])
    pairs = zip(drawn, plan["probabilities"], strict=True)
    return [["drawn", number(chance, 2)] if one else ["chosen", NONE] for one, chance in pairs]


def _row(facts: Facts, row: int, reason: dict[str, float]) -> list[Any]:
    mean, std = alike([reason["mean"], reason["std"]], reason["std"])
    known = facts.state.labels.get(row)
    came = state_of(facts.state, row) if known is None else alike([known], reason["std"])[0]
    spoken = percent(reason["speaks_for"])
    return [percent(reason["gain"]), spoken, f"{mean} ± {std}", came]
