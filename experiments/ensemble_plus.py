"""Planning with networks: the paper's Ensemble+ table, as its text has it and as its code does.

A batch of two is chosen from ten pool rows. Every pair is also gone through: for each member's
imagined labels the ensemble learns anew from them, and the mean variance left says what a pair
was worth in advance. After the true labels, variance and error are as they turn out.
"""

import json
import time
from functools import lru_cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import matplotlib.figure
import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.table import Table

from experiments.ensemble_plus_problem import (
    CLIP,
    Toy,
    Variant,
    make_toy,
    with_learning,
)
from experiments.exhaustive_refit import expected_variances, moments_after
from labelwise.cli.runs import Task
from labelwise.estimands.moments import sampled_moments
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.baselines import Random, SequentialUncertainty, Uncertainty
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.optimise import Training
from labelwise.policies.registry import describe_policy
from labelwise.policies.reinforce import Reinforce

K, STEPS, LEARNING_RATE, ROLLOUTS = 2, 500, 0.05, 4
LAST = 10  # steps that truncated gradients go back through
ENOUGH = 0.95  # share of the best expected reduction that a plan should attain
VARIANTS: tuple[Variant, ...] = ("text", "code")
TRAINING = Training(
    objective="sampled", rollouts=ROLLOUTS, steps=STEPS, learning_rate=LEARNING_RATE
)
PAPER = {  # variance and error of the table in the paper
    "random": (7129.8, 136.2),
    "uncertainty": (10852.0, 162.156),
    "uncertainty-sequential": (8585.5, 144.0),
    "reinforce-baseline": (1697.1, 45.27),
    "smoothed-autodiff": (1697.1, 45.27),
}
PLANNERS = (
    "reinforce-baseline",
    "smoothed-autodiff",
    "smoothed-autodiff-truncated",
    "smoothed-autodiff-plain",
)
POLICIES: dict[str, Any] = {
    "random": Random(),
    "uncertainty": Uncertainty(),
    "uncertainty-sequential": SequentialUncertainty(),
    "lookahead": Lookahead(),
    "reinforce-baseline": Reinforce(TRAINING),
    "smoothed-autodiff": SmoothedAutodiff(TRAINING),
    "smoothed-autodiff-truncated": SmoothedAutodiff(TRAINING, directions=False),
    "smoothed-autodiff-plain": SmoothedAutodiff(TRAINING, directions=False),
}
PAIRS = tuple(combinations(range(10), K))


class Enumeration(NamedTuple):
    """What each pair is expected to leave, and leaves after the true labels."""

    now: float  # variance before any purchase
    expected: np.ndarray
    variance: np.ndarray
    error: np.ndarray
    clipped_variance: np.ndarray
    clipped_error: np.ndarray

    def share(self, place: int) -> float:
        """Of the largest reduction of the variance that any pair is expected to bring."""
        return float((self.now - self.expected[place]) / (self.now - self.expected.min()))


@lru_cache(maxsize=4)
def toy_of(variant: Variant, seed: int, data: Path | None) -> Toy:
    return make_toy(variant, seed, data)


@lru_cache(maxsize=4)
def enumerate_pairs(variant: Variant, seed: int, data: Path | None) -> Enumeration:
    """All 45 pairs, under labels imagined by each member and under the true ones."""
    toy = toy_of(variant, seed, data)
    key, pairs = jax.random.key(0), jnp.asarray(PAIRS)
    about = (toy.estimand, toy.pool.x, pairs)
    plain = moments_after(key, toy.belief, *about, toy.labels[None])
    clipped = with_learning(toy.belief, clip=CLIP)
    clip = moments_after(key, clipped, *about, toy.labels[None])
    error = lambda found: np.abs(np.asarray(found.mean[:, 0]) - toy.truth)
    return Enumeration(
        now=float(sampled_moments(key, toy.belief, toy.estimand, 2).variance),
        expected=np.asarray(expected_variances(key, toy.belief, *about)),
        variance=np.asarray(plain.variance[:, 0]),
        error=error(plain),
        clipped_variance=np.asarray(clip.variance[:, 0]),
        clipped_error=error(clip),
    )


def work(data: Path | None):
    return partial(play, data=data)


