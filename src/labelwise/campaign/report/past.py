"""How the estimate moved as labels came."""

from dataclasses import dataclass
from typing import Any

from labelwise.campaign.report.charts import BLUE, chart, figure, whole_steps
from labelwise.campaign.report.facts import Facts
from labelwise.campaign.report.markup import Markup
from labelwise.campaign.report.words import alike, capital, plural

FEW = 40  # points up to which each has a mark of its own
INTERVAL = "90 % interval"


@dataclass(frozen=True)
class Past:
    """Estimates against labels bought; one a number of labels, the latest."""

    bought: list[int]
    value: list[float]
    low: list[float]
    high: list[float]
    std: float  # the smallest, to which numbers are rounded


def read_past(facts: Facts) -> Past:
    """The estimate that each batch was asked on, and the present one."""
    found = [one["estimate"] for one in facts.rounds] + [facts.estimate.to_dict()]
    latest = {one["labels"]["bought"]: one for one in found}
    rows = [latest[bought] for bought in sorted(latest)]
    return Past(
        bought=sorted(latest),
        value=[one["value"] for one in rows],
        low=[one["interval"][0] for one in rows],
        high=[one["interval"][1] for one in rows],
        std=min(one["std"] for one in rows),
    )


def history(facts: Facts) -> Markup:
    """Estimate and interval against labels bought."""
    past, title = read_past(facts), facts.estimate.title

    def draw(axes: Any) -> None:
        whole_steps(axes)
        _draw(axes, past)
        axes.set(xlabel="labels bought", ylabel=title)

    caption = (
        "Each point is the estimate as it was when a batch was asked, with the interval that "
        "the belief gave it then; the last is the present one."
    )
    image = chart(draw, _alt(past, title))
    return figure("Estimate against labels bought", image, caption)


def _draw(axes: Any, past: Past) -> None:
    if len(past.bought) == 1:
        only = past.bought[0]
        axes.vlines(only, past.low, past.high, color=BLUE, alpha=0.35, lw=8, label=INTERVAL)
        axes.plot(only, past.value[0], "o", color=BLUE, markersize=9, label="estimate")
        axes.set(xlim=(only - 1, only + 1), xticks=[only])
    else:
        ends = (past.low, past.high)
        axes.fill_between(past.bought, *ends, color=BLUE, alpha=0.18, lw=0, label=INTERVAL)
        marks = {"marker": "o", "markersize": 7} if len(past.bought) <= FEW else {}
        axes.plot(past.bought, past.value, color=BLUE, label="estimate", **marks)
    axes.legend(loc="best")


def _alt(past: Past, title: str) -> str:
    first = alike([past.value[0], past.low[0], past.high[0]], past.std)
    last = alike([past.value[-1], past.low[-1], past.high[-1]], past.std)
    now = f"{last[0]} ({last[1]} to {last[2]}) with {plural(past.bought[-1], 'label')} bought"
    if len(past.bought) == 1:
        return f"{capital(title)}, with its 90 % interval: {now}."
    start = (
        f"{first[0]} ({first[1]} to {first[2]}) with {plural(past.bought[0], 'label')} bought"
    )
    return f"{capital(title)}, with its 90 % interval, went from {start} to {now}."
