"""What the simulation of the two theorems says: their claims one by one, a table, a figure."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.table import Table

from experiments.theory import KS, SAMPLES, TEMPERATURES, best_temperature, make_general
from experiments.theory_formulas import (
    Error,
    General,
    binary_score,
    binary_smooth,
    first_order,
    general_score,
    general_smooth,
    printed_bias,
    printed_bound,
    printed_samples,
    right_samples,
)
from labelwise.figures import save, two_panels

COLOURS = ("#0072B2", "#CC79A7", "#D55E00")
SHOWN = ("binary/low", "linear-3/low", "linear-3/high")
DRAWS = 20_000  # of each temperature in the figure, where there is no closed form
COLD = ("smooth 0.01", "smooth 0.03", "smooth 0.1")
FINE = np.geomspace(0.01, 1000.0, 80)  # temperatures among which the best is sought


def opposed(k: int) -> General:
    """E[a] lies beyond a_1, the plain mean before it: smoothing pulls the other way."""
    return General(np.array([0.2, -1.0, 0.3]), np.array([1.0 / k, 0.02, 1.0]), 0, False)


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    known = rows.dropna(subset=["formula"])
    error = np.hypot(known["standard_error"].to_numpy(), known["formula_error"].to_numpy())
    error = np.maximum(error, 1e-9)  # a variance of none has no spread
    far = ((known["mse"] - known["formula"]) / error).abs()
    return {
        "experiment": "theory",
        "command": command,
        "seeds": int(rows["seed"].nunique()),
        "simulated": len(known),
        "beyond_three_standard_errors": {
            kind: int((far[known["estimator"].str.startswith(kind)] > 3.0).sum())
            for kind in ("score", "smooth")
        },
        "of_them_too_low": int(((far > 3.0) & (known["mse"] < known["formula"])).sum()),
        "of_them_cold": int(((far > 3.0) & known["estimator"].isin(COLD)).sum()),
        "theorem_1": _theorem_1(rows),
        "theorem_2": _theorem_2(rows),
        "printed_formulas": _printed(),
    }


def _theorem_1(rows: pd.DataFrame) -> dict[str, Any]:
    """Within its range of N: is the smoothed error below REINFORCE's, and below 4?"""
    cases = []
    for k in KS:
        theta, score = 1.0 / k, binary_score(1.0 / k)
        for samples in SAMPLES:
            errors = [binary_smooth(theta, tau).mse(samples) for tau in FINE]
            cases.append(
                {
                    "k": k,
                    "samples": samples,
                    "within": samples <= 1.0 / (4.0 * theta * (1.0 - theta)) - 1.0,
                    "best_temperature": float(FINE[np.argmin(errors)]),
                    "smooth": float(np.min(errors)),
                    "score": score.mse(samples),
                    "score_baseline": _simulated(rows, "binary/low", k, samples),
                }
            )
    within = [case for case in cases if case["within"]]
    return {
        "holds": all(case["smooth"] < min(4.0, case["score"]) for case in within),
        "cases": cases,
    }


def _simulated(rows: pd.DataFrame, name: str, k: int, samples: int) -> float | None:
    """With a baseline, which needs two samples."""
    mine = rows[(rows["policy"] == name) & (rows["k"] == k) & (rows["samples"] == samples)]
    found = mine[mine["estimator"] == "score-baseline"]["mse"]
    return float(found.mean()) if len(found) else None


def _theorem_2(rows: pd.DataFrame) -> dict[str, Any]:
    """REINFORCE's error by k at the two ends; whether the smoothed one is below gradient²."""
    score = rows[(rows["estimator"] == "score") & (rows["samples"] == 1)]
    by_k = score.pivot_table(index="policy", columns="k", values="formula")
    best = best_temperature(rows)
    below = best["mse"] <= best["gradient"] ** 2 + 2.0 * best["standard_error"]
    return {
        "score_mse_by_k": {
            str(name): {str(k): float(value) for k, value in line.items()}
            for name, line in by_k.iterrows()
        },
        "smooth_below_gradient_squared": float(below.mean()),
        "opposed": _opposed(),
        "range": _range(),
    }


def _opposed() -> list[dict[str, float]]:
    """Where, for large k, no temperature has an error below gradient², whatever N."""
    noise, found = np.random.default_rng(0).gumbel(size=(200_000, 3)), []
    for k in (5, 50, 500):
        problem = opposed(k)
        errors = [
            Error.of_draws(general_smooth(problem, tau, noise) - problem.gradient)
            for tau in FINE
        ]
        for samples in SAMPLES:
            each = [error.mse(samples) for error in errors]
            found.append(
                {
                    "k": k,
                    "samples": samples,
                    "gradient_squared": problem.gradient**2,
                    "first_order_times_gradient": first_order(problem) * problem.gradient,
                    "least_smooth_mse": min(each),
                    "at_temperature": float(FINE[np.argmin(each)]),
                    "score_mse": general_score(problem).mse(samples),
                }
            )
    return found


