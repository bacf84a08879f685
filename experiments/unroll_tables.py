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
    "logits_cosine_unroll": "cosine with the full unroll",
    "logits_cosine_0.01": "cosine with differences of 0.01",
    "seconds": "seconds a gradient",
    "temporary_mb": "temporary memory, MB",
}
VARIANTS = {"paper": "ReLU, Adam 0.1", "smooth": "tanh, Adam 0.01"}


_HOW: dict[str, Any] = {
    name: "mean" if "cosine" in name else "median"
    for name in (*FIGURES, "seconds", "temporary_mb")
}


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """By setting and mode, over seeds: means of cosines, medians of everything else.

    Directions that agree on some seeds and are opposite on others should not look right.
    """
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


def _forward_over_unroll(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Time and memory of forward gradients over those of the unroll, by number of rows."""
    found: dict[str, dict[str, float]] = {}
    for name in ("seconds", "temporary_mb"):
        both: Any = rows.groupby(["rows", "mode"])[name].median().to_dict()
        ratio = lambda count, both=both: both[count, "forward"] / both[count, "unroll"]
        found[name] = {str(count): float(ratio(count)) for count in sorted(set(rows["rows"]))}
    return found


def tabulate(summary: dict[str, Any]) -> Table:
    """A mode a row; cosines of gradients in the logits, time and memory."""
    title = f"Gradients through learning, over {summary['seeds']} seeds"
    table = Table(title=title, box=SIMPLE)
    headings = ("mode", "cos unroll", "error", "cos longest", "cos 0.01", "ms", "MB")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "mode" else "right")
    for name, setting in summary["settings"].items():
        table.add_row(f"{name} (slope {setting['stationarity']:.2g})", style="bold")
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
    """A setting a row: cosine with the unroll, milliseconds and MB of each mode."""
    short = [mode for mode in MODES if mode != "unroll"]
    lines = [
        "| units, steps | slope left | `unroll` | against 10⁻⁴ | against 10⁻² | "
        + " | ".join(f"`{mode}`" for mode in short)
        + " |",
        "|---" * (5 + len(short)) + "|",
    ]
    for name, setting in summary["settings"].items():
        modes, exact = setting["modes"], setting["modes"]["unroll"]
        cells = [
            name.replace("paper", "ReLU").replace("smooth", "tanh").removesuffix(" steps"),
            f"{setting['stationarity']:.2g}",
            _cost(exact),
            f"{exact['logits_cosine_0.0001']:.2f}",
            f"{exact['logits_cosine_0.01']:.2f}",
            *(
                f"{modes[mode]['logits_cosine_unroll']:.2f}, {_cost(modes[mode])}"
                for mode in short
            ),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cost(found: dict[str, float]) -> str:
    return f"{1e3 * found['seconds']:.0f} / {found['temporary_mb']:.0f}"


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
    for mode in MODES:
        mine = rows[rows["mode"] == mode].groupby("steps")[column]
        middle = mine.agg(_HOW[column])
        style = {"color": COLOURS[mode], "ls": "--" if mode == "forward" else "-"}
        axes.plot(middle.index, middle, "o", label=mode, ms=3.5, **style)
        axes.fill_between(middle.index, mine.min(), mine.max(), color=COLOURS[mode], alpha=0.1)
    steps = sorted(rows["steps"].unique())
    axes.set_xscale("log")
    axes.set_xticks(steps, [str(count) for count in steps], minor=False)
    axes.minorticks_off()
    if column.startswith("logits"):
        axes.set_ylim(-1.08, 1.08)
        axes.axhline(0.0, color="black", linewidth=0.6)
    else:
        axes.set_yscale("log")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
