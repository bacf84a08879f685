"""The paper's real experiment: seven policies on intensive-care patients, Gaussian process.

A seed is one draw of initial labels, pool and target, and of the policy's randomness; the
cohort (forest, features, clusters) is the same for all. The paper fits the Gaussian process
"to above data" and holds it fixed: here, once, to 1,000 rows drawn from the whole cohort, so
all policies know the right scales and only the labels' values are to be found out. With
`nothing` known beforehand the fit is to the labels known so far, every round; with `paper` the
hyper-parameters are those that the paper prints for its own data, and the predictor is 0.
"""

import hashlib
from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from experiments.figures import plot_rounds
from experiments.readers import eicu, physionet2012
from experiments.readers.files import find_file
from experiments.readers.mortality import (
    CLUSTERS,
    EDGE,
    FEATURES,
    TREES,
    Cohort,
    Sizes,
    draw_mortality,
    make_cohort,
)
from experiments.reporting import compare_by_seed, in_order, summarise_rounds, to_rows
from experiments.synthetic_gp import SEVEN
from labelwise.beliefs.fit import Fit, fit_gaussian_process
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.beliefs.means import ConstantMean
from labelwise.cli.runs import Task
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.optimise import Training
from labelwise.policies.registry import describe_policy
from labelwise.policies.reinforce import Reinforce
from labelwise.simulation.loop import simulate

ROUNDS, BATCH, SIZES = 10, 5, Sizes()
FITTED = 1000  # rows that the fixed hyper-parameters are fitted to
# The paper's 1,000 steps; it does not say how many roll-outs a step has. These fit a morning.
SMOOTH = Training(objective="sampled", rollouts=2, steps=1000, learning_rate=0.1, draws=100)
SCORE = Training(objective="sampled", rollouts=5, steps=1000, learning_rate=0.1, draws=100)
LEARNT = ("smoothed-autodiff", "reinforce-plain")

# What is known of the Gaussian process beforehand.
Known = Literal["scales", "nothing", "paper"]
NAMED = {"scales": "", "nothing": ", refitted each round", "paper": ", the paper's prior"}
# Its hyper-parameters for the real eICU data [appendix B.2]; others are used here, so that they
# need not fit.
PAPERS = {"length_scale": 0.50, "variance": 1.0, "noise": 1e-4, "mean": 0.255}

LOADERS: dict[str, tuple[Callable[[Path], pd.DataFrame], tuple[str, ...]]] = {
    "physionet2012": (physionet2012.load_physionet2012, (physionet2012.FILE,)),
    "eicu-demo": (eicu.load_eicu, eicu.FILES),
}


def policies() -> dict[str, AbstractPolicy]:
    """The slow ones last: rows are saved as they come."""
    quick = {name: policy for name, policy in SEVEN.items() if name not in LEARNT}
    return {
        **quick,
        "smoothed-autodiff": SmoothedAutodiff(SMOOTH),
        "smoothed-autodiff-centred": SmoothedAutodiff(SMOOTH, relaxation="centred"),
        "reinforce-plain": Reinforce(SCORE, baseline=False),
        "reinforce-baseline": Reinforce(SCORE),
    }


def config(dataset: str, folder: Path, known: Known) -> dict[str, Any]:
    """What the rows depend on besides policy and seed."""
    return {
        "experiment": "real-gp",
        "dataset": dataset,
        "known": known,
        **({"paper": {**PAPERS, "predictor": 0.0}} if known == "paper" else {}),
        "rounds": ROUNDS,
        "batch": BATCH,
        "sizes": asdict(SIZES),
        "cohort": {"features": FEATURES, "clusters": CLUSTERS, "trees": TREES, "edge": EDGE},
        "fitted_rows": FITTED,
        "sha256": {path.name: _hash(path) for path in _files(dataset, folder)},
        "policies": {name: describe_policy(policy) for name, policy in policies().items()},
    }


@lru_cache(maxsize=1)
def make_cohort_of(dataset: str, folder: Path) -> Cohort:
    """Once a process: the forest takes longer than most simulations."""
    load, _ = LOADERS[dataset]
    return make_cohort(load(folder), "died_in_hospital", FEATURES, CLUSTERS)


