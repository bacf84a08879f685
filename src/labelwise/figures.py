"""Figures of simulated rounds: how fast each policy sharpens the answer."""

from pathlib import Path

import matplotlib
import matplotlib.figure
import pandas as pd

# One colour a policy, the same in every figure (Okabe and Ito's palette, safe for the
# colour-blind); variants of a policy share its colour and differ in the line.
COLOURS = {
    "random": "#999999",
    "uncertainty": "#E69F00",
    "uncertainty-sequential": "#D55E00",
    "integrated-variance": "#009E73",
    "reinforce": "#56B4E9",
    "smoothed-autodiff": "#CC79A7",
    "lookahead": "#0072B2",
}
DASHES = ["-", "--", ":", "-."]


def plot_rounds(
    rows: pd.DataFrame, column: str, path: str | Path, *, label: str, title: str
) -> None:
    """Mean of `column` by round and policy, with a band of one standard error over seeds.

    `rows` has the columns policy, seed, round and `column`. The figure goes to `path`.
    """
    figure = matplotlib.figure.Figure(figsize=(6.4, 4.2), layout="constrained", dpi=150)
    axes = figure.subplots()
    styles: dict[str, int] = {}
    for policy in rows["policy"].unique():
        by_round = rows[rows["policy"] == policy].groupby("round")[column]
        mean, error = by_round.mean(), by_round.sem().fillna(0.0)
        family = _family(policy)
        dash = DASHES[styles.setdefault(family, 0) % len(DASHES)]
        styles[family] += 1
        colour = COLOURS.get(family, "black")
        width = 2.4 if policy == "lookahead" else 1.5
        axes.plot(mean.index, mean, dash, label=policy, linewidth=width, color=colour)
        low = (mean - error).clip(lower=mean * 0.05)  # a log axis has no room for zero
        axes.fill_between(mean.index, low, mean + error, color=colour, alpha=0.15, lw=0)
    axes.set(yscale="log", xlabel="round", ylabel=label, title=title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.legend(frameon=False, fontsize=8)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _family(policy: str) -> str:
    """The longest policy name that `policy` starts with: 'reinforce-exact' is a reinforce."""
    known = [name for name in COLOURS if policy.startswith(name)]
    return max(known, key=len, default=policy)
