"""A risk model's recall, from patients of one kind to everyone.

SUPPORT2: who dies in hospital. A model built on patients with sepsis calls a patient in danger
if the risk it sees is at least 0.3; which share of those who die does it find? At first 80
patients of one k-means cluster are labelled; pool and target are drawn from the others.

The belief is a Gaussian-process classifier: its mean rises with the model's log-odds, and
every feature has its length scale; all are fitted anew each round to the labels known by then.
(One length scale for all comes out far too short on so few labels: every patient is then a law
unto himself, and the mean over many seems known from the start.)
The target's true labels are the truth, so the interval is of what a draw of the belief says
about such labels: chance included, which is why it cannot shrink to nothing. Accuracy is
judged from the same beliefs; nothing was planned for it.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from experiments.figures import plot_by_labels
from experiments.planners import PAPERS, describe, planner
from experiments.reporting import sum_up_labels
from labelwise.beliefs.base import AbstractBelief
from labelwise.beliefs.fit import fit_gaussian_process_classifier
from labelwise.cli.runs import Task
from labelwise.datasets.support2 import DIED, ID, RISK, load_support2_death
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.moments import values_of
from labelwise.estimands.named import Accuracy, Recall
from labelwise.estimands.smoothing import SmoothedRecall
from labelwise.likelihoods import AbstractLikelihood, GaussianLikelihood
from labelwise.policies.optimise import Training
from labelwise.simulation.bias import cluster_bias
from labelwise.simulation.loop import play
from labelwise.simulation.problem import Problem
from labelwise.tables.encoder import fit_encoder
from labelwise.types import Pool

PLANNED_SMOOTHLY = "-smoothed-recall"  # planned for g_τ, and judged by recall
POLICIES = (
    *("random", "uncertainty-sequential", "lookahead"),
    *PAPERS,
    *(f"{name}{PLANNED_SMOOTHLY}" for name in PAPERS),
)
# No closed form: every roll-out conditions the classifier anew, so there are few.
FEW = Training(rollouts=4, steps=50)
THRESHOLD = 0.3
SMOOTH = {"temperature": 0.1, "replicates": 1}  # of g_τ
DRAWS = 2000  # for the interval
EDGES = (0.05, 0.95)


@dataclass(frozen=True)
class Design:
    """How the table becomes campaigns."""

    initial: int = 80
    clusters: int = 10
    pool: int = 500
    target: int = 1000
    rounds: int = 10
    batch: int = 10


DESIGN = Design()


@dataclass(frozen=True, eq=False)
class Patients:
    """Everyone: features with the model's log-odds last, the model's risk, and the outcome."""

    x: np.ndarray
    risk: np.ndarray
    died: np.ndarray


@lru_cache(maxsize=1)
def load_patients() -> Patients:
    table = load_support2_death()
    names = [name for name in table.columns if name not in (ID, DIED, RISK)]
    features = fit_encoder({"patients": table}, names).encode(table)
    risk = table[RISK].to_numpy(float)
    log_odds = np.log(risk) - np.log1p(-risk)
    standard = (log_odds - log_odds.mean()) / log_odds.std()
    x = np.column_stack([np.clip(features, -4.0, 4.0), standard])
    return Patients(x, risk, table[DIED].to_numpy(float))


class Drawn(eqx.Module):
    """A campaign's problem, a second metric on the same target, and what came true."""

    problem: Problem
    accuracy: AbstractEstimand
    smooth: AbstractEstimand  # the paper's g_τ, its noise drawn once
    died: jax.Array  # of the target

    def planned_for(self, policy: str) -> Problem:
        """The problem as a policy plans for it."""
        if not policy.endswith(PLANNED_SMOOTHLY):
            return self.problem
        return eqx.tree_at(lambda one: one.estimand, self.problem, self.smooth)


def draw_problem(seed: int, design: Design) -> Drawn:
    everyone = load_patients()
    first = cluster_bias(everyone.x, design.initial, seed, design.clusters)
    rest = np.setdiff1d(np.arange(len(everyone.x)), first)
    others = np.random.default_rng([seed, 1]).permutation(rest)
    pool, target = np.split(others[: design.pool + design.target], [design.pool])
    recall = Recall(everyone.x[target], everyone.risk[target], THRESHOLD)
    died = jnp.asarray(everyone.died[target])
    problem = Problem(
        prior=refit(everyone.x[first], everyone.died[first]),
        x=jnp.asarray(everyone.x[first]),
        y=jnp.asarray(everyone.died[first]),
        pool=Pool(everyone.x[pool]),
        labels=jnp.asarray(everyone.died[pool]),
        estimand=recall,
        truth=realised(recall, died),
        name=f"recall/{seed}",
        truth_is="recall over the target's own labels",
    )
    accuracy = Accuracy(everyone.x[target], everyone.risk[target], THRESHOLD)
    smooth = SmoothedRecall(
        everyone.x[target], everyone.risk[target], THRESHOLD, key=seed, **SMOOTH
    )
    return Drawn(problem, accuracy, smooth, died)


