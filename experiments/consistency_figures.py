"""Figures of the posterior-consistency benchmark, one a data set, in the paper's panels."""

from pathlib import Path
from typing import Any

import matplotlib.figure
import pandas as pd

from experiments.consistency_report import AGENTS
from labelwise.figures import save

COLOURS = dict(
    zip(
        AGENTS,
        (
            "#999999",
            "#E69F00",
            "#56B4E9",
            "#0072B2",
            "#CC79A7",
            "#D55E00",
            "#882255",
            "#009E73",
            "#000000",
        ),
        strict=True,
    )
)
TITLES = {"inside": "in distribution", "outside": "out of distribution"}


def draw_ood(rows: pd.DataFrame, data: str, path: Path) -> None:
    """Joint log-loss outside against the strength of the bias, a panel a bias."""
    biases = list(rows["bias"].unique())
    figure, panels = _panels(1, len(biases), f"Joint log-loss out of distribution: {data}")
    for axes, bias in zip(panels, biases, strict=True):
        mine = rows[(rows["bias"] == bias) & (rows["where"] == "outside")]
        _lines(axes, mine, "strength", "joint")
        heading = "distance" if data == "synthetic" else "rank of cluster"
        axes.set(title=bias, xlabel=heading if bias == "clusters" else "strength")
        _spread(axes, mine["joint"])
    panels[0].set_ylabel("nats for ten labels")
    _finish(figure, panels[-1], path)


def draw_dynamic(rows: pd.DataFrame, data: str, path: Path) -> None:
    """The paper's four panels; swept settings as further bars of an agent."""
    names = ["inside, T=0", "outside, T=0", "outside, T=1", "improvement, T=0 to 1"]
    figure, panels = _panels(
        1, 4, f"Joint log-loss before and after labels from outside: {data}"
    )
    bars = _bars(rows)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, max(height, 1.0 + 0.18 * len(bars)))
    for axes, name in zip(panels, names, strict=True):
        values = bars[name]
        colours = [COLOURS[agent] for agent, _ in values.index]
        axes.barh(range(len(values)), values, color=colours)
        axes.set(title=name, yticks=range(len(values)), yticklabels=[])
        axes.axvline(0.0, color="black", linewidth=0.8)
    labels = [agent if value == "" else f"{agent} {value}" for agent, value in bars.index]
    panels[0].set_yticklabels(labels)
    _write(figure, path)


def _bars(rows: pd.DataFrame) -> pd.DataFrame:
    if rows["value"].notna().any():  # a sweep: values in their order, agents in theirs
        place = rows["agent"].map(AGENTS.index)
        rows = rows.assign(place=place).sort_values(["place", "option", "value"])
    told = rows["value"].map(lambda value: "" if pd.isna(value) else f"{value:g}")
    option = rows["option"].str.replace("_", " ")
    label = told.where(rows["option"] == "usual", option + " " + told)
    side = rows["where"] + ", T=" + rows["time"].astype(str)
    means = rows.assign(label=label, side=side).pivot_table(
        index=["agent", "label"], columns="side", values="joint", sort=False
    )
    means["improvement, T=0 to 1"] = means["outside, T=0"] - means["outside, T=1"]
    return means.iloc[::-1]


def draw_tradeoff(rows: pd.DataFrame, data: str, path: Path) -> None:
    """Inside and outside over a hyper-parameter: a row an option, a column an agent."""
    options, agents = list(rows["option"].unique()), list(rows["agent"].unique())
    figure, panels = _panels(
        len(options), len(agents), f"In against out of distribution: {data}"
    )
    pairs = [(option, agent) for option in options for agent in agents]
    for axes, (option, agent) in zip(panels, pairs, strict=True):
        mine = rows[(rows["option"] == option) & (rows["agent"] == agent)]
        for where, style in (("inside", "o-"), ("outside", "s--")):
            means = mine[mine["where"] == where].groupby("value")["joint"].mean()
            axes.plot(means.index, means, style, color=COLOURS[agent], label=TITLES[where])
        axes.set(title=agent, xlabel=option.replace("_", " "), xscale="log")
    _finish(figure, panels[-1], path, colour="black")  # that of a column is its agent's


def draw_sensitivity(rows: pd.DataFrame, data: str, path: Path) -> None:
    """Loss and its scatter over inference seeds against steps, inside and outside."""
    figure, panels = _panels(2, 2, f"Early stopping and inference seeds: {data}")
    cells = [(column, where) for column in ("joint", "sd") for where in TITLES]
    for axes, (column, where) in zip(panels, cells, strict=True):
        mine = rows[rows["where"] == where]
        _lines(axes, mine, "steps", column)
        heading = "joint log-loss" if column == "joint" else "its sd over inference seeds"
        axes.set(title=TITLES[where], ylabel=heading, xlabel="steps", xscale="log")
        _spread(axes, mine[column])
    _finish(figure, panels[-1], path)


def draw_hyperparameters(rows: pd.DataFrame, data: str, path: Path) -> None:
    """Every setting of a grid, inside against outside."""
    figure, panels = _panels(1, 1, f"Settings of the grids: {data}")
    names = [name for name in ("decay", "rate", "prior_scale", "learning_rate") if name in rows]
    wide = rows.fillna(-1.0).pivot_table(
        index=["agent", *names], columns="where", values="joint"
    )
    for agent in [agent for agent in AGENTS if agent in wide.index.get_level_values(0)]:
        mine = wide.loc[agent]
        panels[0].plot(mine["inside"], mine["outside"], "o", color=COLOURS[agent], label=agent)
    panels[0].set(
        xlabel="in distribution", ylabel="out of distribution", xscale="log", yscale="log"
    )
    _finish(figure, panels[0], path)


def _lines(axes: Any, rows: pd.DataFrame, x: str, y: str) -> None:
    for agent in [agent for agent in AGENTS if agent in set(rows["agent"])]:
        means = rows[rows["agent"] == agent].groupby(x)[y].mean()
        wide = 2.4 if agent in ("gp-mixture", "gp-oracle") else 1.5
        axes.plot(
            means.index,
            means,
            "o-",
            color=COLOURS[agent],
            label=agent,
            linewidth=wide,
            markersize=3,
        )


def _spread(axes: Any, values: pd.Series) -> None:
    """A scale on which the best can be told apart though others are far off."""
    if values.max() > 30.0 * max(values.median(), 1.0):
        axes.set_yscale("symlog", linthresh=max(float(values.abs().quantile(0.2)), 1.0))


def _panels(rows: int, columns: int, title: str) -> tuple[Any, list[Any]]:
    size = (max(3.3 * columns, 5.5), 3.4 * rows + 0.4)
    figure = matplotlib.figure.Figure(figsize=size, layout="constrained", dpi=110)
    figure.suptitle(title)
    panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    return figure, panels


def _finish(figure: Any, last: Any, path: Path, colour: str | None = None) -> None:
    """With a legend beside the panels, in the lines' own colours unless one is given."""
    handles, labels = last.get_legend_handles_labels()
    legend = figure.legend(
        handles, labels, loc="outside right center", frameon=False, fontsize=8
    )
    if colour is not None:
        for line in legend.get_lines():
            line.set_color(colour)
    _write(figure, path)


def _write(figure: Any, path: Path) -> None:
    for axes in figure.axes:
        axes.title.set_fontsize(9)
    save(figure, path)


DRAWN = {
    "ood": draw_ood,
    "dynamic": draw_dynamic,
    "tradeoff": draw_tradeoff,
    "sensitivity": draw_sensitivity,
    "hyperparameters": draw_hyperparameters,
}
