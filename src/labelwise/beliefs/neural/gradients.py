"""How the outcome of learning is differentiated in the weights of rows.

    unroll     back through every step, each computed again rather than kept: exact
    truncated  back through the last few steps only: biased, cheap
    forward    a tangent for each row, carried along: exact, memory does not grow with steps
    implicit   from the condition that the loss is stationary at the end, whatever the steps
               were: right only where learning has converged
    auto       chosen from sizes, see `choose`

Forward and implicit gradients are with respect to the rows of the last conditioning alone;
labels, features and what was known before count as constants there.

[1] Blondel, Roulet (2024), The elements of differentiable programming.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from labelwise.beliefs.neural.base import Weights, squared_length
from labelwise.beliefs.neural.learning import Gradient, TrainingProblem, advance, learn

MOST_NUMBERS = 50_000_000  # that going back may keep (400 MB)
FEW_NUMBERS = 10_000_000  # that going back may keep without blocks
CG_STEPS = 100
FIXED_INDICES = 64  # that stand for a continuum in the stationarity condition


def choose(problem: TrainingProblem, weights: Weights, rows: int) -> Gradient:
    """How to differentiate, if it is left open: exactly, unless memory forbids it.

    Tangents cost more than going back for all but one or two rows, and leave out how the
    outcome depends on labels and on rows known before; but their memory does not grow.
    """
    gradient, steps = problem.learning.differentiation.gradient, problem.learning.steps
    if gradient != "auto":
        return gradient
    if _kept(weights, steps) <= MOST_NUMBERS:
        return "unroll"
    return "forward" if 3 * _size(weights) * rows <= MOST_NUMBERS else "truncated"


def _kept(weights: Weights, steps: int) -> int:
    """Numbers that going back keeps: weights and moments, at each block and in one block."""
    return 3 * _size(weights) * 2 * math.isqrt(max(steps, 1))


def _size(weights: Weights) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(weights))


def trained_weights(problem: TrainingProblem, weights: Weights, new: int) -> Weights:
    """The outcome of learning; its last `new` rows are those to differentiate in."""
    gradient = choose(problem, weights, new)
    if gradient == "unroll":
        return _unrolled(problem, weights, 0)
    if gradient == "truncated":
        last = problem.learning.differentiation.last
        return _unrolled(problem, weights, max(problem.learning.steps - last, 0))
    weight = problem.labelled.weight
    old, own = jnp.split(weight, [weight.shape[0] - new])
    rest = jax.lax.stop_gradient((problem, weights, old))
    through = _by_tangents if gradient == "forward" else _by_stationarity
    return through(own, rest)


def _unrolled(problem: TrainingProblem, weights: Weights, constant: int) -> Weights:
    """Going back keeps the weights of each step and computes what lies between again.

    Where that is too much, it keeps those at which blocks of steps begin.
    """
    progress = problem.begin(weights)
    if constant:
        still = jax.lax.stop_gradient((problem, progress))
        progress = jax.lax.stop_gradient(advance(*still, 0, constant))
    steps = problem.learning.steps - constant
    fits = 3 * _size(weights) * steps <= FEW_NUMBERS
    block = steps if fits else math.isqrt(steps)
    again = partial(jax.checkpoint, prevent_cse=False)  # inside a loop nothing is merged
    inner = again(lambda progress, number: (problem.step(progress, number), None))
    run = lambda progress, first, count: jax.lax.scan(
        inner, progress, first + jnp.arange(count)
    )
    if fits:
        return problem.end(run(progress, constant, steps)[0])
    firsts = constant + block * jnp.arange(steps // block)
    outer = again(lambda progress, first: run(progress, first, block))
    progress = jax.lax.scan(outer, progress, firsts)[0]
    done = constant + steps // block * block
    return problem.end(run(progress, done, problem.learning.steps - done)[0])


def _with_weight(own, rest) -> tuple[TrainingProblem, Weights]:
    problem, weights, old = rest
    weight = jnp.concatenate([old, own])
    return eqx.tree_at(lambda problem: problem.labelled.weight, problem, weight), weights


@eqx.filter_custom_vjp
def _by_tangents(own, rest):
    return learn(*_with_weight(own, rest))


@_by_tangents.def_fwd
def _tangents(perturbed, own, rest):
    run = lambda own: learn(*_with_weight(own, rest))
    push = lambda tangent: jax.jvp(run, (own,), (tangent,))
    return jax.vmap(push, out_axes=(None, 0))(jnp.eye(own.shape[0]))


@_by_tangents.def_bwd
def _contract(tangents, change, perturbed, own, rest):
    along = jax.tree.map(
        lambda tangent, change: tangent.reshape(own.shape[0], -1) @ change.ravel(),
        tangents,
        _filled(change, jax.tree.map(lambda tangent: tangent[0], tangents)),
    )
    return sum(jax.tree.leaves(along), start=jnp.zeros(own.shape[0]))


def _filled(change: Any, like: Any) -> Any:
    """Zeros where a part of the outcome was not used."""
    fill = lambda part, change: jnp.zeros_like(part) if change is None else change
    return jax.tree.map(fill, like, change, is_leaf=lambda leaf: leaf is None)


@eqx.filter_custom_vjp
def _by_stationarity(own, rest):
    return learn(*_with_weight(own, rest))


@_by_stationarity.def_fwd
def _keep_outcome(perturbed, own, rest):
    outcome = learn(*_with_weight(own, rest))
    return outcome, outcome


@_by_stationarity.def_bwd
def _solve(outcome, change, perturbed, own, rest):
    change = _filled(change, outcome)
    problem = _with_weight(own, rest)[0]
    curved = partial(curvature_times, problem, outcome)
    pulled = jax.scipy.sparse.linalg.cg(curved, change, maxiter=CG_STEPS)[0]

    def along(own):
        slope = slope_of(_with_weight(own, rest)[0], outcome)
        return sum(jax.tree.leaves(jax.tree.map(jnp.vdot, slope, pulled)))

    return -jax.grad(along)(own)


def slope_of(problem: TrainingProblem, weights: Weights) -> Weights:
    """The slope of the loss on all rows; 0 where learning has converged."""
    return _whole(problem).slope(weights, problem.key)


def stationarity(problem: TrainingProblem, weights: Weights) -> Any:
    """Length of the slope beside that of the weights: small where implicit gradients hold."""
    slope = squared_length(slope_of(problem, weights))
    return jnp.sqrt(slope / jnp.maximum(squared_length(weights), 1e-300))


def _whole(problem: TrainingProblem) -> TrainingProblem:
    """The same problem with all rows at once, and many fixed indices."""
    learning = replace(problem.learning, batch=None, indices=FIXED_INDICES)
    return eqx.tree_at(lambda problem: problem.learning, problem, learning)


def curvature_times(problem: TrainingProblem, weights: Weights, vector: Weights) -> Weights:
    """Gauss-Newton: the loss's curvature in the functions, seen from the weights.

    Never negative, unlike the full second derivative of a network; the same for linear ones.
    """
    whole = _whole(problem)
    of_weights, data_loss = whole.parts(problem.key)
    functions = lambda own: of_weights(problem.model.network.shielded(own, weights))
    values, turned = jax.jvp(functions, (weights,), (vector,))
    bent = jax.jvp(jax.grad(data_loss), (values,), (turned,))[1]
    back = jax.vjp(functions, weights)[1](bent)[0]
    ridge = jax.grad(whole.penalty)(vector)  # linear in the weights: 2 · decay · vector
    damping = problem.learning.differentiation.damping
    damped = lambda back, ridge, own: back + ridge + damping * own
    return jax.tree.map(damped, back, ridge, vector)
