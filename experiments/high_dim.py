"""Planning with networks in twenty dimensions: clusters, and a truth that is a network itself.

Features lie in twelve clusters of a space of twenty dimensions. The labels at hand come from
one cluster; half of the pool lies there too, and the rest evenly in the others; most of the
target lies in four of them. A linear model fitted to the labels at hand is to be judged by its
mean squared error. The truth is a random network of another make than the beliefs: wide, one
layer deep, of sines.

Beliefs are an ensemble with prior functions, which is told the noise of labels, and a Bayesian
layer on the last layer of a network, both fitted to the labels known by then.
"""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.table import Table

from experiments.figures import plot_rounds
from experiments.planners import PAPERS, describe, planner
from experiments.reporting import in_order, to_rows
from labelwise.beliefs.base import AbstractBelief
from labelwise.beliefs.neural.last_layer import fit_last_layer
from labelwise.beliefs.neural.registry import neural_belief
from labelwise.cli.runs import Task
from labelwise.datasets.synthetic import place_anchors
from labelwise.estimands.named import MeanSquaredError
from labelwise.likelihoods import GaussianLikelihood
from labelwise.policies.optimise import Training
from labelwise.simulation.loop import simulate
from labelwise.simulation.problem import Problem
from labelwise.types import Pool

POLICIES = (
    "random",
    "uncertainty",
    "uncertainty-sequential",
    "integrated-variance",
    "lookahead",
    *PAPERS,
)
FEW = Training(rollouts=4, steps=50)  # a roll-out of the ensemble learns anew
BELIEFS = ("ensemble-plus", "last-layer")
ENSEMBLE = {"members": 30, "steps": 500, "learning_rate": 0.003}
LAYER = {"steps": 500, "learning_rate": 0.003, "components": 1}


@dataclass(frozen=True)
class Design:
    """How a problem is made."""

    dim: int = 20
    clusters: int = 12
    heavy: int = 4  # clusters, after the first, that hold most of the target
    initial: int = 100
    pool: int = 500
    target: int = 300
    spacing: float = 0.5  # cluster i lies at 3 + i · spacing from the first
    spread: float = 0.25  # within a cluster, in each dimension
    waves: int = 40
    frequency: float = 0.5  # of the waves, in radians for a typical row
    noise: float = 0.05
    rounds: int = 5
    batch: int = 10


DESIGN = Design()
# A truth that varies faster, and within clusters, than the ensemble expects.
ROUGH = Design(spread=0.4, frequency=1.0)


def make_problem(seed: int, design: Design = DESIGN) -> Problem:
    rng = np.random.default_rng(seed)
    anchors = place_anchors(rng, design.clusters, design.dim, design.spacing)
    far = np.linalg.norm(anchors, axis=1, keepdims=True)
    anchors = np.where(far > 0, anchors * (1.0 + 3.0 / np.maximum(far, 1e-9)), 0.0)
    others = design.clusters - 1
    first, rest = design.pool // 2, np.full(others, design.pool // 2 // others)
    rest[: design.pool - first - rest.sum()] += 1
    weights = np.array([2.0] + [5.0] * design.heavy + [0.4] * (others - design.heavy))
    share = np.floor(design.target * weights / weights.sum()).astype(int)
    share[1] += design.target - share.sum()
    x, pool, target = (
        _rows(rng, anchors, counts, design)
        for counts in ([design.initial] + [0] * others, [first, *rest], share)
    )
    scale = pool.std(axis=0)
    x, pool, target = x / scale, pool / scale, target / scale
    truth = _truth(rng, design, pool)
    label = lambda rows: truth(rows) + np.sqrt(design.noise) * rng.normal(size=len(rows))
    y = label(x)
    predict = _ridge(x, y)
    estimand = MeanSquaredError(target, predict(target))
    law = GaussianLikelihood(jnp.asarray(design.noise))
    return Problem(
        prior=make_prior(seed, design),
        x=jnp.asarray(x),
        y=jnp.asarray(y),
        pool=Pool(pool),
        labels=jnp.asarray(label(pool)),
        estimand=estimand,
        truth=estimand.value(jnp.asarray(truth(target)), law),
        name=f"high-dim/{seed}",
        truth_is="expected loss over the target, given the function",
    )


def make_prior(seed: int, design: Design) -> AbstractBelief:
    """The ensemble; the other belief is made from labels, and this one stands in before."""
    return neural_belief("ensemble-plus", design.dim, noise=design.noise, seed=seed, **ENSEMBLE)


def refit(x: np.ndarray, y: np.ndarray, seed: int) -> AbstractBelief:
    """A new network from all labels known, and a Bayesian layer on it."""
    options: dict[str, Any] = LAYER
    return fit_last_layer(x, y, seed=seed, **options).prior.component(0)


def _rows(rng, anchors, counts, design: Design) -> np.ndarray:
    centres = np.repeat(anchors, counts, axis=0)
    return centres + design.spread * rng.normal(size=centres.shape)


def _truth(rng, design: Design, pool: np.ndarray):
    """Σ a_j sin(w_j · x + b_j), of mean 0 and variance 1 over the pool."""
    w = rng.normal(size=(design.dim, design.waves)) * design.frequency / np.sqrt(design.dim)
    a, b = rng.normal(size=design.waves), rng.uniform(0.0, 2.0 * np.pi, design.waves)
    raw = lambda x: np.sin(x @ w + b) @ a
    centre, scale = raw(pool).mean(), raw(pool).std()
    return lambda x: (raw(x) - centre) / scale


