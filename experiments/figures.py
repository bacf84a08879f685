"""Figures of the studies: policies against labels bought, or against rounds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from labelwise.figures import (
    family_of,
    finish_panels,
    line_of,
    one_panel,
    root_mean_squares,
    save,
    two_panels,
)

DASHES = ["-", "--", ":", "-."]


def plot_by_labels(
    rows: pd.DataFrame, policies: Sequence[str], path: str | Path, *, title: str, unit: str
) -> None:
    """Two panels against labels bought: the belief's own width, and root mean squared error.

    Widths have a band of one standard error over seeds.
    """
    figure, (left, right) = two_panels(
        f"standard deviation claimed, {unit}", f"root mean squared error, {unit}"
    )
    shown = [name for name in policies if name in set(rows["policy"])]
    for policy, line in _lines(shown).items():
        by_labels = rows[rows["policy"] == policy].groupby("labels")
        _with_band(left, by_labels["std"].mean(), by_labels["std"].sem(), line)
        error = root_mean_squares(by_labels)
        right.plot(error.index, error, **line)
    finish_panels(figure, title, path)


def plot_rounds(
    rows: pd.DataFrame, column: str, path: str | Path, *, label: str, title: str
) -> None:
    """Mean of `column` by round and policy, with a band of one standard error over seeds.

    `rows` has the columns policy, seed, round and `column`. The figure goes to `path`.
    """
    figure, axes = one_panel("round", label)
    for policy, line in _lines(list(rows["policy"].unique())).items():
        by_round = rows[rows["policy"] == policy].groupby("round")[column]
        # A log axis has no room for zero.
        _with_band(axes, by_round.mean(), by_round.sem(), line, lowest=0.05)
    axes.set(yscale="log", title=title)
    axes.legend(frameon=False, fontsize=8)
    save(figure, path)


def _with_band(axes: Any, mean: Any, error: Any, line: dict[str, Any], lowest=None) -> None:
    """A curve with its standard error, no lower than some share of the mean."""
    error = error.fillna(0.0)
    low = mean - error if lowest is None else (mean - error).clip(lower=mean * lowest)
    axes.plot(mean.index, mean, **line)
    axes.fill_between(mean.index, low, mean + error, color=line["color"], alpha=0.15, lw=0)


def _lines(policies: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour by family; variants of a family differ in their dashes."""
    families = [family_of(policy) for policy in policies]
    dashes = [families[:place].count(family) for place, family in enumerate(families)]
    return {
        policy: line_of(policy) | {"linestyle": DASHES[dash % len(DASHES)]}
        for policy, dash in zip(policies, dashes, strict=True)
    }
