"""Figures: how fast each policy sharpens the answer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.figure
import pandas as pd

from labelwise.errors import InvalidInput

# One colour a policy, the same in every figure (Okabe and Ito's palette, safe for the
# colour-blind); variants of a policy share its colour and differ in the line.
COLOURS = {
    "average": "#000000",
    "random": "#999999",
    "uncertainty": "#E69F00",
    "uncertainty-sequential": "#D55E00",
    "integrated-variance": "#009E73",
    "reinforce": "#56B4E9",
    "smoothed-autodiff": "#CC79A7",
    "lookahead": "#0072B2",
}
DASHES = ["-", "--", ":", "-."]


def plot_forecast(
    labels: Sequence[int],
    planned: Sequence[float],
    random: Sequence[float],
    policy: str,
    path: str | Path,
) -> None:
    """Expected standard deviation against further labels, for the plan and for random rows."""
    figure, axes = _axes("further labels", "expected standard deviation")
    axes.plot(labels, random, color=COLOURS["random"], label="random rows")
    colour = COLOURS.get(policy, "black")
    axes.plot(labels, planned, "o-", color=colour, label=policy, linewidth=2.4, markersize=4)
    axes.set(ylim=(0.0, None), title="What further labels are expected to bring")
    axes.legend(frameon=False)
    _save(figure, path)


def plot_rehearsal(rows: pd.DataFrame, truth: float, path: str | Path, *, title: str) -> None:
    """Two panels against labels bought: root mean squared error, and the belief's own width."""
    figure = matplotlib.figure.Figure(figsize=(9.6, 4.0), layout="constrained", dpi=150)
    left, right = figure.subplots(1, 2)
    for policy in rows["policy"].unique():
        mine = rows[rows["policy"] == policy].groupby("labels")
        error = mine["error"].apply(lambda error: float((error**2).mean() ** 0.5))
        style = {"color": COLOURS.get(_family(policy), "black"), "label": policy}
        style["linewidth"] = 2.4 if policy == "lookahead" else 1.5
        left.plot(error.index, error / abs(truth) * 100.0, **style)
        std = mine["std"].mean()
        right.plot(std.index, std / abs(truth) * 100.0, **style)
    left.set(xlabel="labels bought", ylabel="root mean squared error, % of the truth")
    right.set(xlabel="labels bought", ylabel="standard deviation claimed, % of the truth")
    for axes in (left, right):
        _plain(axes)
        axes.set_ylim(0.0, None)
        axes.yaxis.label.set_size(9)
    right.legend(frameon=False, fontsize=8)
    figure.suptitle(title, fontsize=11)
    _save(figure, path)


def plot_by_labels(
    rows: pd.DataFrame, policies: Sequence[str], path: str | Path, *, title: str, unit: str
) -> None:
    """Two panels against labels bought: the belief's own width, and root mean squared error.

    Widths have a band of one standard error over seeds.
    """
    figure = matplotlib.figure.Figure(figsize=(9.6, 4.0), layout="constrained", dpi=150)
    left, right = figure.subplots(1, 2)
    styles: dict[str, int] = {}
    for policy in (name for name in policies if name in set(rows["policy"])):
        mine = rows[rows["policy"] == policy].groupby("labels")
        std, band = mine["std"].mean(), mine["std"].sem().fillna(0.0)
        error = mine["error"].apply(lambda error: float((error**2).mean() ** 0.5))
        line = _line(policy, styles)
        left.plot(std.index, std, **line)
        left.fill_between(
            std.index, std - band, std + band, color=line["color"], alpha=0.15, lw=0
        )
        right.plot(error.index, error, **line)
    left.set(xlabel="labels bought", ylabel=f"standard deviation claimed, {unit}")
    right.set(xlabel="labels bought", ylabel=f"root mean squared error, {unit}")
    for axes in (left, right):
        _plain(axes)
        axes.set_ylim(0.0, None)
        axes.yaxis.label.set_size(9)
    right.legend(frameon=False, fontsize=8)
    figure.suptitle(title, fontsize=11)
    _save(figure, path)


def plot_intervals(rows: pd.DataFrame, truth: float, path: str | Path, *, title: str) -> None:
    """Estimates with 90 % intervals against labels bought, one band a policy, and the truth."""
    figure, axes = _axes("labels bought", "estimate with its 90 % interval")
    for policy in rows["policy"].unique():
        mine = rows[rows["policy"] == policy].sort_values("labels")
        colour = COLOURS.get(_family(policy), "black")
        axes.plot(mine["labels"], mine["estimate"], "o-", color=colour, label=policy, ms=3.5)
        axes.fill_between(
            mine["labels"], mine["low"], mine["high"], color=colour, alpha=0.2, lw=0
        )
    axes.axhline(truth, color="black", linestyle="--", linewidth=1.0, label="truth")
    axes.set_title(title)
    axes.legend(frameon=False)
    _save(figure, path)


def plot_rounds(
    rows: pd.DataFrame, column: str, path: str | Path, *, label: str, title: str
) -> None:
    """Mean of `column` by round and policy, with a band of one standard error over seeds.

    `rows` has the columns policy, seed, round and `column`. The figure goes to `path`.
    """
    figure, axes = _axes("round", label)
    styles: dict[str, int] = {}
    for policy in rows["policy"].unique():
        by_round = rows[rows["policy"] == policy].groupby("round")[column]
        mean, error = by_round.mean(), by_round.sem().fillna(0.0)
        line = _line(policy, styles)
        axes.plot(mean.index, mean, **line)
        low = (mean - error).clip(lower=mean * 0.05)  # a log axis has no room for zero
        axes.fill_between(mean.index, low, mean + error, color=line["color"], alpha=0.15, lw=0)
    axes.set(yscale="log", title=title)
    axes.legend(frameon=False, fontsize=8)
    _save(figure, path)


def _line(policy: str, styles: dict[str, int]) -> dict[str, Any]:
    """Colour by family; variants of a family, counted in `styles`, differ in their dashes."""
    family = _family(policy)
    dash = DASHES[styles.setdefault(family, 0) % len(DASHES)]
    styles[family] += 1
    return {
        "label": policy,
        "color": COLOURS.get(family, "black"),
        "linestyle": dash,
        "linewidth": 2.4 if policy == "lookahead" else 1.5,
    }


def _axes(x: str, y: str):
    figure = matplotlib.figure.Figure(figsize=(6.4, 4.2), layout="constrained", dpi=150)
    axes = figure.subplots()
    axes.set(xlabel=x, ylabel=y)
    _plain(axes)
    return figure, axes


def _plain(axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)


def _save(figure: matplotlib.figure.Figure, path: str | Path) -> None:
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"The figure cannot be written to {path} ({error})",
            "give a .png or .svg file in a folder one can write to",
            where=str(path),
        ) from None


def _family(policy: str) -> str:
    """The longest policy name that `policy` starts with: 'reinforce-exact' is a reinforce."""
    known = [name for name in COLOURS if policy.startswith(name)]
    return max(known, key=len, default=policy)
