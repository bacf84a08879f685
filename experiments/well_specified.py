"""Do 90 % intervals hold the truth in 90 of 100 campaigns, if the model is right?

The truth of every campaign is one draw from the belief's own prior, hyper-parameters known. At
first one corner is labelled; two rounds of lookahead follow. Intervals are central quantiles
of the estimand over draws from the belief. Under an exact belief they must cover at the stated
rate, however labels were chosen; under the classifier, whose posterior is Laplace's
approximation, only nearly. A seed is a block of campaigns on the same rows.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.figure
import numpy as np
import pandas as pd
from jaxtyping import Array, Float, PRNGKeyArray
from rich.box import SIMPLE
from rich.table import Table

from labelwise.beliefs.base import AbstractBelief
from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import Matern52
from labelwise.cli.runs import Task
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.combine import Several
from labelwise.estimands.comparison import difference
from labelwise.estimands.effect import AverageTreatmentEffect
from labelwise.estimands.moments import sampled_values
from labelwise.estimands.named import (
    Accuracy,
    BrierScore,
    F1Score,
    MeanAbsoluteError,
    MeanError,
    MeanOutcome,
    MeanSquaredError,
    Precision,
    Recall,
    RSquared,
)
from labelwise.policies.constraints import Spending
from labelwise.policies.lookahead import Lookahead
from labelwise.types import Assignment, Pool

CAMPAIGNS = 50  # a seed
INITIAL, POOL, TARGET, ROUNDS, BATCH = 8, 40, 30, 2, 3
SIDE, CORNER = 3.0, 1.0  # rows fill a square; the first labels come from one corner of it
VARIANCE, NOISE, LATENT_VARIANCE = 1.0, 0.1, 2.0
LEVEL, DRAWS = 0.9, 2000
TREATMENT = 2  # column of the treatment, where there is one

Build = Callable[[np.ndarray], AbstractEstimand]


def predict(x: Any, shift: float = 0.0) -> Any:
    """A predictor that knows nothing of the truth."""
    return 0.5 * np.sin(x[:, 0] + shift) - 0.3 * (x[:, 1] - 1.5)


def score(x: Any) -> Any:
    """The same as a chance of a 1, on either side of a half."""
    return 1.0 / (1.0 + np.exp(-4.0 * predict(x)))


def right_half(x: np.ndarray) -> np.ndarray:
    return x[:, 0] > SIDE / 2.0


def _several(x: np.ndarray) -> AbstractEstimand:
    group = MeanError(x, predict(x), where=right_half(x))
    return Several([MeanSquaredError(x, predict(x)), MeanOutcome(x), group])


NUMBERS: dict[str, Build] = {
    "mean squared error": lambda x: MeanSquaredError(x, predict(x)),
    "mean absolute error": lambda x: MeanAbsoluteError(x, predict(x)),
    "bias": lambda x: MeanError(x, predict(x)),
    "R squared": lambda x: RSquared(x, predict(x)),
    "mean outcome": lambda x: MeanOutcome(x),
    "difference of two MSEs": lambda x: difference(
        MeanSquaredError(x, predict(x)), MeanSquaredError(x, predict(x, 1.0))
    ),
    "MSE of a subgroup": lambda x: MeanSquaredError(x, predict(x), where=right_half(x)),
    "three jointly": _several,
}
CLASSES: dict[str, Build] = {
    "accuracy": lambda x: Accuracy(x, score(x)),
    "precision": lambda x: Precision(x, score(x)),
    "Brier score": lambda x: BrierScore(x, score(x)),
    "recall": lambda x: Recall(x, score(x)),
    "F1": lambda x: F1Score(x, score(x)),
}
EFFECTS: dict[str, Build] = {
    "average treatment effect": lambda x: AverageTreatmentEffect(x, TREATMENT),
}
FAMILIES = {**NUMBERS, **EFFECTS, **CLASSES}


class Case(eqx.Module):
    """What the campaigns of one seed share; the truth is drawn for each."""

    prior: AbstractBelief
    x: Float[Array, "labelled dim"]
    pool: Pool
    estimand: AbstractEstimand


def make_case(family: str, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    x, pool, target = (
        rng.uniform(0.0, side, (size, 2))
        for side, size in ((CORNER, INITIAL), (SIDE, POOL), (SIDE, TARGET))
    )
    assignment = None
    if family in EFFECTS:
        x, pool, target = (
            np.column_stack([rows, rng.integers(0, 2, len(rows))]) for rows in (x, pool, target)
        )
        assignment = Assignment(TREATMENT, 0.5, POOL)
    prior = GaussianProcess(Matern52(1.0, VARIANCE), NOISE)
    if family in CLASSES:
        prior = GaussianProcessClassifier(Matern52(1.0, LATENT_VARIANCE))
    estimand = FAMILIES[family](target)
    return Case(prior, jnp.asarray(x, float), Pool(pool, assignment=assignment), estimand)


class Judged(eqx.Module):
    """An interval held to the truth; of several estimands, their means."""

    covered: Float[Array, ""]
    width: Float[Array, ""]
    error: Float[Array, ""]


@eqx.filter_jit
def play_block(case: Case, keys: PRNGKeyArray) -> list[Judged]:
    """Every campaign; one compilation serves all."""
    return jax.lax.map(lambda key: play_campaign(case, key), keys)


def play_campaign(case: Case, key: PRNGKeyArray) -> list[Judged]:
    """Draw a truth, label, plan and buy; judge the interval before and after each round."""
    truth_key, label_key, *round_keys = jax.random.split(key, 3 + ROUNDS)
    law, arms = case.prior.likelihood, case.pool.arms
    function = case.prior.sample(
        truth_key, jnp.concatenate([case.x, arms, case.estimand.x]), 1
    )[0]
    first, rest = INITIAL, INITIAL + arms.shape[0]
    labels = law.sample(label_key, function[:rest])
    truth = case.estimand.value(function[rest:], law)
    belief, pool = case.prior.condition(case.x, labels[:first]), case.pool
    judged = [judge(round_keys[0], belief, case.estimand, truth)]
    for round_key in round_keys[1:]:
        plan_key, assign_key, judge_key = jax.random.split(round_key, 3)
        batch = Lookahead().choose(plan_key, belief, case.estimand, pool, BATCH, Spending())
        bought = as_treated(assign_key, batch.indices, pool)
        belief = belief.condition(arms[bought], labels[first:][bought])
        left = pool.available.at[batch.indices].set(False)
        pool = eqx.tree_at(lambda pool: pool.available, pool, left)
        judged.append(judge(judge_key, belief, case.estimand, truth))
    return judged


def as_treated(key: PRNGKeyArray, rows, pool: Pool):
    """The arms that chosen units end up in."""
    if pool.assignment is None:
        return rows
    treated = jax.random.bernoulli(key, pool.assignment.chance[rows])
    return rows + pool.size * treated


def judge(key: PRNGKeyArray, belief, estimand: AbstractEstimand, truth) -> Judged:
    values = sampled_values(key, belief, estimand, DRAWS)
    edges = jnp.array([(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    low, high = jnp.quantile(values, edges, axis=0)
    covered = (low <= truth) & (truth <= high)
    error = jnp.abs(values.mean(axis=0) - truth)
    return Judged(covered.astype(float).mean(), (high - low).mean(), error.mean())


def config() -> dict[str, Any]:
    """What the rows depend on besides family and seed."""
    return {
        "experiment": "well-specified",
        "campaigns_a_seed": CAMPAIGNS,
        "initial": INITIAL,
        "pool": POOL,
        "target": TARGET,
        "rounds": ROUNDS,
        "batch": BATCH,
        "side": SIDE,
        "corner": CORNER,
        "variance": VARIANCE,
        "noise": NOISE,
        "latent_variance": LATENT_VARIANCE,
        "level": LEVEL,
        "draws": DRAWS,
    }


def work(task: Task) -> list[dict[str, Any]]:
    """One block of campaigns; a row a round, with means over the block."""
    case = make_case(task.policy, task.seed)
    key = jax.random.key(list(FAMILIES).index(task.policy))
    keys = jax.random.split(jax.random.fold_in(key, task.seed), CAMPAIGNS)
    began = time.perf_counter()
    judged = jax.device_get(play_block(case, keys))
    seconds = (time.perf_counter() - began) / len(judged)
    return [
        {
            "policy": task.policy,
            "seed": task.seed,
            "round": index,
            "campaigns": CAMPAIGNS,
            "covered": float(one.covered.mean()),
            "covered_squared": float((one.covered**2).mean()),
            "width": float(one.width.mean()),
            "error": float(one.error.mean()),
            "seconds": round(seconds, 4),
        }
        for index, one in enumerate(judged)
    ]


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """Coverage of each family before any label was bought and at the end."""
    return {
        "experiment": "well-specified",
        "command": command,
        "level": LEVEL,
        "campaigns": int(rows["seed"].nunique()) * CAMPAIGNS,
        "seconds": float(rows["seconds"].sum()),
        "families": {
            family: {
                "belief": "Laplace" if family in CLASSES else "exact",
                "start": coverage(rows, family, 0),
                "end": coverage(rows, family, ROUNDS),
            }
            for family in FAMILIES
            if family in set(rows["policy"])
        },
    }


def coverage(rows: pd.DataFrame, family: str, index: int) -> dict[str, Any]:
    """With the standard error that it would have at the stated level.

    Of estimands judged jointly, shares of a campaign vary less than 0 and 1 do.
    """
    mine = rows[(rows["policy"] == family) & (rows["round"] == index)]
    count, share = int(mine["campaigns"].sum()), float(mine["covered"].mean())
    whole = share - share**2
    spread = float(mine["covered_squared"].mean()) - share**2
    shrink = spread / whole if whole > 0 else 1.0
    error = float(np.sqrt(shrink * LEVEL * (1.0 - LEVEL) / count))
    return {
        "coverage": share,
        "standard_error": error,
        "within_3": bool(abs(share - LEVEL) <= 3.0 * error),
        "mean_width": float(mine["width"].mean()),
        "mean_error": float(mine["error"].mean()),
    }


def tabulate(summary: dict[str, Any]) -> Table:
    title = f"Coverage of 90 % intervals, {summary['campaigns']} campaigns a family"
    table = Table(title=title, box=SIMPLE)
    table.add_column("estimand", no_wrap=True)
    for heading in ("belief", "at the start", "at the end", "s.e.", "within 3 s.e."):
        table.add_column(heading, justify="right")
    for family, found in summary["families"].items():
        start, end = found["start"], found["end"]
        table.add_row(
            family,
            found["belief"],
            f"{start['coverage']:.1%}",
            f"{end['coverage']:.1%}",
            f"{end['standard_error']:.1%}",
            "yes" if end["within_3"] else "no",
        )
    return table


def draw(summary: dict[str, Any], folder: Path) -> None:
    """Coverage at the end with bars of two standard errors, a family a line."""
    figure = matplotlib.figure.Figure(figsize=(6.4, 4.8), layout="constrained", dpi=150)
    axes = figure.subplots()
    families = list(summary["families"])[::-1]
    for place, family in enumerate(families):
        found = summary["families"][family]
        colour = "#0072B2" if found["belief"] == "exact" else "#D55E00"
        end, bar = found["end"], 200.0 * found["end"]["standard_error"]
        axes.errorbar(
            100.0 * end["coverage"], place, xerr=bar, fmt="o", color=colour, ms=5, capsize=3
        )
    axes.axvline(100.0 * LEVEL, color="black", linestyle="--", linewidth=1.0)
    axes.set_yticks(range(len(families)), families)
    axes.set_xlabel("intervals that hold the truth, % (bars: two standard errors)")
    for label, colour in (("exact belief", "#0072B2"), ("classifier, Laplace", "#D55E00")):
        axes.plot([], [], "o", color=colour, label=label)
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", alpha=0.25)
    title = f"90 % intervals under the right model, {summary['campaigns']} campaigns each"
    figure.suptitle(title, fontsize=11)
    figure.savefig(folder / "coverage.png")