def play(task: Task, data: Path | None) -> list[dict[str, Any]]:
    """One policy on one seed: what it chose, and what came of it."""
    variant, name = task.policy.split("/")
    toy = toy_of(variant, task.seed, data)  # type: ignore[arg-type]
    found = enumerate_pairs(variant, task.seed, data)  # type: ignore[arg-type]
    belief = toy.belief
    if name == "smoothed-autodiff-truncated":
        belief = with_learning(belief, gradient="truncated", last=LAST)
    start = time.perf_counter()
    key = jax.random.key(task.seed)
    batch = POLICIES[name].propose(key, belief, toy.estimand, toy.pool, K)
    seconds = time.perf_counter() - start
    place = PAIRS.index(tuple(sorted(int(row) for row in batch.indices)))
    return [
        {
            "policy": task.policy,
            "seed": task.seed,
            "round": 0,
            "chosen": " ".join(map(str, PAIRS[place])),
            "share": found.share(place),
            "expected_variance": found.expected[place],
            "variance": found.variance[place],
            "error": found.error[place],
            "clipped_variance": found.clipped_variance[place],
            "clipped_error": found.clipped_error[place],
            "now": found.now,
            "best_variance": found.variance.min(),
            "mean_variance": found.variance.mean(),
            "mean_error": found.error.mean(),
            "seconds": round(seconds, 3),
        }
    ]


def config(data: Path | None) -> dict[str, Any]:
    """What the rows depend on besides policy and seed."""
    return {
        "experiment": "ensemble-plus",
        "k": K,
        "steps": STEPS,
        "learning_rate": LEARNING_RATE,
        "rollouts": ROLLOUTS,
        "last": LAST,
        "rounds": 0,
        "policies": {name: _settings(name) for name in POLICIES},
    }


def _settings(name: str) -> dict[str, Any]:
    """Of a policy, and through which steps of learning it differentiates."""
    through = f"last {LAST}" if name.endswith("-truncated") else "all"
    return {**describe_policy(POLICIES[name]), "steps_of_learning": through}


def names(data: Path | None) -> list[str]:
    variants = VARIANTS if data is not None else ("text",)
    return [f"{variant}/{policy}" for variant in variants for policy in POLICIES]


def summarise(rows: pd.DataFrame, data: Path | None, command: str) -> dict[str, Any]:
    """Each variant's table, the paper's beside it, and the check of the forward model."""
    found = {
        variant: {
            policy: _judge(rows[rows["policy"] == f"{variant}/{policy}"], variant, policy)
            for policy in POLICIES
            if f"{variant}/{policy}" in set(rows["policy"])
        }
        for variant in VARIANTS
    }
    return {
        "experiment": "ensemble-plus",
        "command": command,
        "seeds": int(rows["seed"].nunique()),
        "rollouts": ROLLOUTS,
        "variants": {variant: table for variant, table in found.items() if table},
        "paper": {
            name: dict(zip(("variance", "error"), PAPER[name], strict=True)) for name in PAPER
        },
        "authors_pairs": None if data is None else compare_with_authors(data),
    }


def _judge(rows: pd.DataFrame, variant: str, policy: str) -> dict[str, Any]:
    mean = lambda column: float(rows[column].mean())
    spread = lambda column: float(rows[[column]].std().fillna(0.0).iloc[0])
    shown = {
        "share": mean("share"),
        "least_share": float(rows["share"].min()),
        "seeds": len(rows),
        "seeds_with_enough": int((rows["share"] >= ENOUGH).sum()),
        "expected_variance": mean("expected_variance"),
        "variance": mean("variance"),
        "variance_spread": spread("variance"),
        "error": mean("error"),
        "error_spread": spread("error"),
        "seconds": float(rows["seconds"].median()),
    }
    if variant == "code" and policy in PLANNERS:  # as the authors evaluate planners alone
        shown |= {"clipped_variance": mean("clipped_variance")}
        shown |= {"clipped_error": mean("clipped_error")}
    if policy == "random":  # over all pairs: what random pairs come to in expectation
        shown |= {"all_pairs_variance": mean("mean_variance")}
        shown |= {"all_pairs_error": mean("mean_error"), "now": mean("now")}
    return shown