def _range(slack: float = 0.1) -> dict[str, float]:
    """A problem in which the printed range of N does not give what is concluded from it."""
    actions, theta = np.array([-1.0, 0.0, 1.0]), np.array([0.5, 0.5, 0.45])
    problem = General(actions, theta, 1, False)
    most = printed_samples(problem, slack)
    return {
        "slack": slack,
        "gradient": problem.gradient,
        "printed_most_samples": most,
        "right_most_samples": right_samples(problem, slack),
        "score_mse_at_printed": general_score(problem).variance / max(most, 1e-12),
        "gradient_squared_plus_slack": problem.gradient**2 + slack,
    }


def _printed() -> dict[str, float]:
    """The largest distance of what is printed for two actions from the integrals."""
    grid = [(theta, tau) for theta in (0.01, 0.2, 0.5, 0.9) for tau in (0.05, 0.5, 5.0)]
    bias, bound = [], []
    for theta, tau in grid:
        right = binary_smooth(theta, tau)
        bias.append(abs(printed_bias(theta, tau) - right.bias))
        square = right.variance + (right.bias - 2.0) ** 2
        bound.append(abs(printed_bound(theta, tau, 7) - (right.bias**2 + square / 7)))
    return {"bias": max(bias), "bound": max(bound)}


def tabulate(summary: dict[str, Any]) -> Table:
    """Two actions, θ = 1/k: the best temperature and the errors."""
    table = Table(title="Mean squared error, two actions, θ = 1/k", box=SIMPLE)
    for heading in ("k", "N", "τ̃", "smoothed", "REINFORCE", "with baseline", "in range"):
        table.add_column(heading, justify="right")
    for case in summary["theorem_1"]["cases"]:
        table.add_row(
            str(case["k"]),
            str(case["samples"]),
            f"{case['best_temperature']:.2g}",
            f"{case['smooth']:.3g}",
            f"{case['score']:.3g}",
            _told(case["score_baseline"]),
            "yes" if case["within"] else "",
        )
    return table


def as_markdown(summary: dict[str, Any]) -> str:
    """The same for a page."""
    lines = [
        "| k | N | best τ | smoothed | REINFORCE | with baseline | within the theorem |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in summary["theorem_1"]["cases"]:
        numbers = [_told(case[name]) for name in ("smooth", "score", "score_baseline")]
        within = "yes" if case["within"] else ""
        cells = [str(case["k"]), str(case["samples"]), f"{case['best_temperature']:.2g}"]
        lines.append("| " + " | ".join([*cells, *numbers, within]) + " |")
    return "\n".join(lines)


def _told(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def draw(rows: pd.DataFrame, folder: Path) -> None:
    """Error against τ for several N, and against k at both ends."""
    figure, (left, right) = two_panels("mean squared error", "mean squared error, N = 1")
    mine = rows[(rows["policy"] == "binary/low") & (rows["k"] == 100)]
    for colour, samples in zip(COLOURS, SAMPLES, strict=False):
        some = mine[mine["samples"] == samples].groupby("estimator")["mse"].mean()
        values = [some[f"smooth {tau:g}"] for tau in TEMPERATURES]
        left.plot(TEMPERATURES, values, "o", color=colour)
        exact = [binary_smooth(0.01, tau).mse(samples) for tau in FINE]
        left.plot(FINE, exact, color=colour, label=f"smoothed, N = {samples}")
        left.axhline(some["score"], color=colour, linestyle=":", lw=1)
    left.axhline(4.0, color="grey", lw=0.8)
    left.set(xscale="log", yscale="log", xlabel="temperature (dotted: REINFORCE; grey: zero)")
    left.set_title("two actions, θ = 1/100")
    _by_k(rows, right)
    left.legend(frameon=False, fontsize=7, loc="lower right")
    figure.suptitle("Theorems 1 and 2, simulated", fontsize=11)
    save(figure, folder / "theory.png")


def _by_k(rows: pd.DataFrame, axes: Any) -> None:
    one = rows[rows["samples"] == 1]
    for colour, name in zip(COLOURS, SHOWN, strict=False):
        score = one[(one["policy"] == name) & (one["estimator"] == "score")]
        axes.plot(*_mean_by_k(score), "o:", color=colour, label=f"REINFORCE, {name}")
        least = [_least(name, k) for k in KS]
        axes.plot(KS, least, "s-", color=colour, label=f"smoothed at best τ, {name}")
    axes.set(xscale="log", yscale="log", xlabel="k")
    axes.set_ylim(top=2e4)  # room for the legend
    axes.legend(frameon=False, fontsize=7, loc="upper left")


def _least(name: str, k: int) -> float:
    """The least error of one smoothed sample, over fine steps of the temperature."""
    if name == "binary/low":
        return min(binary_smooth(1.0 / k, tau).mse(1) for tau in FINE)
    problem = make_general(name, k)
    noise = np.random.default_rng(0).gumbel(size=(DRAWS, len(problem.theta)))
    each = (general_smooth(problem, tau, noise) - problem.gradient for tau in FINE)
    return min(Error.of_draws(errors).mse(1) for errors in each)


def _mean_by_k(rows: pd.DataFrame):
    by_k = rows.groupby("k")["mse"].mean()
    return by_k.index, by_k
