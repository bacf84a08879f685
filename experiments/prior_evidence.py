"""Log evidence of tasks under many hyper-parameters, drawn from one wide law for all tasks.

Of numbers the unit is the labels' spread. A draw holds: the model's offset at the middle of its
output and its slope, then logarithms of the process's variance, of the length scales (one
factor for all, and one a feature), and of the noise's share.
"""

import zlib
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from experiments.prior_tasks import MOST_FEATURES, Task
from labelwise.beliefs import classifier
from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.fit import log_evidence
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import Matern52
from labelwise.beliefs.means import PredictorMean
from labelwise.inputs import as_jax

DRAWS = 768
NAMES = ("offset", "slope", "variance", "scale", "noise")
# Centre and standard deviation of the law that draws come from, far wider than any answer.
WIDE = {
    "class": np.array([[0.0, 0.7, -0.5, 0.4, 0.0], [0.9, 0.8, 1.6, 0.8, 1.0]]),
    "number": np.array([[0.0, 0.8, -1.5, 0.4, -1.2], [0.5, 0.6, 1.6, 0.8, 1.0]]),
}
FEATURE = 0.8  # standard deviation of a feature's own factor, in log units


class Problem(NamedTuple):
    x: jax.Array  # rows × features, padded with zeros; the model's output last
    y: jax.Array
    scale: jax.Array  # of each column
    middle: jax.Array
    unit: jax.Array  # of labels
    level: jax.Array  # where labels are numbers and the model's output is taken from its middle


def draws_of(task: Task, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Draws, and each feature's own factors: the same at every call."""
    rng = np.random.default_rng(
        zlib.crc32(f"{task.table} {task.quality} {task.y.sum()}".encode())
    )
    centre, spread = WIDE[kind]
    draws = centre + spread * rng.normal(size=(DRAWS, len(NAMES)))
    return draws, FEATURE * rng.normal(size=(DRAWS, MOST_FEATURES + 1))


def evidence_of(task: Task, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The draws, and the log evidence of the task's labels under each."""
    draws, factors = draws_of(task, kind)
    missing = MOST_FEATURES + 1 - task.x.shape[1]
    x = np.pad(task.x, ((0, 0), (missing, 0)))
    scale = np.pad(
        np.where(task.spread > 1e-9, task.spread, 1.0), (missing, 0), constant_values=1.0
    )
    features = task.x.shape[1]
    unit = 1.0 if kind == "class" else max(float(np.std(task.y)), 1e-9)
    problem = Problem(
        *map(
            as_jax,
            (
                x,
                task.y,
                scale * np.sqrt(features),
                np.asarray(task.centre),
                np.asarray(unit),
                np.asarray(0.0),
            ),
        )
    )
    run = _class if kind == "class" else _number
    return draws, np.asarray(run(problem, as_jax(draws), as_jax(factors)))


def _prior(problem: Problem, draw, factors):
    offset, slope, variance, scale, _ = draw
    length_scale = problem.scale * jnp.exp(scale + factors)
    # f = middle + unit · offset + slope · (output − middle)
    intercept = problem.middle + problem.unit * offset - slope * problem.middle
    column = problem.x.shape[1] - 1
    return Matern52(length_scale, problem.unit**2 * jnp.exp(variance)), PredictorMean(
        column, intercept, slope
    )


@jax.jit
def _class(problem: Problem, draws, factors):
    def one(at):
        kernel, mean = _prior(problem, *at)
        return classifier.log_evidence(
            GaussianProcessClassifier(kernel, mean), problem.x, problem.y
        )

    return jax.lax.map(one, (draws, factors))


@jax.jit
def _number(problem: Problem, draws, factors):
    def one(at):
        kernel, mean = _prior(problem, *at)
        belief = GaussianProcess(kernel, problem.unit**2 * jnp.exp(at[0][4]), mean)
        return log_evidence(belief, problem.x, problem.y)

    return jax.lax.map(one, (draws, factors))
