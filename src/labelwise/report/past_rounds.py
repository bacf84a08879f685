"""How both answers moved as labels came."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labelwise.evaluation.answer import BELIEF, DESIGN, LEVEL, RESTS_ON, Answer
from labelwise.evaluation.estimate import ENOUGH, Estimate
from labelwise.report.charts import BLUE, VERMILION, chart, figure, whole_steps
from labelwise.report.markup import Markup
from labelwise.report.numbers import alike, capital, percent, plural
from labelwise.report.snapshot import Facts

FEW = 40  # points up to which each has a mark of its own
APART = 0.15  # of a label, between two answers at the only number of labels
MARGIN = 0.05  # of the chart's height, above and below
COLOURS = {DESIGN: BLUE, BELIEF: VERMILION}
ANSWERS: Mapping[str, Callable[[Estimate], Answer | None]] = {
    DESIGN: lambda estimate: estimate.design,
    BELIEF: lambda estimate: estimate.credible,
}


@dataclass(frozen=True)
class Line:
    """One of the two answers against labels bought; one a number of labels, the latest."""

    bought: list[int]
    value: list[float]
    low: list[float]
    high: list[float]
    few: list[bool]  # whether it rests on too few draws to be shown first
    std: float  # the smallest, to which numbers are rounded


@dataclass(frozen=True)
class Past:
    """The answers that there are, the headline last, so that it lies on top."""

    lines: dict[str, Line]
    headline: str

    @property
    def last(self) -> int:
        return max(line.bought[-1] for line in self.lines.values())

    @property
    def shown(self) -> tuple[float, float]:
        """What the chart must show; intervals from a few draws may reach beyond."""
        ends = [
            end
            for line in self.lines.values()
            for low, high, few in zip(line.low, line.high, line.few, strict=True)
            for end in (low, high)
            if not few
        ]
        return min(ends), max(ends)

    @property
    def is_cut(self) -> bool:
        low, high = self.shown
        lines = self.lines.values()
        return any(min(line.low) < low or max(line.high) > high for line in lines)


def read_past(facts: Facts) -> Past:
    """From the estimate that each batch was asked on, and the present one."""
    found = [*(one.estimate for one in facts.rounds), facts.estimate]
    latest = {one.bought: one for one in found}
    headline = facts.estimate.headline
    names = sorted(ANSWERS, key=lambda name: name == headline)
    lines = {name: _line(latest, name) for name in names}
    return Past({name: line for name, line in lines.items() if line is not None}, headline)


def _line(latest: Mapping[int, Estimate], name: str) -> Line | None:
    found = {bought: ANSWERS[name](latest[bought]) for bought in sorted(latest)}
    answers = {bought: one for bought, one in found.items() if one is not None}
    if not answers:
        return None
    rows = list(answers.values())
    return Line(
        bought=list(answers),
        value=[one.value for one in rows],
        low=[one.interval()[0] for one in rows],
        high=[one.interval()[1] for one in rows],
        few=[one.rests_on == DESIGN and one.draws < ENOUGH for one in rows],
        std=min(one.std for one in rows),
    )


def history(facts: Facts) -> Markup:
    """Estimates and intervals against labels bought."""
    past, title = read_past(facts), facts.estimate.title

    def draw(axes: Any) -> None:
        whole_steps(axes)
        _draw(axes, past)
        axes.set(xlabel="labels bought", ylabel=title)

    image = chart(draw, _alt(past, title))
    return figure("Estimate against labels bought", image, _caption(past))


def _caption(past: Past) -> str:
    text = (
        f"Each point is an answer as it was when a batch was asked, with the {percent(LEVEL)} "
        "interval that it had then; the last is the present one."
    )
    if len(past.lines) > 1:
        text += f" The heavy line is the answer that comes first, by {RESTS_ON[past.headline]}."
    if past.is_cut:
        text += f" Intervals from fewer than {ENOUGH} draws reach beyond the chart."
    return text


def _draw(axes: Any, past: Past) -> None:
    for name, line in past.lines.items():
        first = name == past.headline
        style = {"color": COLOURS[name], "label": f"by {RESTS_ON[name]}"}
        style |= {"lw": 2.8, "zorder": 3} if first else {"lw": 1.5, "ls": "--", "zorder": 2}
        _draw_line(axes, line, style, 0.22 if first else 0.12, _aside(past, name))
    if past.last == min(line.bought[0] for line in past.lines.values()):
        axes.set(xlim=(past.last - 1, past.last + 1), xticks=[past.last])
    if past.is_cut:
        low, high = past.shown
        room = MARGIN * (high - low)
        axes.set_ylim(low - room, high + room)
    axes.legend(loc="best")


def _draw_line(axes: Any, line: Line, style: dict, alpha: float, aside: float) -> None:
    if len(line.bought) == 1:
        only = line.bought[0] + aside
        axes.vlines(only, line.low, line.high, color=style["color"], alpha=alpha + 0.15, lw=8)
        axes.plot(only, line.value[0], marker="o", markersize=9, **{**style, "ls": ""})
        return
    axes.fill_between(line.bought, line.low, line.high, color=style["color"], alpha=alpha, lw=0)
    marks = {"marker": "o", "markersize": 2.5 * style["lw"]} if len(line.bought) <= FEW else {}
    axes.plot(line.bought, line.value, **style, **marks)


def _aside(past: Past, name: str) -> float:
    """Two answers at one place would hide each other."""
    if len(past.lines) == 1:
        return 0.0
    return -APART if name == past.headline else APART


def _alt(past: Past, title: str) -> str:
    """The headline first."""
    told = [_told(name, past.lines[name]) for name in reversed(past.lines)]
    return f"{capital(title)}, with {percent(LEVEL)} intervals: {'; '.join(told)}."


def _told(name: str, line: Line) -> str:
    ends = [_point(line, place) for place in ([0] if len(line.bought) == 1 else [0, -1])]
    way = ends[0] if len(ends) == 1 else f"from {ends[0]} to {ends[1]}"
    return f"by {RESTS_ON[name]}, {way}"


def _point(line: Line, place: int) -> str:
    figures: Sequence[float] = [line.value[place], line.low[place], line.high[place]]
    value, low, high = alike(figures, line.std)
    return f"{value} ({low} to {high}) with {plural(line.bought[place], 'label')} bought"
