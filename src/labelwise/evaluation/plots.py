"""Figures for notebooks: what `.plot()` returns. Matplotlib is loaded when one is drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labelwise.evaluation.answer import LEVEL

if TYPE_CHECKING:
    from labelwise.evaluation.estimate import Estimate
    from labelwise.evaluation.plan import Forecast
    from labelwise.evaluation.round import Plan, Round

BLUE, GREY, INK = "#0072B2", "#999999", "#1d2733"


def _panel(height: float = 4.0) -> tuple[Any, Any]:
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(6.4, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def plot_estimate(estimate: "Estimate") -> Any:
    """Every answer with its interval, one below the other; each has its own scale."""
    import matplotlib.figure

    every = (estimate, *estimate.parts)
    size = (6.4, 0.9 + 0.9 * len(every))
    figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(every), squeeze=False)[:, 0]
    for axes, one in zip(panels, every, strict=True):
        low, high = one.interval()
        axes.hlines(0.0, low, high, color=BLUE, lw=3)
        axes.plot(one.value, 0.0, "o", color=INK)
        axes.set(yticks=[], title=one.title)
        axes.spines[["top", "right", "left"]].set_visible(False)
    panels[-1].set_xlabel(f"estimate and {100 * LEVEL:.0f} % interval")
    return figure


def plot_forecast(forecast: "Forecast") -> Any:
    """Widths where rows are drawn, else standard deviations, against further labels."""
    figure, axes = _panel()
    widths = forecast.draws
    if widths is not None:
        axes.plot(widths.labels, widths.uniform, "--", color=GREY, label="uniform draws")
        axes.plot(widths.labels, widths.planned, "o-", color=BLUE, label="as planned")
        axes.set_ylabel(f"expected width of the {100 * LEVEL:.0f} % interval")
    else:
        axes.plot(forecast.labels, forecast.random, "--", color=GREY, label="random rows")
        axes.plot(forecast.labels, forecast.planned, "o-", color=BLUE, label=forecast.policy)
        axes.set_ylabel("expected standard deviation")
    axes.set(xlabel="further labels", ylim=(0.0, None))
    axes.legend(frameon=False)
    return figure


def plot_plan(plan: "Plan") -> Any:
    """What the labels would leave, beside other rows."""
    figure, axes = _panel(2.6)
    bars = {
        "now": plan.std,
        "these rows": plan.expected,
        "random rows": plan.random,
        "least certain rows": plan.uncertainty,
    }
    axes.barh(list(bars), list(bars.values()), color=[GREY, BLUE, GREY, GREY])
    axes.invert_yaxis()
    axes.set_xlabel("expected standard deviation")
    return figure


def plot_history(rounds: "Sequence[Round]", now: "Estimate") -> Any:
    """The answer and its interval as labels came."""
    figure, axes = _panel()
    latest = {one.bought: one for one in (*(round_.estimate for round_ in rounds), now)}
    bought = sorted(latest)
    ends = [latest[count].interval() for count in bought]
    low, high = zip(*ends, strict=True)
    axes.fill_between(bought, low, high, color=BLUE, alpha=0.2, lw=0)
    axes.plot(bought, [latest[count].value for count in bought], "o-", color=BLUE)
    axes.set(xlabel="labels bought", ylabel=now.title)
    return figure
