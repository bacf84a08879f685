"""What the coverage study shows: a table for people, a figure, and tables for the documents."""

from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
from rich.box import SIMPLE
from rich.table import Table

from experiments.coverage import MAIN
from experiments.coverage_campaign import LEVEL

KINDS = {
    "classical": "classical, uniform draws",
    "plain": "belief, hyper-parameters as known",
    "mixture": "belief, mixture",
    "planned": "belief, mixture, planned labels",
    "design": "design-based",
    "anytime": "design-based, at every look",
    "combined": "belief and draws together",
    "by-loss": "the same, drawn by loss",
    "uniform": "the same, drawn uniformly",
}
COLOURS = {
    "classical": "#999999",
    "plain": "#D55E00",
    "mixture": "#56B4E9",
    "planned": "#0072B2",
    "design": "#009E73",
    "anytime": "#CC79A7",
    "combined": "#000000",
    "by-loss": "#E69F00",
    "uniform": "#F0E442",
}
TITLES = {
    "brier": "Brier score",
    "accuracy": "accuracy",
    "recall": "recall",
    "mse": "mean squared error",
    "mae": "mean absolute error",
    "mean": "mean outcome",
}


def tabulate(summary: dict[str, Any]) -> Table:
    table = Table(title="Coverage of 90 % intervals / width relative to classical", box=SIMPLE)
    table.add_column("cell", no_wrap=True)
    for kind in summary["pooled"]:
        table.add_column(kind, justify="right")
    table.add_column("ever missed", justify="right")
    for key, cell in summary["cells"].items():
        entries = [
            f"{kind['coverage']:.2f}/{kind['relative_width']:.2f}"
            for kind in cell["kinds"].values()
        ]
        table.add_row(key, *entries, f"{cell['ever_missed']:.2f}")
    pooled = [f"{coverage:.3f}" for coverage in summary["pooled"].values()]
    table.add_row("all", *pooled, f"{summary['ever_missed_bounded']:.2f}")
    return table


def plot(summary: dict[str, Any], folder: Path) -> None:
    """Coverage and relative width of the main estimand's intervals, a problem a line."""
    cells, shown = _main(summary["cells"]), _shown(summary)
    figure = matplotlib.figure.Figure(figsize=(9.0, 5.2), layout="constrained", dpi=150)
    left, right = figure.subplots(1, 2, sharey=True)
    places = np.arange(len(cells))[::-1]
    for index, kind in enumerate(shown):
        figures = [cell["kinds"][kind] for cell in cells.values()]
        at = places + 0.13 * (len(shown) / 2 - index)
        style = {"fmt": "o", "color": COLOURS[kind], "ms": 5, "label": KINDS[kind]}
        errors = [200.0 * each["standard_error"] for each in figures]
        left.errorbar([100.0 * each["coverage"] for each in figures], at, xerr=errors, **style)
        right.plot(
            [each["relative_width"] for each in figures], at, "o", color=COLOURS[kind], ms=5
        )
    left.axvline(100.0 * LEVEL, color="black", linestyle="--", linewidth=1.0)
    right.axvline(1.0, color="black", linestyle="--", linewidth=1.0)
    left.set_yticks(places, [key.rsplit(" ", 1)[0] for key in cells])
    left.set_xlabel("intervals that hold the truth, % (bars: two standard errors)")
    right.set_xlabel("mean width, relative to the classical interval")
    right.set_xlim(left=0.0)
    for axes in (left, right):
        axes.grid(axis="x", alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=3)
    figure.suptitle("How far can you trust a 90 % interval? (Brier score, or MSE)", fontsize=11)
    figure.savefig(folder / "coverage.png")


def as_markdown(summary: dict[str, Any]) -> str:
    """The main estimand's cells, and the others', as two tables for the documents."""
    main, shown = _main(summary["cells"]), _shown(summary)
    others = {key: cell for key, cell in summary["cells"].items() if key not in main}
    return "\n\n".join(_markdown(cells, shown) for cells in (main, others))


def _markdown(cells: dict[str, Any], shown: list[str]) -> str:
    lines = [
        "| | " + " | ".join(KINDS[kind] for kind in shown) + " | ever missed |",
        "|---|" + "---|" * (len(shown) + 1),
    ]
    for key, cell in cells.items():
        name, estimand = key.split(" ")
        figures = [cell["kinds"][kind] for kind in shown]
        entries = [f"{each['coverage']:.2f} / {each['relative_width']:.2f}" for each in figures]
        missed = f"{100 * cell['ever_missed']:.0f} %"
        lines.append(f"| {name}, {TITLES[estimand]} | {' | '.join(entries)} | {missed} |")
    return "\n".join(lines)


def draws_as_markdown(summary: dict[str, Any]) -> str:
    """What planned draws give over others at equal labels, on average over three estimands."""
    ways = {"combined": "planned", "by-loss": "by loss", "uniform": "uniform"}
    lines = ["| | " + " | ".join(ways.values()) + " |", "|---|" + "---|" * len(ways)]
    by_problem: dict[str, list[Any]] = {}
    for key, cell in summary["cells"].items():
        by_problem.setdefault(key.split(" ")[0], []).append(cell["kinds"])
    every = [kinds for mine in by_problem.values() for kinds in mine]
    for name, cells in [*by_problem.items(), ("all", every)]:
        each = (_drawn(cells, way) for way in ways)
        lines.append(f"| {name} | {' | '.join(each)} |")
    return "\n".join(lines)


def _drawn(cells: list[Any], way: str) -> str:
    """Coverage, width and error of one way to draw; the two of the classical survey's."""
    mean = lambda figure: float(np.mean([figure(kinds) for kinds in cells]))
    held = mean(lambda kinds: kinds[way]["coverage"])
    width = mean(lambda kinds: kinds[way]["relative_width"])
    error = mean(lambda kinds: kinds[way]["rmse"] / kinds["classical"]["rmse"])
    return f"{100 * held:.0f} % / {width:.2f} / {error:.2f}"


def _main(cells: dict[str, Any]) -> dict[str, Any]:
    return {key: cell for key, cell in cells.items() if key.split()[1] in MAIN.values()}


def _shown(summary: dict[str, Any]) -> list[str]:
    """Kinds that were played, but for the any-time interval, which has a column of its own."""
    return [kind for kind in summary["pooled"] if kind != "anytime"]