def compare_with_authors(data: Path) -> dict[str, float] | None:
    """The authors' own variances of all pairs against ours: largest relative differences."""
    file = data / "ens_bruteforce_pairs.json"
    if not file.is_file():
        return None
    theirs = json.loads(file.read_text())
    ours = enumerate_pairs("code", 0, data)
    found = {}
    for name, values in (("noclip", ours.variance), ("clip", ours.clipped_variance)):
        known = {(row[2], row[3]): row[0] for row in theirs[name]}
        ratios = [values[place] / known[pair] - 1.0 for place, pair in enumerate(PAIRS)]
        found[name] = float(np.abs(ratios).max())
    return found


def tabulate(summary: dict[str, Any]) -> Table:
    table = Table(title=f"Ensemble+, {summary['seeds']} seeds", box=SIMPLE)
    for heading in ("variant", "policy"):
        table.add_column(heading, no_wrap=True)
    for heading in ("share", "≥ 95 %", "variance", "±", "error"):
        table.add_column(heading, justify="right", no_wrap=True)
    for variant, found in summary["variants"].items():
        for policy, one in found.items():
            table.add_row(
                variant,
                policy,
                f"{one['share']:.3f}",
                f"{one['seeds_with_enough']}/{one['seeds']}",
                f"{one['variance']:.0f}",
                f"{one['variance_spread']:.0f}",
                f"{one['error']:.1f}",
            )
    return table


def as_markdown(summary: dict[str, Any]) -> str:
    """The table for the page of results, with the paper's figures in the last column."""
    lines = [
        "| policy | text: share of the best | ≥ 95 % | variance, error | "
        "code: share of the best | ≥ 95 % | variance, error | the paper's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for policy in POLICIES:
        both = [_cells(summary["variants"].get(one, {}).get(policy)) for one in VARIANTS]
        paper = summary["paper"].get(policy)
        theirs = "" if paper is None else f"{paper['variance']:.0f}, {paper['error']:.1f}"
        lines.append(f"| `{policy}` | {both[0]} | {both[1]} | {theirs} |")
    return "\n".join(lines)


def _cells(one: dict[str, Any] | None) -> str:
    if one is None:
        return " | | "
    outcome = f"{one['variance']:.0f}, {one['error']:.1f}"
    if "clipped_variance" in one:
        outcome += f" (clipped {one['clipped_variance']:.0f}, {one['clipped_error']:.1f})"
    enough = f"{one['seeds_with_enough']} of {one['seeds']}"
    return f"{one['share']:.3f} | {enough} | {outcome}"


def draw(rows: pd.DataFrame, folder: Path) -> None:
    """The share of the best expected reduction, a dot a seed, a policy a line."""
    variants = [one for one in VARIANTS if rows["policy"].str.startswith(f"{one}/").any()]
    figure = matplotlib.figure.Figure(
        figsize=(4.6 * len(variants) + 1.2, 3.6), layout="constrained", dpi=150
    )
    panels = figure.subplots(1, len(variants), sharey=True, squeeze=False)[0]
    titles = {
        "text": "as the text says (λ = 0.1, labels from the prior)",
        "code": "as the authors' code does (λ = 10, labels near 0)",
    }
    policies = list(POLICIES)[::-1]
    for axes, variant in zip(panels, variants, strict=True):
        for place, policy in enumerate(policies):
            mine = rows[rows["policy"] == f"{variant}/{policy}"]
            shift = np.linspace(-0.22, 0.22, max(len(mine), 1))[: len(mine)]
            planned = policy in PLANNERS or policy == "lookahead"
            colour = "#0072B2" if planned else "#D55E00"
            axes.plot(100.0 * mine["share"], place + shift, "o", color=colour, ms=4, alpha=0.7)
        axes.axvline(100.0 * ENOUGH, color="black", linestyle="--", linewidth=1.0)
        axes.set_title(titles[variant], fontsize=9)
        axes.set_xlabel("% of the best pair's expected reduction")
        axes.set_yticks(range(len(policies)), policies)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", alpha=0.25)
    figure.suptitle("Which pair of ten rows? Ensemble+, a dot a seed", fontsize=11)
    figure.savefig(folder / "shares.png")
