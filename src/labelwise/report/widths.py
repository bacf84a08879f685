"""How narrow the answer has become, beside what as many uniform draws would have left."""

from typing import Any, NamedTuple

import numpy as np

from labelwise.evaluation.answer import LEVEL
from labelwise.evaluation.survey_forecast import uniform_width
from labelwise.report.charts import BLUE, SOFT, chart, figure, whole_steps
from labelwise.report.markup import Markup
from labelwise.report.numbers import number, percent, plural
from labelwise.report.snapshot import Facts


class WidthPath(NamedTuple):
    """Widths of the interval against labels bought."""

    bought: list[int]
    own: list[float]
    uniform: list[float]  # of the plain average of as many rows drawn uniformly


def widths_chart(facts: Facts) -> Markup | None:
    """Draw both; nothing where no rows are drawn, or too few have been."""
    path = read_widths(facts)
    if path is None:
        return None
    image = chart(lambda axes: _draw(axes, path), _alt(path))
    text = (
        f"Width of the {percent(LEVEL)} interval as it was when each batch was asked, and now; "
        "beside it that of the plain average of as many rows drawn uniformly and nothing else, "
        "as today’s belief foresees how much losses differ."
    )
    return figure("Width of the interval", image, text)


def read_widths(facts: Facts) -> WidthPath | None:
    """From the estimate that each batch was asked on, and the present one."""
    every = [*(round_.estimate for round_ in facts.rounds), facts.estimate]
    latest = {one.bought: one for one in every if one.bought >= 2}
    bought = sorted(latest)
    uniform = [uniform_width(facts.evaluation, count) for count in bought]
    if not bought or None in uniform:
        return None
    width = lambda one: float(np.diff(one.interval())[0])
    return WidthPath(bought, [width(latest[count]) for count in bought], uniform)  # type: ignore[arg-type]


def _draw(axes: Any, path: WidthPath) -> None:
    whole_steps(axes)
    axes.plot(path.bought, path.uniform, "--", marker="o", color=SOFT, label="uniform draws")
    axes.plot(path.bought, path.own, "o-", color=BLUE, label="this campaign")
    top = 1.1 * max(*path.own, min(path.uniform[-1] * 3.0, max(path.uniform)))
    axes.set(xlabel="labels bought", ylabel=f"width ({percent(LEVEL)})", ylim=(0.0, top))
    axes.legend(loc="best")


def _alt(path: WidthPath) -> str:
    share = percent(path.own[-1] / max(path.uniform[-1], 1e-300))
    return (
        f"With {plural(path.bought[-1], 'label')} bought the interval is "
        f"{number(path.own[-1])} wide, {share} of the {number(path.uniform[-1])} that uniform "
        "draws would leave."
    )