def realised(estimand: AbstractEstimand, labels) -> Any:
    """The estimand of labels as they came out."""
    return estimand.value(labels, GaussianLikelihood(jnp.zeros(())))


def refit(x: np.ndarray, y: np.ndarray):
    """Length scales are expected on one scale, that of distances between all patients."""
    everyone = load_patients().x
    common = np.sqrt(everyone.var(axis=0).mean())
    return fit_gaussian_process_classifier(
        x,
        y,
        mean="predictor",
        predictor_column=x.shape[1] - 1,
        spread=np.full(x.shape[1], common),
        starts=1,
    ).prior


class Draws(eqx.Module):
    """Functions from a belief at the target, and labels from each of them."""

    functions: jax.Array
    labels: jax.Array
    law: AbstractLikelihood


@eqx.filter_jit
def draw_target(key, belief: AbstractBelief, x) -> Draws:
    function_key, label_key = jax.random.split(key)
    functions = belief.sample(function_key, x, DRAWS)
    return Draws(functions, belief.likelihood.sample(label_key, functions), belief.likelihood)


def judge(draws: Draws, estimand: AbstractEstimand, died) -> dict[str, float]:
    """The expected metric's mean and deviation; an interval for the metric that came true."""
    expected = values_of(estimand, draws.functions, draws.law)
    came_true = values_of(estimand, draws.labels, GaussianLikelihood(jnp.zeros(())))
    low, high = np.quantile(np.asarray(came_true), EDGES)
    truth = float(realised(estimand, died))
    estimate = float(expected.mean())
    return {
        "truth": truth,
        "estimate": estimate,
        "std": float(expected.std(ddof=1)),
        "low": float(low),
        "high": float(high),
        "error": abs(estimate - truth),
        "covered": float(low <= truth <= high),
    }


def config() -> dict[str, Any]:
    """What the rows depend on besides policy and seed."""
    of = lambda name: name.removesuffix(PLANNED_SMOOTHLY)
    settings = {name: describe([of(name)], FEW)[of(name)] for name in POLICIES}
    heading = {"experiment": "recall", "threshold": THRESHOLD, **asdict(DESIGN)}
    return {**heading, "policies": settings, PLANNED_SMOOTHLY: SMOOTH}


def work(task: Task) -> list[dict[str, Any]]:
    """One policy on one seed; a row a round."""
    drawn = draw_problem(task.seed, DESIGN)
    policy = planner(task.policy.removesuffix(PLANNED_SMOOTHLY), FEW)
    problem = drawn.planned_for(task.policy)
    rounds = play(problem, policy, DESIGN.rounds, DESIGN.batch, task.seed, refit=refit)
    rows, began = [], time.perf_counter()
    for played in rounds:
        draws = draw_target(jax.random.key(0), played.belief, drawn.accuracy.x)
        second = judge(draws, drawn.accuracy, drawn.died)
        rows.append(
            {
                "policy": task.policy,
                "seed": task.seed,
                "round": played.index,
                "labels": played.index * DESIGN.batch,
                **judge(draws, drawn.problem.estimand, drawn.died),
                **{f"accuracy_{name}": value for name, value in second.items()},
                "seconds": round(played.seconds, 4),
                "seconds_in_all": round(time.perf_counter() - began, 2),
                "chosen": " ".join(map(str, played.chosen)),
            }
        )
    return rows


def as_accuracy(rows: pd.DataFrame) -> pd.DataFrame:
    """The same campaigns, judged by accuracy."""
    heading = ["policy", "seed", "round", "labels", "seconds"]
    own = [name for name in map(str, rows.columns) if name.startswith("accuracy_")]
    return rows[[*heading, *own]].rename(columns=lambda name: name.removeprefix("accuracy_"))


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """By policy: standard deviation, error and coverage by labels, and labels needed."""
    return {
        "experiment": "recall",
        "command": command,
        **sum_up_labels(rows, POLICIES),
        "accuracy": sum_up_labels(as_accuracy(rows), POLICIES),
    }


def draw(rows: pd.DataFrame, folder: Path, policies: Sequence[str] = POLICIES) -> None:
    many = f"{rows['seed'].nunique()} campaigns a policy"
    for name, table in (("recall", rows), ("accuracy", as_accuracy(rows))):
        title = f"{name.capitalize()} of a risk model on SUPPORT2: {many}"
        path = folder / f"{name}.png"
        plot_by_labels(table, policies, path, title=title, unit=f"of {name}")
