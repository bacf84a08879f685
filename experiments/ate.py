"""The average effect of a treatment, from patients of one kind to everyone.

ACIC 2016: outcomes under both treatments are simulated for 4,802 real pregnancies, so the
truth is known. ACTG 175: a real randomised trial; the truth is what the whole trial says.
At first 100 units of one k-means region are labelled. A chosen unit is treated by the toss of
a coin (ACIC), or as it was in the trial, which its label reveals (ACTG). `lookahead-pairs`
chooses units together with their treatments.

The belief is a Gaussian process over principal components of the covariates and the
treatment, one length scale each, fitted anew each round to the labels known by then. No
outcome has a say in the components: they are those of everyone's covariates.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd

from experiments.figures import plot_by_labels
from experiments.planners import EXACT, describe, planner
from experiments.readers.acic2016 import draw_acic2016, load_acic2016
from experiments.readers.actg175 import CHANCE, draw_actg175, load_actg175
from experiments.reporting import judge_rounds, sum_up_labels
from labelwise.beliefs.fit import fit_gaussian_process
from labelwise.cli.runs import Task
from labelwise.estimands.effect import AverageTreatmentEffect
from labelwise.simulation.loop import play
from labelwise.simulation.problem import Problem
from labelwise.types import Assignment, Pool

PAIRS = "lookahead-pairs"
POLICIES = {
    "acic2016": (
        *("random", "uncertainty", "uncertainty-sequential", "lookahead", PAIRS),
        *EXACT,  # an effect is linear
    ),
    "actg175": ("random", "uncertainty", "uncertainty-sequential", "lookahead"),
}
UNITS = {"acic2016": "the outcome's units", "actg175": "CD4 cells a mm³"}


@dataclass(frozen=True)
class Design:
    """How a data set becomes campaigns."""

    labelled: int = 100
    pool: int = 1000
    target: int = 500  # units drawn from all; in ACIC the truth is theirs
    rounds: int = 10
    batch: int = 10
    variance_kept: float = 0.9  # share of the covariates' variance in the components


DESIGN = Design()


@dataclass(frozen=True, eq=False)
class Units:
    """Who is labelled first, who may be, and who counts; covariates as components."""

    x_labelled: np.ndarray
    z_labelled: np.ndarray
    y_labelled: np.ndarray
    x_pool: np.ndarray
    labels: np.ndarray  # of the pool: under both treatments (ACIC), or the one received
    treatment: np.ndarray | None  # received, where it was decided long ago
    chance: float  # of treatment
    x_target: np.ndarray
    truth: float


def components(x: np.ndarray, share: float) -> np.ndarray:
    """Principal components that hold a share of the variance, in the covariates' own scale.

    Distances between units stay what they were, but for what is left out.
    """
    left, lengths, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    kept = int(np.searchsorted(np.cumsum(lengths**2) / np.sum(lengths**2), share)) + 1
    return left[:, :kept] * lengths[:kept]


@lru_cache(maxsize=2)
def components_of(dataset: str, share: float) -> np.ndarray:
    x = load_acic2016(1).x if dataset == "acic2016" else load_actg175().x
    return components(x, share)


def draw_units(dataset: str, seed: int, design: Design) -> Units:
    x = components_of(dataset, design.variance_kept)
    target = np.random.default_rng([seed, 2]).choice(len(x), design.target, replace=False)
    if dataset == "acic2016":
        data, draw = load_acic2016(1), draw_acic2016(seed, 1, design.labelled, design.pool)
        return Units(
            x_labelled=x[draw.rows_labelled],
            z_labelled=draw.z_labelled,
            y_labelled=draw.y_labelled,
            x_pool=x[draw.rows_pool],
            labels=np.stack([draw.y0_pool, draw.y1_pool]),
            treatment=None,
            chance=0.5,
            x_target=x[target],
            truth=float(np.mean((data.mu1 - data.mu0)[target])),
        )
    draw = draw_actg175(seed, design.labelled, design.pool)
    return Units(
        x_labelled=x[draw.rows_labelled],
        z_labelled=draw.z_labelled,
        y_labelled=draw.y_labelled,
        x_pool=x[draw.rows_pool],
        labels=draw.y_pool,
        treatment=draw.z_pool,
        chance=CHANCE,
        x_target=x[target],  # stands for all patients, whom the truth is about
        truth=draw.truth,
    )


def make_problem(units: Units, pairs: bool) -> Problem:
    """The units with the treatment as their last column."""
    column = units.x_pool.shape[1]
    beside = lambda x, z: np.column_stack([x, np.broadcast_to(z, len(x)).astype(float)])
    x = beside(units.x_labelled, units.z_labelled)
    pool, labels, treatment = _offer(units, beside, column, pairs)
    return Problem(
        prior=_Refit.of(units)(x, units.y_labelled),
        x=jnp.asarray(x),
        y=jnp.asarray(units.y_labelled, float),
        pool=pool,
        labels=jnp.asarray(labels, float),
        estimand=AverageTreatmentEffect(beside(units.x_target, 0.0), column),
        truth=jnp.asarray(units.truth),
        name="average treatment effect",
        truth_is="mean effect over the target",
        treatment=treatment,
    )


def _offer(units: Units, beside, column: int, pairs: bool):
    size = len(units.x_pool)
    if pairs:
        both = np.concatenate([beside(units.x_pool, arm) for arm in (0.0, 1.0)])
        return Pool(both, unit=np.tile(np.arange(size), 2)), units.labels.ravel(), None
    assignment = Assignment(column, units.chance, size)
    treatment = None if units.treatment is None else jnp.asarray(units.treatment, float)
    return Pool(beside(units.x_pool, 0.0), assignment=assignment), units.labels, treatment


@dataclass(frozen=True)
class _Refit:
    """A prior fitted to labels; length scales are expected on the scale of all units.

    The treatment's is expected at 1: outcomes under both treatments then share half of their
    variance.
    """

    spread: tuple[float, ...]

    @staticmethod
    def of(units: Units) -> "_Refit":
        dim = units.x_pool.shape[1] + 1
        everyone = np.concatenate([units.x_pool, units.x_target])
        common = np.sqrt(everyone.var(axis=0).sum() / dim)
        return _Refit((common,) * (dim - 1) + (1.0 / np.sqrt(dim),))

    def __call__(self, x: np.ndarray, y: np.ndarray):
        return fit_gaussian_process(x, y, spread=np.array(self.spread), starts=1).prior


def config(dataset: str) -> dict[str, Any]:
    """What the rows depend on besides policy and seed."""
    kept = components_of(dataset, DESIGN.variance_kept).shape[1]
    return {
        "experiment": "ate",
        "dataset": dataset,
        **asdict(DESIGN),
        "components": kept,
        "policies": {name: describe([_of(name)])[_of(name)] for name in POLICIES[dataset]},
        "pairs": PAIRS,  # it chooses treatments, too
    }


def _of(name: str) -> str:
    """The planner behind a policy of the study."""
    return "lookahead" if name == PAIRS else name


def run_task(dataset: str, task: Task) -> list[dict[str, Any]]:
    """One policy on one seed; a row a round."""
    units = draw_units(dataset, task.seed, DESIGN)
    pairs = task.policy == PAIRS
    problem = make_problem(units, pairs)
    rounds = play(
        problem,
        planner(_of(task.policy)),
        rounds=DESIGN.rounds,
        batch=DESIGN.batch,
        seed=task.seed,
        refit=_Refit.of(units),
    )
    return judge_rounds(task, rounds, problem, DESIGN.batch)


def work(dataset: str):
    """The function that workers run; it must be importable, hence no closure."""
    return partial(run_task, dataset)


def summarise(rows: pd.DataFrame, dataset: str, command: str) -> dict[str, Any]:
    """By policy: standard deviation, error and coverage by labels, and labels needed."""
    return {
        "experiment": "ate",
        "dataset": dataset,
        "command": command,
        "truth_is": _truth_is(dataset),
        **sum_up_labels(rows, POLICIES[dataset]),
    }


def _truth_is(dataset: str) -> str:
    if dataset == "acic2016":
        return "mean(mu1 - mu0) over the 500 target units of each seed"
    return "difference of means of the whole trial, itself uncertain: standard error 6.8"


def draw(rows: pd.DataFrame, folder: Path, dataset: str, policies: Sequence[str]) -> None:
    name = {"acic2016": "ACIC 2016, setting 1", "actg175": "ACTG 175"}[dataset]
    title = f"Average treatment effect, {name}: {rows['seed'].nunique()} campaigns a policy"
    plot_by_labels(rows, policies, folder / "effect.png", title=title, unit=UNITS[dataset])
