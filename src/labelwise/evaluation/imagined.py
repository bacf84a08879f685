"""The pool as it may turn out: labels that came as they are, all others imagined.

One imagined pool is one function drawn from the belief, with one label a row. What a metric is
there, over many such pools, is what the belief says of the pool's own labels.

Numbers are not imagined with Gaussian noise but with that of the labels seen: each is held to
its prediction from all others, and these surprises, in units of their spread, are the law that
noise is drawn from. How often each would come again is not known, so every imagined pool has
weights of its own for them (the Bayesian bootstrap [1]), and some surprises that were not seen,
from a law with heavy tails: the largest error is hardly ever among the labels at hand.

[1] Rubin (1981), The Bayesian bootstrap.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.evaluation.data import shuffled
from labelwise.evaluation.posterior import Posterior
from labelwise.evaluation.predicted_terms import known_terms, pool_predictions
from labelwise.evaluation.question import Quantity
from labelwise.inputs import as_jax

DRAWS = 2000  # imagined pools
ROWS = 1000  # of a larger pool's rows without a label, so many stand for all ...
LABELS = 8  # ... with at most so many labels each
UNSEEN = 16  # surprises that were not seen, in each imagined pool
WORTH = 5.0  # labels that these count for together
TAILS, CORE = 3.0, 0.75  # their degrees of freedom and scale
FIRST = 0.5  # what a label of the start counts for, of one that was bought


class ImaginedPool(NamedTuple):
    """Rows without a label, or some that stand for all, and labels that they may have."""

    rows: np.ndarray
    labels: np.ndarray  # times × draws × rows


def imagine_pool(analysis: Posterior, seed: int) -> ImaginedPool:
    """Imagine labels of the rows that have none."""
    rows = unknown = np.setdiff1d(np.arange(analysis.size), analysis.known.rows)
    if len(rows) > ROWS:
        rows = np.sort(unknown[shuffled(analysis.arrays.pool[unknown], seed)[:ROWS]])
    times = min(-(-len(unknown) // max(len(rows), 1)), LABELS)
    if not len(rows):
        return ImaginedPool(rows, np.zeros((1, DRAWS, 0)))
    rng = np.random.default_rng([seed, 6])
    x = as_jax(np.ascontiguousarray(analysis.arrays.pool[_padded(rows)]))
    functions, spread = _functions(analysis.belief, x)
    functions = np.asarray(functions)[:, : len(rows)]
    if not analysis.belief.has_number_labels:
        chances = np.asarray(analysis.belief.likelihood.mean(functions))
        return ImaginedPool(rows, (rng.random((times, *chances.shape)) < chances).astype(float))
    noise = _noise(rng, analysis, (times, *functions.shape))
    return ImaginedPool(rows, functions + np.asarray(spread)[:, None] * noise)


def pool_values(
    analysis: Posterior,
    imagined: ImaginedPool,
    question: Quantity,
    mass: np.ndarray,
    predicted: np.ndarray | None = None,
) -> np.ndarray:
    """What the question's number is in every imagined pool, where that is defined.

    `predicted` are the terms that the belief expects of all pool rows: with them, rows that
    stand for all are put right by how far off they are on average.
    """
    metric, rows = question.averaged, imagined.rows
    labels = np.full(analysis.size, np.nan)
    labels[list(analysis.known.rows)] = analysis.known.labels
    terms = known_terms(analysis.arrays, question, labels)
    known = ~np.isnan(labels)
    left = float(mass[~known].sum())
    weight = mass[rows] * (left / max(float(mass[rows].sum()), 1e-300))
    prediction = pool_predictions(analysis.arrays, question)
    prediction = jax.tree.map(lambda column: column[rows], prediction)
    stack = lambda labels: np.asarray(metric.stack(labels, prediction, question.threshold))
    means = np.mean([stack(each) @ weight for each in imagined.labels], axis=0)
    means = means + (terms[:, known] @ mass[known])[:, None]
    if predicted is not None and len(rows):
        means = (
            means + (predicted[:, ~known] @ mass[~known] - predicted[:, rows] @ weight)[:, None]
        )
    values = np.asarray(metric.combine(means / mass.sum()))
    return values[np.isfinite(values)]


def _padded(rows: np.ndarray) -> np.ndarray:
    """As many rows as the program that draws functions is compiled for; the last repeats."""
    multiple = 100
    return np.pad(rows, (0, -len(rows) % multiple), mode="edge")


@eqx.filter_jit
def _functions(belief, x):
    """Joint draws of the function, and of each the spread of its noise."""

    def of(component, key, draws):
        functions = component.sample(key, x, draws)
        noise = getattr(component.likelihood, "noise", 0.0)
        return jnp.column_stack([functions, jnp.full(draws, jnp.sqrt(noise))])

    key = jax.random.key(2)
    draw = getattr(belief, "draw", None)
    both = of(belief, key, DRAWS) if draw is None else draw(key, DRAWS, of)
    return both[:, :-1], both[:, -1]


def _noise(rng: np.random.Generator, analysis: Posterior, shape: tuple[int, ...]) -> np.ndarray:
    """Noise in units of its spread, times × draws × rows; of each draw its mean is zero."""
    seen = surprises(analysis.belief)
    if seen is None:
        return rng.normal(size=shape)
    bought = len(analysis.known.rows)
    worth = np.full(len(seen), 1.0)
    worth[: len(seen) - bought] = FIRST
    worth = np.concatenate([worth, np.full(UNSEEN, WORTH / UNSEEN)])
    weight = rng.gamma(worth, size=(shape[1], len(worth)))
    unseen = CORE * rng.standard_t(TAILS, (shape[1], UNSEEN))
    atoms = np.concatenate([np.broadcast_to(seen, (shape[1], len(seen))), unseen], axis=1)
    return _draw_each(rng, atoms, weight / weight.sum(axis=1, keepdims=True), shape)


def _draw_each(
    rng: np.random.Generator, atoms: np.ndarray, weight: np.ndarray, shape: tuple[int, ...]
) -> np.ndarray:
    """From each line of atoms, by its weights; less the line's mean."""
    lines = np.arange(len(atoms))
    # One search for all lines: line i has its steps between i and i + 1.
    steps = lines[:, None] + np.minimum(np.cumsum(weight, axis=1), 1.0)
    wanted = lines[:, None] + rng.random(shape)
    places = np.searchsorted(steps.ravel(), wanted.ravel(), side="right").reshape(shape)
    places = np.minimum(places, (lines[:, None] + 1) * atoms.shape[1] - 1)
    centre = np.sum(atoms * weight, axis=1)
    return atoms.ravel()[places] - centre[:, None]


def surprises(belief: Any) -> np.ndarray | None:
    """Of each label, how far it is from its prediction by all others, in standard deviations.

    None of beliefs that do not tell.
    """
    process = getattr(belief, "components", belief)
    if not isinstance(process, GaussianProcess) or process.seen is None:
        return None
    each, here = (np.asarray(part) for part in _surprises(belief))
    return each[here]


@eqx.filter_jit
def _surprises(belief):
    """For all rows seen, and whether they are there: padding is not.

    A label's distance from its prediction is α/K⁻¹_ii and has variance 1/K⁻¹_ii, where K is the
    covariance of the readings and α = K⁻¹ readings. [Rasmussen, Williams 2006, eq. 5.12]
    """
    one = belief.heaviest if hasattr(belief, "heaviest") else belief
    factor, residual = one.seen.factor, one.seen.residual
    inverse = jax.scipy.linalg.solve_triangular(factor, jnp.eye(factor.shape[0]), lower=True)
    pull = inverse.T @ residual
    return pull / jnp.sqrt(jnp.sum(inverse**2, axis=0)), one.seen.gain > 0.0
