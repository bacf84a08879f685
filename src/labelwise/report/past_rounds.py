"""How the answer and its ingredients moved as labels came."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwise.evaluation.answer import BELIEF, COMBINED, DESIGN, LEVEL, RESTS_ON, Answer
from labelwise.evaluation.draw_caveats import ENOUGH
from labelwise.evaluation.estimate import Estimate
from labelwise.report.charts import BLUE, INK, VERMILION, chart, figure, whole_steps
from labelwise.report.markup import Markup
from labelwise.report.numbers import alike, capital, percent, plural
from labelwise.report.snapshot import Facts

FEW = 40  # points up to which each has a mark of its own
APART = 0.15  # of a label, between two answers at the only number of labels
MARGIN = 0.05  # of the chart's height, above and below
COLOURS = {COMBINED: INK, DESIGN: BLUE, BELIEF: VERMILION}
ANSWERS: Mapping[str, Callable[[Estimate], Answer | None]] = {
    COMBINED: lambda estimate: estimate.combined,
    DESIGN: lambda estimate: estimate.design,
    BELIEF: lambda estimate: estimate.credible,
}


@dataclass(frozen=True)
class AnswerLine:
    """One of the answers against labels bought; one a number of labels, the latest."""

    bought: list[int]
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    few: np.ndarray  # whether it rests on too few draws to be shown first
    std: float  # the smallest, to which numbers are rounded


@dataclass(frozen=True)
class Past:
    """The answers that there are, the headline last, so that it lies on top."""

    lines: dict[str, AnswerLine]
    headline: str

    @property
    def last(self) -> int:
        return max(line.bought[-1] for line in self.lines.values())

    @property
    def shown(self) -> tuple[float, float]:
        """What the chart must show; intervals from a few draws may reach beyond."""
        lines = self.lines.values()
        ends = np.concatenate(
            [end[~line.few] for line in lines for end in (line.low, line.high)]
        )
        return ends.min(), ends.max()

    @property
    def is_cut(self) -> bool:
        low, high = self.shown
        lines = self.lines.values()
        return any(line.low.min() < low or line.high.max() > high for line in lines)


def read_past(facts: Facts) -> Past:
    """Read the answers off the estimate that each batch was asked on, and the present one."""
    estimates = [*(round_.estimate for round_ in facts.rounds), facts.estimate]
    latest = {estimate.bought: estimate for estimate in estimates}
    headline, lines = facts.estimate.headline, {}
    for name in sorted(ANSWERS, key=lambda name: name == headline):
        each = {bought: ANSWERS[name](latest[bought]) for bought in sorted(latest)}
        answers = {bought: answer for bought, answer in each.items() if answer is not None}
        if answers:
            lines[name] = _line(answers)
    return Past(lines, headline)


def _line(answers: Mapping[int, Answer]) -> AnswerLine:
    every = list(answers.values())
    value = np.array([answer.value for answer in every])
    low, high = np.array([answer.interval() for answer in every]).T
    few = [answer.rests_on == DESIGN and answer.draws < ENOUGH for answer in every]
    std = min(answer.std for answer in every)
    return AnswerLine(list(answers), value, low, high, np.array(few), std)


def answers_chart(facts: Facts) -> Markup:
    """Draw estimates and intervals against labels bought."""
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


def _draw_line(axes: Any, line: AnswerLine, style: dict, alpha: float, aside: float) -> None:
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
    """Tell the course of each answer, the headline first."""
    ways = [f"by {RESTS_ON[name]}, {_way(past.lines[name])}" for name in reversed(past.lines)]
    return f"{capital(title)}, with {percent(LEVEL)} intervals: {'; '.join(ways)}."


def _way(line: AnswerLine) -> str:
    if len(line.bought) == 1:
        return _point(line, 0)
    return f"from {_point(line, 0)} to {_point(line, -1)}"


def _point(line: AnswerLine, place: int) -> str:
    value, low, high = alike([line.value[place], line.low[place], line.high[place]], line.std)
    return f"{value} ({low} to {high}) with {plural(line.bought[place], 'label')} bought"