@lru_cache(maxsize=1)
def fit_whole(dataset: str, folder: Path) -> Fit:
    """The hyper-parameters that are held fixed."""
    cohort = make_cohort_of(dataset, folder)
    rows = np.random.default_rng(0).permutation(len(cohort.x))[:FITTED]
    return _fit(cohort.x[rows], cohort.y[rows])


def prior_of(dataset: str, folder: Path, known: Known) -> GaussianProcess:
    """Before any label; where nothing is known it is fitted anew in every round."""
    if known == "paper":
        kernel = RBF(PAPERS["length_scale"], PAPERS["variance"])
        return GaussianProcess(kernel, PAPERS["noise"], ConstantMean(PAPERS["mean"]))
    return fit_whole(dataset, folder).prior


def run_task(dataset: str, folder: Path, known: Known, task: Task) -> list[dict[str, Any]]:
    """One policy on one seed; a row a round."""
    prior, cohort = prior_of(dataset, folder, known), make_cohort_of(dataset, folder)
    problem = draw_mortality(cohort, prior, task.seed, SIZES, zero=known == "paper")
    records = simulate(
        problem,
        policies()[task.policy],
        rounds=ROUNDS,
        batch=BATCH,
        seed=task.seed,
        refit=_refit if known == "nothing" else None,
    )
    truth = float(problem.truth)
    return [{**row, "truth": truth} for row in to_rows(task, records)]


def work(dataset: str, folder: Path, known: Known):
    """The function that workers run; it must be importable, hence no closure."""
    return partial(run_task, dataset, folder, known)


def summarise(rows: pd.DataFrame, dataset: str, folder: Path, known: Known) -> dict[str, Any]:
    """Means by round, lookahead against the others seed by seed, and what the data became."""
    return {
        "experiment": "real-gp",
        "dataset": dataset,
        "known": known,
        **({"paper": {**PAPERS, "predictor": 0.0}} if known == "paper" else {}),
        "seeds": int(rows["seed"].nunique()),
        "rounds": ROUNDS,
        "batch": BATCH,
        "truth": float(rows["truth"].mean()),
        "cohort": _describe(make_cohort_of(dataset, folder)),
        "fit": None if known == "nothing" else _describe_fit(prior_of(dataset, folder, known)),
        **summarise_rounds(rows, list(policies())),
        "lookahead_minus": {
            column: compare_by_seed(rows, column) for column in ("variance", "error")
        },
    }


def draw(rows: pd.DataFrame, folder: Path, dataset: str, known: Known) -> None:
    """The experiment's two figures."""
    where = f"{dataset}{NAMED[known]}"
    labels = {
        "variance": "variance of the mean squared error",
        "error": "|estimate - truth| of the mean squared error",
    }
    rows = in_order(rows, list(policies()))
    for column, label in labels.items():
        path, title = folder / f"{column}.png", f"{column.capitalize()}: {where}"
        plot_rounds(rows, column, path, label=label, title=title)


def _fit(x: np.ndarray, y: np.ndarray) -> Fit:
    """One length scale for all features, as in the paper; features have spread 1."""
    spread = np.ones(x.shape[1])
    return fit_gaussian_process(
        x, y, kernel="rbf", mean="constant", per_feature=False, spread=spread
    )


def _refit(x: np.ndarray, y: np.ndarray):
    return _fit(x, y).prior


def _describe(cohort: Cohort) -> dict[str, Any]:
    counts = np.bincount(cohort.clusters)
    return {
        "rows": len(cohort.y),
        "features": cohort.features,
        "label_mean": float(cohort.y.mean()),
        "label_std": float(cohort.y.std()),
        "cluster_sizes": sorted(map(int, counts), reverse=True),
        "home_clusters": int((counts >= SIZES.initial).sum()),
    }


def _describe_fit(belief: Any) -> dict[str, float]:
    origin = jnp.zeros((1, 1))  # the mean is constant
    numbers = {
        "mean": belief.prior_mean(origin)[0],
        "length_scale": belief.kernel.length_scale,
        "variance": belief.kernel.variance,
        "noise": belief.noise,
    }
    return {name: float(jax.device_get(value)) for name, value in numbers.items()}


def _files(dataset: str, folder: Path) -> list[Path]:
    _, names = LOADERS[dataset]
    return [find_file(folder, name, f"{name}.gz") for name in names]


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
