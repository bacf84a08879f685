"""Log evidence of tasks under many hyper-parameters, drawn from one wide law for all tasks.

Of numbers the unit is the labels' spread. A draw holds: the model's offset at the middle of its
output and its slope, then logarithms of the process's variance, of the length scales (one
factor for all, and one a feature), and of the noise's share.
"""

import zlib
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
    """A task as arrays."""

    x: jax.Array  # rows × features, padded with zeros; the model's output last
    y: jax.Array
    scale: jax.Array  # of each column
    middle: jax.Array  # of the model's output
    unit: jax.Array  # of labels


def draws_of(task: Task, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Draws, and each feature's own factors: the same at every call."""
    rng = np.random.default_rng(zlib.crc32(f"{task.table} {task.quality} {task.seed}".encode()))
    centre, spread = WIDE[kind]
    draws = centre + spread * rng.normal(size=(DRAWS, len(NAMES)))
    return draws, FEATURE * rng.normal(size=(DRAWS, MOST_FEATURES + 1))


def evidence_of(task: Task, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The draws, and the log evidence of the task's labels under each."""
    draws, factors = draws_of(task, kind)
    features = task.x.shape[1]
    missing = MOST_FEATURES + 1 - features
    spread = np.where(task.spread > 1e-9, task.spread, 1.0) * np.sqrt(features)
    unit = 1.0 if kind == "class" else max(float(np.std(task.y)), 1e-9)
    numbers = (
        np.pad(task.x, ((0, 0), (missing, 0))),
        task.y,
        np.pad(spread, (missing, 0), constant_values=1.0),
        np.asarray(task.centre),
        np.asarray(unit),
    )
    problem = Problem(*(as_jax(number) for number in numbers))
    run = _of_classes if kind == "class" else _of_numbers
    return draws, np.asarray(run(problem, as_jax(draws), as_jax(factors)))


def _prior(problem: Problem, draw, factors):
    """f = middle + unit · offset + slope · (output - middle), beside a process."""
    offset, slope, variance, scale, _ = draw
    kernel = Matern52(
        problem.scale * jnp.exp(scale + factors), problem.unit**2 * jnp.exp(variance)
    )
    intercept = problem.middle + problem.unit * offset - slope * problem.middle
    return kernel, PredictorMean(problem.x.shape[1] - 1, intercept, slope)


@jax.jit
def _of_classes(problem: Problem, draws, factors):
    def one(at):
        belief = GaussianProcessClassifier(*_prior(problem, *at))
        return classifier.log_evidence(belief, problem.x, problem.y)

    return jax.lax.map(one, (draws, factors))


@jax.jit
def _of_numbers(problem: Problem, draws, factors):
    def one(at):
        kernel, mean = _prior(problem, *at)
        noise = problem.unit**2 * jnp.exp(at[0][-1])
        return log_evidence(GaussianProcess(kernel, noise, mean), problem.x, problem.y)

    return jax.lax.map(one, (draws, factors))
