"""What the comparison of gradient estimators says: cosines, factors of roll-outs, a figure."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.table import Table

from experiments.gradient_quality import KINDS, TEMPERATURES
from experiments.gradient_states import rollouts, small_problem
from labelwise.figures import save

SMALL, PER_GROUP, GROUPS = 12, 50, 400  # rows of the enumerated pool, and roll-outs on it
LINES = {
    "reinforce-plain-exact": ("#56B4E9", "-"),
    "reinforce-plain-sampled": ("#56B4E9", ":"),
    "reinforce-baseline-exact": ("#0072B2", "-"),
    "reinforce-baseline-sampled": ("#0072B2", ":"),
    "smoothed-letter-sampled": ("#CC79A7", ":"),
    "smoothed-letter-exact": ("#CC79A7", "-"),
    "smoothed-matched-exact": ("#999999", "-"),
    "smoothed-precision-exact": ("#E69F00", "-"),
    "smoothed-precision-sampled": ("#E69F00", ":"),
    "smoothed-even-exact": ("#009E73", "-"),
    "smoothed-even-sampled": ("#009E73", ":"),
}


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    smoothed = rows[rows["policy"].str.startswith("smoothed") & (rows["repetitions"] > 0)]
    best = smoothed.sort_values("rollouts").groupby(["policy", "seed"]).tail(1)
    truth = rows[rows["policy"] == "truth"]
    return {
        "experiment": "gradient-quality",
        "command": command,
        "states": int(rows["seed"].nunique()),
        "truth_cosine": float(truth["cosine"].min()) if len(truth) else None,
        "cosine": {start: _cosines(rows[rows["start"] == start]) for start in _starts(rows)},
        "lowest_of_mean_gradient": {
            str(name): float(value)
            for name, value in best.groupby("policy", sort=False)["of_mean"].min().items()
        },
        "rollouts_needed": needed(rows[rows["start"] == "uniform"]),
        "enumerated": enumerate_small(),
    }


def _starts(rows: pd.DataFrame) -> list[str]:
    return list(rows["start"].unique())


def _cosines(rows: pd.DataFrame) -> dict[str, Any]:
    """Mean over states, and the standard error over them, by estimator and roll-outs."""
    made = rows[rows["repetitions"] > 0]
    groups = made.groupby(["policy", "rollouts"], sort=False)["cosine"]
    found: dict[str, Any] = {}
    for (name, count), values in groups:  # pyright: ignore[reportGeneralTypeIssues]
        error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
        found.setdefault(str(name), {})[str(count)] = [float(values.mean()), error]
    return found


def needed(rows: pd.DataFrame) -> dict[str, dict[str, list[Any] | None]]:
    """Roll-outs that REINFORCE needs for the cosine of ten smoothed ones, over ten.

    Of the same objective, exact or sampled; without and with a baseline.
    """
    cosines = _cosines(rows)
    found: dict[str, dict[str, list[Any] | None]] = {}
    for name, by_count in cosines.items():
        if name.startswith("smoothed") and "10" in by_count:
            objective = name.partition(" ")[0].rpartition("-")[2]
            rivals = {kind: f"reinforce-{kind}-{objective}" for kind in ("plain", "baseline")}
            found[name] = {
                kind: _reach(cosines[rival], by_count["10"][0]) if rival in cosines else None
                for kind, rival in rivals.items()
            }
    return found


def _reach(by_count: dict[str, list[float]], goal: float) -> list[Any]:
    """By straight lines between logarithms; "more" or "less" where that is a bound."""
    counts = np.log([float(count) for count in by_count])
    values = np.maximum.accumulate([value for value, _ in by_count.values()])
    reached = float(np.exp(np.interp(goal, values, counts)) / 10.0)
    return [reached, "more" if goal > values[-1] else "less" if goal <= values[0] else ""]


def enumerate_small() -> dict[str, float]:
    """Cosine of each estimator's mean with the gradient by enumeration, on a small pool."""
    import jax

    from labelwise.policies.enumeration import Enumeration

    problem, logits = small_problem(SMALL, 0)
    run = lambda estimator, groups: np.asarray(
        rollouts(estimator, jax.random.key(0), problem, logits, groups, PER_GROUP)
    ).mean(axis=0)
    truth = run(Enumeration(), 1)
    exact = {name: kind for name, kind in KINDS.items() if kind.objective == "exact"}
    means = {name: run(kind.estimator, GROUPS) for name, kind in exact.items()}
    length = lambda one: np.sqrt(one @ one)
    return {
        name: float(mean @ truth / (length(mean) * length(truth)))
        for name, mean in means.items()
    }


def tabulate(summary: dict[str, Any]) -> Table:
    """Cosines at the uniform start, mean of the states."""
    counts = ("1", "10", "100", "1000", "10000")
    title = "Cosine with the true gradient, at equal logits, mean of the states"
    table = Table(title=title, box=SIMPLE)
    table.add_column("estimator", no_wrap=True)
    for count in counts:
        table.add_column(f"N={count}", justify="right")
    for name, by_count in summary["cosine"]["uniform"].items():
        shown = (f"{by_count[count][0]:.3f}" if count in by_count else "" for count in counts)
        table.add_row(name, *shown)
    return table


def as_markdown(summary: dict[str, Any]) -> str:
    """Cosines at the uniform start, the lowest of all states, and factors of roll-outs."""
    counts = ("1", "10", "100", "1000", "10000")
    heading = ["estimator", *(f"N = {int(count):,}" for count in counts)]
    heading += ["mean gradient, lowest of the states", "REINFORCE needs", "with baseline"]
    lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    for name, by_count in summary["cosine"]["uniform"].items():
        if name == "truth":
            continue
        cells = [f"{by_count[count][0]:.3f}" if count in by_count else "" for count in counts]
        lowest = summary["lowest_of_mean_gradient"].get(name)
        cells.append("" if lowest is None else f"{lowest:.2f}")
        factors = summary["rollouts_needed"].get(name, {})
        cells += [_factor(factors.get(kind)) for kind in ("plain", "baseline")]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _factor(found: list[Any] | None) -> str:
    if found is None:
        return ""
    value, bound = found
    told = f"{value:.2g} ×" if value < 10 else f"{value:.0f} ×"
    return {"more": "> ", "less": "< ", "": ""}[bound] + told


def draw(rows: pd.DataFrame, folder: Path) -> None:
    """The paper's figure: one panel a temperature, cosine against roll-outs."""
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(10.5, 4.4), layout="constrained", dpi=150)
    cosines = _cosines(rows[rows["start"] == "uniform"])
    panels = figure.subplots(1, len(TEMPERATURES), sharey=True)
    for axes, tau in zip(panels, TEMPERATURES, strict=True):
        for name, (colour, dash) in LINES.items():
            full = name if name.startswith("reinforce") else f"{name} {tau:g}"
            by_count = cosines.get(full, {})
            counts = [int(count) for count in by_count]
            values = [value for value, _ in by_count.values()]
            axes.plot(counts, values, dash, color=colour, marker="o", ms=3, label=name)
        axes.axhline(0.0, color="grey", lw=0.8)
        axes.set(xscale="log", xlabel="roll-outs", title=f"temperature {tau:g}")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("cosine with the true gradient")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, frameon=False, fontsize=7, loc="outside lower center", ncols=5
    )
    save(figure, folder / "cosine.png")