def _ridge(x: np.ndarray, y: np.ndarray):
    """A linear model of the labels at hand."""
    level = y.mean()
    gram = x.T @ x + len(y) * np.eye(x.shape[1]) / 10.0
    slope = np.linalg.solve(gram, x.T @ (y - level))
    return lambda rows: level + rows @ slope


def config(rough: bool) -> dict[str, Any]:
    """What the rows depend on besides policy and seed."""
    return {
        "experiment": "high-dim",
        **asdict(design_of(rough)),
        "ensemble_plus": ENSEMBLE,
        "last_layer": LAYER,
        "policies": describe(POLICIES, FEW),
    }


def design_of(rough: bool) -> Design:
    return ROUGH if rough else DESIGN


def work(rough: bool):
    return partial(play, design=design_of(rough))


def names() -> list[str]:
    return [f"{belief}/{policy}" for belief in BELIEFS for policy in POLICIES]


def play(task: Task, design: Design = DESIGN) -> list[dict[str, Any]]:
    belief, policy = task.policy.split("/")
    problem = make_problem(task.seed, design)
    again = partial(refit, seed=task.seed) if belief == "last-layer" else None
    plan = planner(policy, FEW)
    records = simulate(problem, plan, design.rounds, design.batch, task.seed, refit=again)
    return to_rows(task, records)


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """Final variances and errors of each belief's policies, and how lookahead compares."""
    final = rows[rows["round"] == DESIGN.rounds]
    found = {}
    for belief in BELIEFS:
        mine = {
            policy: final[final["policy"] == f"{belief}/{policy}"].set_index("seed")
            for policy in POLICIES
        }
        best = mine["lookahead"]
        found[belief] = {
            policy: _judge(one, best, policy) for policy, one in mine.items() if len(one)
        }
    start = rows[rows["round"] == 0].groupby("policy")[["variance", "error"]].mean()
    return {
        "experiment": "high-dim",
        "command": command,
        "seeds": int(rows["seed"].nunique()),
        "start": {
            belief: start.loc[f"{belief}/random"].to_dict()
            for belief in BELIEFS
            if f"{belief}/random" in start.index
        },
        "beliefs": found,
    }


def _judge(one: pd.DataFrame, best: pd.DataFrame, policy: str) -> dict[str, float]:
    shown = {
        "variance": float(one["variance"].mean()),
        "variance_standard_error": _standard_error(one["variance"]),
        "error": float(one["error"].mean()),
        "error_standard_error": _standard_error(one["error"]),
        "seconds_a_round": float(one["seconds"].median()),
    }
    if policy == "lookahead" or best.empty:
        return shown
    lower = lambda column: int((best[column] < one[column].reindex(best.index)).sum())
    less = (best["error"] - one["error"]).dropna()
    return shown | {
        "lookahead_over_variance": float(best["variance"].mean() / one["variance"].mean()),
        "seeds_lookahead_has_less_variance": lower("variance"),
        "seeds_lookahead_has_less_error": lower("error"),
        "error_lookahead_less_this": float(less.mean()),
        "error_lookahead_less_this_standard_error": _standard_error(less),
    }


def _standard_error(values: pd.Series) -> float:
    numbers = values.to_numpy(float)
    return float(numbers.std(ddof=1) / np.sqrt(len(numbers))) if len(numbers) > 1 else 0.0


def tabulate(summary: dict[str, Any]) -> Table:
    table = Table(title=f"Twenty dimensions, {summary['seeds']} seeds", box=SIMPLE)
    table.add_column("belief / policy", no_wrap=True)
    for heading in ("final variance", "final error", "s a round"):
        table.add_column(heading, justify="right")
    for belief, found in summary["beliefs"].items():
        for policy, one in found.items():
            table.add_row(
                f"{belief} / {policy}",
                f"{one['variance']:.5f} ± {one['variance_standard_error']:.5f}",
                f"{one['error']:.4f} ± {one['error_standard_error']:.4f}",
                f"{one['seconds_a_round']:.2f}",
            )
    return table


def as_markdown(summary: dict[str, Any]) -> str:
    """The table for the page of results."""
    lines = [
        "| belief, policy | final variance | final error | seeds in which `lookahead` has less "
        "variance, error |",
        "|---|---|---|---|",
    ]
    for belief, found in summary["beliefs"].items():
        for policy, one in found.items():
            variance = f"{one['variance']:.5f} ± {one['variance_standard_error']:.5f}"
            error = f"{one['error']:.3f} ± {one['error_standard_error']:.3f}"
            than = ""
            if policy != "lookahead":
                less = one["seeds_lookahead_has_less_variance"]
                than = f"{less}, {one['seeds_lookahead_has_less_error']}"
            lines.append(f"| `{belief}`, `{policy}` | {variance} | {error} | {than} |")
    return "\n".join(lines)


def draw(rows: pd.DataFrame, folder: Path) -> None:
    for belief in BELIEFS:
        mine = rows[rows["policy"].str.startswith(f"{belief}/")]
        if mine.empty:
            continue
        mine = in_order(
            mine.assign(policy=mine["policy"].str.removeprefix(f"{belief}/")), POLICIES
        )
        for column in ("variance", "error"):
            plot_rounds(
                mine,
                column,
                folder / f"{belief}-{column}.png",
                label=f"{column} of the mean squared error",
                title=f"Twenty dimensions, {belief}",
            )
