"""The paper's synthetic experiment: seven policies on clustered data, Gaussian-process belief.

Variants: "paper" draws ten data sets, labels from the prior, and rows leave the pool when
bought; "authors" runs the authors' own data set with its labels, and bought rows stay in the
pool, as in their code. There `lookahead-shrinking` also removes what it buys.
"""

import hashlib
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.figures import plot_rounds
from experiments.readers.authors import load_authors_clusters
from experiments.reporting import in_order, summarise_rounds, to_rows
from labelwise.cli.runs import Task
from labelwise.datasets.synthetic import ClusterDesign, make_clusters
from labelwise.errors import InvalidInput
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.optimise import Training
from labelwise.policies.registry import describe_policy, make_policy
from labelwise.policies.reinforce import Reinforce
from labelwise.simulation.loop import simulate
from labelwise.simulation.problem import Problem

ROUNDS, BATCH = 10, 5
PAPER = Training(objective="sampled", rollouts=10, steps=100, learning_rate=0.1, draws=100)
EXACT = Training(objective="exact", rollouts=10, steps=100, learning_rate=0.1)

# The seven policies, gradient ones at the paper's settings ("plain" has no baseline), ...
SEVEN: dict[str, AbstractPolicy] = {
    "random": make_policy("random"),
    "uncertainty": make_policy("uncertainty"),
    "uncertainty-sequential": make_policy("uncertainty-sequential"),
    "integrated-variance": make_policy("integrated-variance"),
    "reinforce-plain": Reinforce(PAPER, baseline=False),
    "smoothed-autodiff": SmoothedAutodiff(PAPER),
    "lookahead": make_policy("lookahead"),
}
# ... and what explains them: the objective's noise, the baseline, other relaxations.
VARIANTS: dict[str, AbstractPolicy] = {
    "reinforce-baseline": Reinforce(PAPER),
    "reinforce-baseline-exact": Reinforce(EXACT),
    "smoothed-autodiff-exact": SmoothedAutodiff(EXACT),
    "smoothed-autodiff-precision": SmoothedAutodiff(PAPER, relaxation="precision"),
    "smoothed-autodiff-centred": SmoothedAutodiff(PAPER, relaxation="centred"),
    "smoothed-autodiff-centred-exact": SmoothedAutodiff(EXACT, relaxation="centred"),
    "smoothed-autodiff-letter": SmoothedAutodiff(PAPER, relaxation="letter"),
}
# In one figure; its dashes tell four of a kind apart.
GRADIENT = [
    *("lookahead", "reinforce-baseline", "reinforce-plain", "reinforce-baseline-exact"),
    *("smoothed-autodiff", "smoothed-autodiff-letter", "smoothed-autodiff-centred"),
    "smoothed-autodiff-exact",
]
SHRINKING = "lookahead-shrinking"
AUTHORS_FILE = "gp51_seed0.npz"


def policies(variant: str) -> dict[str, AbstractPolicy]:
    extra = {SHRINKING: make_policy("lookahead")} if variant == "authors" else {}
    return {**SEVEN, **VARIANTS, **extra}


def config(variant: str, data: Path | None) -> dict[str, Any]:
    """What the rows depend on besides policy and seed."""
    design: dict[str, Any] = {"design": asdict(ClusterDesign())}
    if variant == "authors":
        file = _authors_file(data)
        design = {"file": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    return {
        "experiment": "synthetic-gp",
        "variant": variant,
        "rounds": ROUNDS,
        "batch": BATCH,
        "data": design,
        "policies": {
            name: describe_policy(policy) for name, policy in policies(variant).items()
        },
    }


def make_problem(variant: str, seed: int, data: Path | None) -> Problem:
    """Paper: a new data set for each seed. Authors: one data set, seeds of the policy only."""
    if variant == "authors":
        return load_authors_clusters(_authors_file(data))
    return make_clusters(seed)


def _authors_file(data: Path | None) -> Path:
    if data is None:
        raise InvalidInput(
            "The authors' variant reads their files", "give --data FOLDER", where="--data"
        )
    if not (data / AUTHORS_FILE).is_file():
        raise InvalidInput(
            f"There is no file {data / AUTHORS_FILE}",
            "give --data FOLDER with it",
            where="--data",
        )
    return data / AUTHORS_FILE


def run_task(variant: str, data: Path | None, task: Task) -> list[dict[str, Any]]:
    """One policy on one seed; a row a round."""
    shrinking = variant == "paper" or task.policy == SHRINKING
    records = simulate(
        make_problem(variant, task.seed, data),
        policies(variant)[task.policy],
        rounds=ROUNDS,
        batch=BATCH,
        seed=task.seed,
        shrinking=shrinking,
    )
    return to_rows(task, records)


def work(variant: str, data: Path | None):
    """The function that workers run; it must be importable, hence no closure."""
    return partial(run_task, variant, data)


def summarise(rows: pd.DataFrame, variant: str, command: str) -> dict[str, Any]:
    """Means and standard errors by round, and the ratios the study is about."""
    return {
        "experiment": "synthetic-gp",
        "variant": variant,
        "command": command,
        "seeds": int(rows["seed"].nunique()),
        "rounds": ROUNDS,
        "batch": BATCH,
        **summarise_rounds(rows, list(policies(variant))),
    }


def costs_in_markdown(summary: dict[str, Any]) -> str:
    """What each policy leaves, over lookahead's, and takes."""
    lines = [
        "| policy | variance left, over `lookahead`'s | seconds a round |",
        "|---|---|---|",
    ]
    final, best = summary["final_variance"], summary["final_variance"]["lookahead"]
    for name in sorted(final, key=lambda name: final[name]):
        seconds = summary["seconds_a_round"][name]
        lines.append(f"| `{name}` | {final[name] / best:.2f} | {seconds:.2g} |")
    return "\n".join(lines)


def draw(rows: pd.DataFrame, folder: Path, variant: str) -> None:
    """The experiment's two figures, and a third with the variants of the gradient planners."""
    where = "synthetic clusters" if variant == "paper" else "the authors' data set"
    seven = in_order(rows, list(SEVEN))
    label = "variance of the mean squared error"
    plot_rounds(
        seven, "variance", folder / "variance.png", label=label, title=f"Uncertainty: {where}"
    )
    plot_rounds(
        seven,
        "error",
        folder / "error.png",
        label="|estimate - truth| of the mean squared error",
        title=f"Error: {where}",
    )
    gradient = in_order(rows, GRADIENT)
    plot_rounds(
        gradient,
        "variance",
        folder / "gradient_planners.png",
        label=label,
        title=f"Gradient planners: {where}",
    )
