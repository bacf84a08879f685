"""Figures: how fast each policy sharpens the answer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.figure
import pandas as pd

from labelwise.errors import InvalidInput

# One colour a policy, the same in every figure (Okabe and Ito's palette, safe for the
# colour-blind, and one of Tol's); variants of a policy share its colour.
COLOURS = {
    "average": "#000000",
    "campaign": "#882255",
    "random": "#999999",
    "uncertainty": "#E69F00",
    "uncertainty-sequential": "#D55E00",
    "integrated-variance": "#009E73",
    "reinforce": "#56B4E9",
    "smoothed-autodiff": "#CC79A7",
    "lookahead": "#0072B2",
}


def plot_forecast(
    labels: Sequence[int],
    planned: Sequence[float],
    random: Sequence[float],
    policy: str,
    path: str | Path,
) -> None:
    """Expected standard deviation against further labels, for the plan and for random rows."""
    figure, axes = one_panel("further labels", "expected standard deviation")
    axes.plot(labels, random, color=COLOURS["random"], label="random rows")
    colour = COLOURS.get(policy, "black")
    axes.plot(labels, planned, "o-", color=colour, label=policy, linewidth=2.4, markersize=4)
    axes.set(ylim=(0.0, None), title="What further labels are expected to bring")
    axes.legend(frameon=False)
    save(figure, path)


def plot_rehearsal(rows: pd.DataFrame, truth: float, path: str | Path, *, title: str) -> None:
    """Two panels against labels bought: root mean squared error, and the belief's own width."""
    figure, (left, right) = two_panels(
        "root mean squared error, % of the truth", "standard deviation claimed, % of the truth"
    )
    for policy in rows["policy"].unique():
        by_labels = rows[rows["policy"] == policy].groupby("labels")
        error, std = root_mean_squares(by_labels), by_labels["std"].mean()
        left.plot(error.index, error / abs(truth) * 100.0, **line_of(policy))
        right.plot(std.index, std / abs(truth) * 100.0, **line_of(policy))
    finish_panels(figure, title, path)


def root_mean_squares(groups: Any) -> pd.Series:
    """Of the errors in each group of rows."""
    return groups["error"].apply(lambda error: float((error**2).mean() ** 0.5))


def line_of(policy: str) -> dict[str, Any]:
    """How a policy's curve is drawn."""
    return {
        "label": policy,
        "color": COLOURS.get(family_of(policy), "black"),
        "linewidth": 2.4 if policy in ("lookahead", "campaign") else 1.5,
    }


# Ways that are compared, and the policies whose lines they have.
COMPARED = {"planned": "lookahead", "random": "random", "classical": "average"}


def plot_comparison(rows: pd.DataFrame, path: str | Path, *, title: str) -> None:
    """Two panels against labels bought: error and width of 90 % intervals, one curve a way.

    Beside each width stands how often such intervals held.
    """
    figure, (left, right) = two_panels(
        "root mean squared error", "width of the 90 % interval, on average"
    )
    for way, policy in COMPARED.items():
        by_labels = rows[rows["way"] == way].groupby("labels")
        line = line_of(policy) | {"label": way, "marker": "o", "markersize": 4}
        error, width = root_mean_squares(by_labels), by_labels["width"].mean()
        left.plot(error.index, error, **line)
        right.plot(width.index, width, **line)
        _say_held(right, width, by_labels["held"].mean(), line["color"], way == "planned")
    for axes in (left, right):
        axes.set_xticks(sorted(rows["labels"].unique()))
        axes.margins(x=0.12)
    finish_panels(figure, title, path)


def _say_held(axes, width: pd.Series, held: pd.Series, colour: str, below: bool) -> None:
    for labels, high, share in zip(held.index, width, held, strict=True):
        axes.annotate(
            f"{100 * share:.0f} % held",
            (labels, high),
            xytext=(0, -14 if below else 8),
            textcoords="offset points",
            color=colour,
            fontsize=8,
            ha="center",
        )


def one_panel(x: str, y: str):
    figure = matplotlib.figure.Figure(figsize=(6.4, 4.2), layout="constrained", dpi=150)
    axes = figure.subplots()
    _prepare(axes, x, y)
    return figure, axes


def two_panels(*labels: str):
    """Two figures of merit against labels bought."""
    figure = matplotlib.figure.Figure(figsize=(9.6, 4.0), layout="constrained", dpi=150)
    panels = figure.subplots(1, 2)
    for axes, label in zip(panels, labels, strict=True):
        _prepare(axes, "labels bought", label)
        axes.yaxis.label.set_size(9)
    return figure, panels


def finish_panels(figure: Any, title: str, path: str | Path) -> None:
    """From zero on, with one legend and a title."""
    for axes in figure.axes:
        axes.set_ylim(0.0, None)
    # Beside the panels: with many policies no corner of them is free.
    beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    figure.axes[-1].legend(frameon=False, fontsize=8, **beside)
    figure.suptitle(title, fontsize=11)
    save(figure, path)


def _prepare(axes, x: str, y: str) -> None:
    axes.set(xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)


def save(figure: matplotlib.figure.Figure, path: str | Path) -> None:
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"The figure cannot be written to {path} ({error})",
            "give a .png or .svg file in a folder one can write to",
            where=str(path),
        ) from None


def family_of(policy: str) -> str:
    """The longest policy name that `policy` starts with: 'reinforce-exact' is a reinforce."""
    known = [name for name in COLOURS if policy.startswith(name)]
    return max(known, key=len, default=policy)
