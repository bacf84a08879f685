"""What came of campaigns in other settings: coverage, width and error."""

from typing import Any

import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.table import Table as Shown

from experiments.settings_arms import (
    CLASSES,
    EARLY,
    NUMBERS,
    arms,
    is_on_all_tables,
    setting_of,
)

FOUR = "as usual, the four tables of others"  # that settings other than models have
KINDS = ("combined", "belief", "design", "classical")


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """Coverage, width and error in every cell, and pooled over the cells of a setting."""
    told = rows.dropna(subset=["truth"])
    cells = {
        f"{arm}, {labels:g} bought, {name}": _cell(mine)
        for (arm, labels, name), mine in told.groupby(
            ["policy", "labels", "estimand"], sort=False
        )
    }
    return {
        "experiment": "settings",
        "command": command,
        "campaigns": int(rows["seed"].nunique()),
        "failed": int(rows["failed"].fillna(0).sum()),
        "seconds": float(rows["seconds"].sum()),
        "pooled": _pooled(told),
        "forecast": _of_forecasts(told),
        "cells": cells,
    }


def _of_forecasts(rows: pd.DataFrame) -> dict[str, Any]:
    """Widths over those foretold, and labels that they took over those foretold."""
    told = rows.dropna(subset=["forecast"])
    width = (told["combined_high"] - told["combined_low"]) / told["forecast"]
    needed = told.get("needed", pd.Series(dtype=float)).dropna()
    labels = told["labels"][needed.index] / (EARLY + needed)  # in all
    return {"width": _ratio(width), "labels": _ratio(labels)}


def _ratio(ratio: pd.Series) -> dict[str, float]:
    if ratio.empty:
        return {"campaigns": 0}
    middle = ratio.quantile([0.1, 0.5, 0.9])
    return {
        "campaigns": len(ratio),
        "mean": float(ratio.mean()),
        "standard_error": float(ratio.std(ddof=1) / np.sqrt(len(ratio))),
        **{f"quantile {chance:g}": float(value) for chance, value in middle.items()},
    }


def _cell(rows: pd.DataFrame) -> dict[str, Any]:
    truth, usual = rows["truth"], rows["classical_high"] - rows["classical_low"]
    kinds = {}
    for kind in KINDS:
        low, high = rows[f"{kind}_low"], rows[f"{kind}_high"]
        held = float(((low <= truth) & (truth <= high))[low.notna()].mean())
        kinds[kind] = {
            "coverage": held,
            "standard_error": float(np.sqrt(max(held * (1.0 - held), 1e-12) / len(rows))),
            "relative_width": float((high - low).mean() / usual.mean()),
            "rmse": float(np.sqrt(((rows[f"{kind}_value"] - truth) ** 2).mean())),
        }
    ever = float(rows["ever_missed"].mean())
    return {"campaigns": len(rows), "ever_missed": ever, "kinds": kinds}


def _pooled(rows: pd.DataFrame) -> dict[str, Any]:
    """By setting and labels: on average over tables and estimands, which count alike."""
    found = {}
    setting = rows["policy"].map(setting_of)
    some = rows[rows["policy"].isin([*CLASSES, *NUMBERS])]
    rows = pd.concat([rows.assign(setting=setting), some.assign(setting=FOUR)])
    for (setting, labels), mine in rows.groupby(["setting", "labels"]):
        each = [_cell(cell) for _, cell in mine.groupby(["policy", "estimand"])]
        campaigns = mine.drop_duplicates(["policy", "seed"])
        kinds = {}
        for kind in KINDS:
            figures = [cell["kinds"][kind] for cell in each]
            held = float(np.mean([one["coverage"] for one in figures]))
            kinds[kind] = {
                "coverage": held,
                "standard_error": float(np.sqrt(held * (1.0 - held) / len(campaigns))),
                "relative_width": float(np.mean([one["relative_width"] for one in figures])),
            }
        found[f"{setting}, {labels:g} bought"] = {
            "cells": len(each),
            "campaigns": len(campaigns),
            "lowest": float(min(cell["kinds"]["combined"]["coverage"] for cell in each)),
            "ever_missed": float(np.mean([cell["ever_missed"] for cell in each])),
            "kinds": kinds,
        }
    return found


def as_markdown(summary: dict[str, Any]) -> str:
    """Pooled figures for the documents."""
    lines = [["setting", *KINDS, "lowest cell", "campaigns"], ["---"] + ["---:"] * 6]
    for name, found in _in_order(summary):
        each = (
            f"{100 * one['coverage']:.0f} % / {one['relative_width']:.2f}"
            for one in found["kinds"].values()
        )
        lines.append([name, *each, f"{100 * found['lowest']:.0f} %", str(found["campaigns"])])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _in_order(summary: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """As arms come: the usual campaign first."""
    everywhere = dict.fromkeys(setting_of(arm) for arm in arms() if is_on_all_tables(arm))
    others = dict.fromkeys(setting_of(arm) for arm in arms() if not is_on_all_tables(arm))
    order = [*everywhere, FOUR, *others]
    place = lambda item: order.index(item[0].rsplit(",", 1)[0])
    return sorted(summary["pooled"].items(), key=place)


def tabulate(summary: dict[str, Any]) -> Shown:
    title = "90 % intervals: coverage ± standard error / width of classical"
    shown = Shown(title=title, box=SIMPLE)
    for heading in ("setting", *KINDS, "lowest cell"):
        shown.add_column(heading, justify="left" if heading == "setting" else "right")
    for name, found in _in_order(summary):
        cells = (
            f"{100 * one['coverage']:.0f} ± {100 * one['standard_error']:.0f} % / "
            f"{one['relative_width']:.2f}"
            for one in found["kinds"].values()
        )
        shown.add_row(name, *cells, f"{100 * found['lowest']:.0f} %")
    return shown
