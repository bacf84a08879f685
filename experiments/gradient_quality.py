"""How good estimators of the policy gradient are: cosine with the true one, by roll-outs.

The paper's figure, with the state held fixed. The truth is REINFORCE with the set's
probability, a baseline and the exact objective, from a million batches, with a standard error
of its own; and on small pools the sum over all batches.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 7.
"""

import time
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, NamedTuple

import jax
import numpy as np

from experiments.gradient_states import (
    BATCH,
    ROUNDS,
    SEEDS,
    STARTS,
    STEPS,
    State,
    make_logits,
    make_problem,
    rollouts,
    states,
)
from labelwise.cli.runs import Task
from labelwise.lookahead.relaxation import Relaxation
from labelwise.policies.estimator import AbstractEstimator, GradientProblem
from labelwise.policies.pathwise import Pathwise, StraightThrough
from labelwise.policies.score_function import ScoreFunction

REPETITIONS = 200
MANY = 100_000  # roll-outs of REINFORCE
TRUTH, CHUNK = 1_000_000, 500
TEMPERATURES = (0.1, 0.5, 10.0)
COUNTS = (1, 3, 10, 30, 100, 300, 1_000, 10_000)  # roll-outs of an estimate


class Kind(NamedTuple):
    """An estimator, its objective, and how many roll-outs of it are made in all."""

    estimator: AbstractEstimator
    objective: str
    budget: int
    most: int  # roll-outs of an estimate, at the most

    def describe(self) -> dict[str, Any]:
        """All of its settings."""
        one = self.estimator
        options = {field.name: getattr(one, field.name) for field in fields(one)}
        return {**self._asdict(), "estimator": type(one).__name__, "options": options}


def _smoothed(relaxation: Relaxation, objective: str) -> dict[str, Kind]:
    """At each temperature; hot ones take all rows, are slow, and hardly vary."""
    budgets = {0.1: 2_000, 0.5: 300, 10.0: 20}
    return {
        f"smoothed-{relaxation}-{objective} {tau:g}": Kind(
            Pathwise(tau, relaxation), objective, budgets[tau], 100
        )
        for tau in TEMPERATURES
    }


KINDS: dict[str, Kind] = {
    "reinforce-plain-exact": Kind(ScoreFunction(False, "set"), "exact", 100_000, 10_000),
    "reinforce-plain-sequence-exact": Kind(
        ScoreFunction(False, "sequence"), "exact", 100_000, 10_000
    ),
    "reinforce-baseline-exact": Kind(ScoreFunction(True, "set"), "exact", 100_000, 10_000),
    "reinforce-plain-sampled": Kind(ScoreFunction(False, "set"), "sampled", 6_000, 300),
    "reinforce-baseline-sampled": Kind(ScoreFunction(True, "set"), "sampled", 6_000, 300),
    **_smoothed("letter", "sampled"),
    **_smoothed("letter", "exact"),
    **_smoothed("matched", "exact"),
    **_smoothed("precision", "exact"),
    **_smoothed("precision", "sampled"),
    **_smoothed("even", "exact"),
    **_smoothed("even", "sampled"),
    "straight-through 0.5": Kind(StraightThrough(0.5), "exact", 30, 10),
}
NAMES = ["truth", *KINDS]


def config() -> dict[str, Any]:
    return {
        "experiment": "gradient-quality",
        "rounds": len(COUNTS) - 1,
        "repetitions": REPETITIONS,
        "truth": TRUTH,
        "counts": COUNTS,
        "batch": BATCH,
        "draws": GradientProblem.draws,
        "states": {"seeds": SEEDS, "rounds": ROUNDS, "starts": STARTS, "steps": STEPS},
        "kinds": {name: kind.describe() for name, kind in KINDS.items()},
    }


