"""Tables and the figure of the study of gradients through learning."""

from pathlib import Path
from typing import Any

import matplotlib.figure
import pandas as pd
from rich.box import SIMPLE
from rich.table import Table

from experiments.unroll import FEW, FIGURES, MODES, SETTINGS

COLOURS = {
    "unroll": "#000000",
    "last 5": "#56B4E9",
    "last 10": "#0072B2",
    "last half": "#009E73",
    "forward": "#E69F00",
    "implicit": "#D55E00",
}
PANELS = {
    "logits_cosine_unroll": "cosine with the full unroll, mean",
    "logits_cosine_0.01": "cosine with differences of 0.01, mean",
    "seconds": "seconds a gradient",
    "temporary_mb": "temporary memory, MB",
}
VARIANTS = {"paper": "ReLU, Adam 0.1", "smooth": "tanh, Adam 0.01"}


_HOW: dict[str, Any] = {
    name: "mean" if "cosine" in name else "median"
    for name in (*FIGURES, "seconds", "seconds_over_unroll", "temporary_mb")
}


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """By setting and mode, over seeds: means of cosines, medians of everything else.

    Directions that agree on some seeds and are opposite on others should not look right.
    """
    rows = rows.assign(seconds_over_unroll=_over_unroll(rows))
    main, few = rows[rows["policy"] != FEW], rows[rows["policy"] == FEW]
    found = {name: _setting(main[main["policy"] == name]) for name in SETTINGS}
    return {
        "experiment": "unroll",
        "command": command,
        "seeds": int(rows["seed"].nunique()),
        "settings": {name: one for name, one in found.items() if one},
        "forward_over_unroll": _forward_over_unroll(few),
    }


def _setting(rows: pd.DataFrame) -> dict[str, Any]:
    if rows.empty:
        return {}
    by_mode: Any = rows.groupby("mode")[list(_HOW)].agg(_HOW).to_dict("index")
    return {
        "stationarity": float(rows["stationarity"].median()),
        "modes": {mode: {name: float(by_mode[mode][name]) for name in _HOW} for mode in MODES},
    }


def _over_unroll(rows: pd.DataFrame) -> pd.Series:
    """Seconds over those of the unroll beside it: the load of the machine falls on both."""
    same = ["policy", "seed", "rows"]
    unroll = rows[rows["mode"] == "unroll"].set_index(same)["seconds"]
    beside = unroll.loc[pd.MultiIndex.from_frame(rows[same])].to_numpy()
    return rows["seconds"] / beside


def _forward_over_unroll(rows: pd.DataFrame) -> dict[str, float]:
    """Seconds of forward gradients over those of the unroll, by number of rows."""
    forward = rows[rows["mode"] == "forward"].groupby("rows")["seconds_over_unroll"].median()
    return {str(count): float(ratio) for count, ratio in forward.items()}


def tabulate(summary: dict[str, Any]) -> Table:
    """A mode a row; cosines of gradients in the logits, time and memory."""
    title = f"Gradients through learning, over {summary['seeds']} seeds"
    table = Table(title=title, box=SIMPLE)
    headings = ("mode", "cos unroll", "error", "cos longest", "cos 0.01", "ms", "MB")
    for heading in headings:
        first = heading == "mode"
        table.add_column(heading, justify="left" if first else "right", no_wrap=first)
    for name, setting in summary["settings"].items():
        table.add_row(name, style="bold")
        for mode, found in setting["modes"].items():
            table.add_row(f"  {mode}", *_cells(found))
    return table


def _cells(found: dict[str, float]) -> list[str]:
    return [
        f"{found['logits_cosine_unroll']:.3f}",
        f"{found['logits_error_unroll']:.2g}",
        f"{found['logits_cosine_longest']:.3f}",
        f"{found['logits_cosine_0.01']:.3f}",
        f"{1e3 * found['seconds']:.0f}",
        f"{found['temporary_mb']:.0f}",
    ]


def as_markdown(summary: dict[str, Any]) -> str:
    """A setting a row: cosine with the unroll, time over the unroll's and MB of each mode."""
    short = [mode for mode in MODES if mode != "unroll"]
    lines = [
        "| units, steps | slope left | `unroll` | to 10⁻⁴ | to 10⁻² | "
        + " | ".join(f"`{mode}`" for mode in short)
        + " |",
        "|---" * (5 + len(short)) + "|",
    ]
    for name, setting in summary["settings"].items():
        modes, exact = setting["modes"], setting["modes"]["unroll"]
        cells = [
            name.replace("paper", "ReLU").replace("smooth", "tanh").removesuffix(" steps"),
            f"{setting['stationarity']:.2g}",
            f"{1e3 * exact['seconds']:.0f} ms, {exact['temporary_mb']:.0f} MB",
            f"{exact['logits_cosine_0.0001']:.2f}",
            f"{exact['logits_cosine_0.01']:.2f}",
            *(_cell(modes[mode]) for mode in short),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(found: dict[str, float]) -> str:
    cosine, ratio = found["logits_cosine_unroll"], found["seconds_over_unroll"]
    return f"{cosine:.2f}, {ratio:.1f} ×, {found['temporary_mb']:.0f} MB"


def draw(rows: pd.DataFrame, folder: Path) -> None:
    """A line a mode against steps of learning; a row of panels for each kind of network."""
    rows = rows[rows["policy"] != FEW]
    shown = {name: title for name, title in VARIANTS.items() if name in set(rows["variant"])}
    if not shown:
        return
    figure = matplotlib.figure.Figure(figsize=(13.0, 6.0), layout="constrained", dpi=120)
    grid = figure.subplots(len(shown), len(PANELS), sharex=True, squeeze=False)
    for line, (variant, title) in zip(grid, shown.items(), strict=True):
        for axes, (column, label) in zip(line, PANELS.items(), strict=True):
            _panel(axes, rows[rows["variant"] == variant], column)
            axes.set_title(f"{label}\n{title}", fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel("steps of learning")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(MODES), frameon=False)
    figure.savefig(folder / "unroll.png")


def _panel(axes, rows: pd.DataFrame, column: str) -> None:
    """Seeds as pale dots, a little apart by mode, so that opposite directions are seen."""
    for place, mode in enumerate(MODES):
        mine = rows[rows["mode"] == mode]
        middle = mine.groupby("steps")[column].agg(_HOW[column])
        apart = 1.04 ** (place - 0.5 * len(MODES))
        style = {"color": COLOURS[mode], "ls": "--" if mode == "forward" else "-"}
        axes.plot(middle.index * apart, middle, label=mode, lw=1.8, **style)
        axes.plot(mine["steps"] * apart, mine[column], "o", ms=3, alpha=0.4, c=COLOURS[mode])
    steps = sorted(rows["steps"].unique())
    axes.set_xscale("log")
    axes.set_xticks(steps, [str(count) for count in steps])
    if column.startswith("logits"):
        axes.set_ylim(-1.08, 1.08)
        axes.axhline(0.0, color="black", linewidth=0.6)
    else:
        axes.set_yscale("log")
        ticks = (0.01, 0.1, 1.0) if column == "seconds" else (5, 10, 20, 50)
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
