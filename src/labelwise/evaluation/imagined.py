"""Labels as they may turn out: those of the pool that came as they are, all others imagined.

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

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.errors import NumericalError
from labelwise.evaluation.data import shuffled
from labelwise.evaluation.functional_answer import functional_in_pool, functional_values
from labelwise.evaluation.posterior import Posterior
from labelwise.evaluation.predicted_terms import (
    known_terms,
    pool_predictions,
    target_predictions,
)
from labelwise.evaluation.question import Quantity
from labelwise.inputs import as_jax
from labelwise.programs import program

DRAWS = 2000  # imagined pools
ROWS = 1000  # of a larger pool's rows without a label, so many stand for all ...
LABELS = 8  # ... with at most so many labels each
FEW = 500  # of a target's rows, so many stand for all where every row counts alike
FEWEST = 1000  # labels of a target that are imagined, if its rows are fewer
PARTS = 1024  # equally likely, that a law of noise is cut into
MULTIPLE = 100  # rows come in multiples of this
UNSEEN = 16  # surprises that were not seen, in each imagined pool
WORTH = 5.0  # labels that these count for together
TAILS, CORE = 3.0, 0.75  # their degrees of freedom and scale
FIRST = 0.5  # what a label of the start counts for, of one that was bought


class Imagined(NamedTuple):
    """Some rows of a table that stand for others, and labels that they may have."""

    rows: np.ndarray
    labels: np.ndarray  # times × draws × rows
    functions: np.ndarray  # draws × rows: labels without noise; of classes, chances
    law: "NoiseLaw | None" = None  # of numbers


class NoiseLaw(NamedTuple):
    """What noise is like in each draw, and how many labels that rests on."""

    variance: np.ndarray
    worth: float


def imagine_pool(analysis: Posterior, seed: int) -> Imagined:
    """Labels of the pool's rows that have none, or of some that stand for them."""
    rows = unknown = np.setdiff1d(np.arange(analysis.size), analysis.known.rows)
    if len(rows) > ROWS:
        rows = np.sort(unknown[shuffled(analysis.arrays.pool[unknown], seed)[:ROWS]])
    times = min(-(-len(unknown) // max(len(rows), 1)), LABELS)
    if not len(rows):
        return Imagined(rows, np.zeros((1, DRAWS, 0)), np.zeros((DRAWS, 0)))
    return _imagine(analysis, analysis.arrays.pool, rows, times, seed)


def imagine_target(analysis: Posterior, seed: int) -> Imagined:
    """Labels of the target's rows, several each: they stand for a population."""
    rows = _standing_for_target(analysis, seed)
    times = max(1, min(LABELS, FEWEST // len(rows)))
    return _imagine(analysis, analysis.arrays.target, rows, times, seed, evenly=True)


def _standing_for_target(analysis: Posterior, seed: int) -> np.ndarray:
    """The rows that plans look at; where questions are means over all of them, some of these.

    Questions of classes and groups may rest on few of the rows: for them all are looked at.
    """
    arrays, questions = analysis.arrays, analysis.inquiry.questions
    rows = np.arange(len(arrays.target)) if arrays.thin is None else arrays.thin
    numbers = analysis.belief.has_number_labels
    if len(rows) <= FEW or not numbers or any(each.restricted for each in questions):
        return rows
    return np.sort(rows[shuffled(arrays.target[rows], seed)[:FEW]])


def _imagine(
    analysis: Posterior,
    table: np.ndarray,
    rows: np.ndarray,
    times: int,
    seed: int,
    evenly: bool = False,
) -> Imagined:
    rng = np.random.default_rng([seed, 6])
    functions, spread = _functions(analysis.belief, as_jax(_padded(table[rows])))
    functions, spread = np.asarray(functions)[:, : len(rows)], np.asarray(spread)
    if not np.isfinite(functions).all():  # classes would be imagined from it all the same
        raise NumericalError(
            "The belief broke down: its functions are not finite",
            "drop repeated rows or features, or choose another kernel",
            where="belief",
        )
    if not analysis.belief.has_number_labels:
        chances = np.asarray(analysis.belief.likelihood.mean(functions))
        drawn = rng.random((0 if evenly else times, *chances.shape)) < chances
        return Imagined(rows, drawn.astype(float), chances)
    noise, law = _noise(rng, analysis, (times, *functions.shape), evenly)
    law = law._replace(variance=spread**2 * law.variance)
    return Imagined(rows, functions + spread[:, None] * noise, functions, law)


def pool_values(
    analysis: Posterior,
    imagined: Imagined,
    question: Quantity,
    mass: np.ndarray,
    predicted: np.ndarray | None = None,
) -> np.ndarray:
    """What the question's number is in every imagined pool; NaN where it is not defined.

    `predicted` are the terms that the belief expects of all pool rows: with them, rows that
    stand for all are put right by how far off they are on average.
    """
    metric, rows = question.averaged, imagined.rows
    labels = np.full(analysis.size, np.nan)
    labels[list(analysis.known.rows)] = analysis.known.labels
    if metric.functional is not None:
        prediction = pool_predictions(analysis.arrays, question)
        return functional_in_pool(metric, imagined, labels, mass, prediction, predicted)
    terms = known_terms(analysis.arrays, question, labels)
    known = ~np.isnan(labels)
    left = float(mass[~known].sum())
    weight = mass[rows] * (left / max(float(mass[rows].sum()), 1e-300))
    prediction = pool_predictions(analysis.arrays, question)
    means = _means(question, imagined, prediction, weight)
    means = means + (terms[:, known] @ mass[known])[:, None]
    if predicted is not None and len(rows):
        off = predicted[:, ~known] @ mass[~known] - predicted[:, rows] @ weight
        means = means + off[:, None]
    return np.asarray(metric.combine(means / mass.sum()), float)


def target_values(analysis: Posterior, imagined: Imagined, question: Quantity) -> np.ndarray:
    """What the question's number is over the population, for each function."""
    arrays = analysis.arrays
    weight = question.shares(arrays, imagined.rows)
    prediction = target_predictions(arrays, question)
    functional = question.averaged.functional
    if functional is not None:
        labels = imagined.labels if len(imagined.labels) else imagined.functions[None]
        here = jax.tree.map(lambda column: column[imagined.rows], prediction)
        return functional_values(functional, [(labels, weight, here)])
    mean = _means if len(imagined.labels) else _expected_means
    means = mean(question, imagined, prediction, weight)
    return np.asarray(question.averaged.combine(means / weight.sum()), float)


def _means(question: Quantity, imagined: Imagined, prediction: Any, weight: np.ndarray):
    """Weighed sums of the terms over the rows, terms × draws, on average over times."""
    stack = _terms(question, imagined, prediction)
    return np.mean([stack(each) @ weight for each in imagined.labels], axis=0)


def _expected_means(question: Quantity, imagined: Imagined, prediction: Any, weight):
    """The same of labels 0 and 1, whose chances are known in each draw."""
    stack = _terms(question, imagined, prediction)
    zero, one = (stack(np.full(len(weight), label)) * weight for label in (0.0, 1.0))
    return (one - zero) @ imagined.functions.T + zero.sum(axis=1, keepdims=True)


def _terms(question: Quantity, imagined: Imagined, prediction: Any):
    """From labels of the rows to their terms."""
    here = jax.tree.map(lambda column: column[imagined.rows], prediction)
    metric, threshold = question.averaged, question.threshold
    return lambda labels: np.asarray(metric.stack(labels, here, threshold))


def _padded(x: np.ndarray) -> np.ndarray:
    """As many rows as the program that draws functions is compiled for; the last repeats."""
    return np.pad(x, ((0, -len(x) % MULTIPLE), (0, 0)), mode="edge")


@program
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


def _noise(
    rng: np.random.Generator, analysis: Posterior, shape: tuple[int, ...], evenly: bool
) -> tuple[np.ndarray, NoiseLaw]:
    """Noise in units of its spread, times × draws × rows; of each draw its mean is zero."""
    seen = surprises(analysis.belief)
    parts = shape[0] * shape[2] if evenly else PARTS
    if seen is None:
        labels = len(analysis.arrays.labels) + len(analysis.known.rows)
        normal = scipy.special.ndtri((np.arange(parts) + 0.5) / parts)
        table, law = np.broadcast_to(normal, (shape[1], parts)), np.ones(shape[1])
        return _pick(rng, table, shape, evenly), NoiseLaw(law, labels)
    bought = len(analysis.known.rows)
    worth = np.full(len(seen), 1.0)
    worth[: len(seen) - bought] = FIRST
    worth = np.concatenate([worth, np.full(UNSEEN, WORTH / UNSEEN)])
    weight = rng.gamma(worth, size=(shape[1], len(worth)))
    weight = weight / weight.sum(axis=1, keepdims=True)
    unseen = CORE * rng.standard_t(TAILS, (shape[1], UNSEEN))
    atoms = np.concatenate([np.broadcast_to(seen, (shape[1], len(seen))), unseen], axis=1)
    atoms = atoms - np.sum(atoms * weight, axis=1, keepdims=True)
    law = NoiseLaw(np.sum(atoms**2 * weight, axis=1), float(worth.sum()))
    return _pick(rng, _in_parts(rng, atoms, weight, parts), shape, evenly), law


def _in_parts(rng: np.random.Generator, atoms: np.ndarray, weight: np.ndarray, parts: int):
    """Each line's law as so many equally likely numbers, draws × parts.

    An atom has the whole number of parts next to its weight, above or below by chance: as many
    as it should have on average. A part is then found by its place, with no search.
    """
    ends = np.floor(parts * np.cumsum(weight, axis=1) + rng.random((len(atoms), 1)))
    ends[:, -1] = parts  # but for rounding it is
    counts = np.diff(np.minimum(ends, parts), axis=1, prepend=0.0).astype(int)
    return np.repeat(atoms.ravel(), counts.ravel()).reshape(len(atoms), parts)


def _pick(
    rng: np.random.Generator, table: np.ndarray, shape: tuple[int, ...], evenly: bool
) -> np.ndarray:
    """Numbers of each draw's line, times × draws × rows: by chance, or each of them once.

    Once each, they go round: what a row has in one draw, another row has in the next.
    """
    times, draws, rows = shape
    parts = table.shape[1]
    if evenly:
        order, turn = rng.permutation(parts), rng.integers(parts, size=(draws, 1))
        places = (order + turn) % parts
    else:
        places = rng.integers(parts, size=(draws, times * rows), dtype=np.int32)
    picked = np.take_along_axis(table, places, axis=1).reshape(draws, times, rows)
    return np.ascontiguousarray(np.swapaxes(picked, 0, 1))


def surprises(belief: Any) -> np.ndarray | None:
    """Of each label, how far it is from its prediction by all others, in standard deviations.

    None of beliefs that do not tell.
    """
    process = getattr(belief, "components", belief)
    if not isinstance(process, GaussianProcess) or process.seen is None:
        return None
    each, here = (np.asarray(part) for part in _surprises(belief))
    return each[here]


@program
def _surprises(belief):
    """For all rows seen, and whether they are there: padding is not.

    A label's distance from its prediction is α/K⁻¹_ii and has variance 1/K⁻¹_ii, where K is the
    covariance of the readings and α = K⁻¹ readings [Rasmussen, Williams 2006, eq. 5.12]; on
    average over the components of a mixture.
    """

    def of(one):
        factor, residual = one.seen.factor, one.seen.residual
        unit = jnp.eye(factor.shape[0])
        inverse = jax.scipy.linalg.solve_triangular(factor, unit, lower=True)
        return inverse.T @ residual / jnp.sqrt(jnp.sum(inverse**2, axis=0))

    here = getattr(belief, "components", belief).seen.gain > 0.0
    return belief.average(of), here if here.ndim == 1 else here[0]