def work(task: Task) -> list[dict[str, Any]]:
    """One estimator in one state; a row for each number of roll-outs."""
    state, began = states(task.seed + 1)[task.seed], time.perf_counter()
    truth, error = true_gradient(state)
    if task.policy == "truth":
        found = [_of_truth(truth, error)] * len(COUNTS)
    else:
        found = list(_compare(KINDS[task.policy], state, truth))
    common = {"start": state.start, "data": state.seed, "bought": state.bought}
    seconds = {"seconds": round(time.perf_counter() - began, 2)}
    return [
        {"policy": task.policy, "seed": task.seed, "round": index}
        | {"rollouts": count, **common, **row, **seconds}
        for index, (count, row) in enumerate(zip(COUNTS, found, strict=True))
    ]


def true_gradient(state: State) -> tuple[np.ndarray, np.ndarray]:
    """From many batches, with the standard error of each entry; kept while states follow."""
    if state not in _TRUTHS:
        _TRUTHS.clear()
        key = jax.random.key(1_000 + state.seed)
        problem, logits = make_problem(state, "exact"), make_logits(state)
        chunks = TRUTH // CHUNK
        found = np.asarray(rollouts(ScoreFunction(), key, problem, logits, chunks, CHUNK))
        error = found.std(axis=0, ddof=1) / np.sqrt(chunks)
        _TRUTHS[state] = found.mean(axis=0), error
    return _TRUTHS[state]


_TRUTHS: dict[State, tuple[np.ndarray, np.ndarray]] = {}


def _of_truth(truth: np.ndarray, error: np.ndarray) -> dict[str, float]:
    """The cosine that the truth itself is expected to have with the gradient in the limit."""
    noise = float((error**2).sum())
    square = max(float(truth @ truth) - noise, 0.0)
    cosine = np.sqrt(square / (square + noise))
    return {"repetitions": 1, "cosine": cosine, "standard_error": 0.0, "of_mean": cosine}


def _compare(kind: Kind, state: State, truth: np.ndarray) -> Iterator[dict[str, float]]:
    """Mean cosine by number of roll-outs; none where they are too many to pay for."""
    estimates = _score_estimates if isinstance(kind.estimator, ScoreFunction) else _estimates
    for found in estimates(kind, state):
        if len(found) < 2:
            nothing = {"cosine": np.nan, "standard_error": np.nan, "of_mean": np.nan}
            yield {"repetitions": 0, **nothing}
            continue
        cosines = [cosine(one, truth) for one in found]
        yield {
            "repetitions": len(found),
            "cosine": float(np.mean(cosines)),
            "standard_error": float(np.std(cosines, ddof=1) / np.sqrt(len(found))),
            "of_mean": cosine(found.mean(axis=0), truth),
        }


def _groups(kind: Kind, count: int) -> int:
    """How many estimates by so many roll-outs there are."""
    alone = getattr(kind.estimator, "baseline", False) and count < 2
    return 0 if count > kind.most or alone else min(REPETITIONS, kind.budget // count)


def _estimates(kind: Kind, state: State) -> Iterator[np.ndarray]:
    """Means of the same roll-outs, taken together in groups of each size."""
    problem, logits = make_problem(state, kind.objective), make_logits(state)
    key = jax.random.key(state.seed)
    each = np.asarray(rollouts(kind.estimator, key, problem, logits, kind.budget, 1))
    for count in COUNTS:
        groups = _groups(kind, count)
        if not groups:
            yield each[:0]
            continue
        yield each[: groups * count].reshape(groups, count, each.shape[1]).mean(axis=1)


def _score_estimates(kind: Kind, state: State) -> Iterator[np.ndarray]:
    """The same for what is quick, but shares a baseline: roll-outs of its own for each size."""
    problem, logits = make_problem(state, kind.objective), make_logits(state)
    for count in COUNTS:
        groups = _groups(kind, count)
        if groups < 2:
            yield np.zeros((0, problem.pool.size))
            continue
        key = jax.random.fold_in(jax.random.key(state.seed), count)
        yield np.asarray(rollouts(kind.estimator, key, problem, logits, groups, count))


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    """0 where one of them has no direction."""
    length = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / length if length > 0.0 else 0.0
