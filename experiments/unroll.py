"""What it costs to differentiate through learning, and how good each way of it is.

The paper's toy setting in double precision, with its ReLU units and Adam at 0.1 ("paper"), and
with tanh units and Adam at 0.01 ("smooth"). The objective is the variance over members of the
mean square at the target, after learning from 20 labels and a soft batch. Labels are imagined
by one member after the paper's 50 steps, whatever the number of steps studied: so gradients of
different numbers of steps are of the same question.

Gradients are in the soft weights, and from there in the logits, which are what a planner moves:
most soft weights are nearly 0, and there the first trace of a row moves Adam far, but a logit
hardly moves such a weight. Every gradient is held against the full unroll of the same steps,
against that of the longest learning, and against central finite differences of the same steps:
so tiny that curvature cannot matter, and as large as the changes that a planner makes.
"""

from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import medians, temporary_mb
from benchmarks.toy import TEMPERATURE, K, make_belief, make_toy
from labelwise.beliefs.neural.belief import NeuralBelief
from labelwise.beliefs.neural.gradients import stationarity
from labelwise.beliefs.neural.learning import Learning, TrainingProblem
from labelwise.cli.runs import Task
from labelwise.policies.subset import soft_batch

VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {"activation": "relu", "learning_rate": 0.1},
    "smooth": {"activation": "tanh", "learning_rate": 0.01},
}
STEPS = (5, 10, 50, 200)
LAST = {"last 5": lambda steps: 5, "last 10": lambda steps: 10, "last half": lambda s: s // 2}
MODES = ("unroll", *LAST, "forward", "implicit")
POOL = 10
LOGITS = np.full(POOL, -np.log(POOL))  # where planning begins
FEW = "paper, 50 steps, few rows"  # where tangents might be cheaper than going back
FEW_ROWS, FEW_MODES = (1, 3, 5), ("unroll", "forward")
TINY = (1e-9, 1e-8, 1e-7)  # of which the two that agree best are believed
SEEN = (1e-4, 1e-2)
TRUTHS = ("unroll", "longest", "tiny", *(f"{size:g}" for size in SEEN))
REPEATS = 5
SMALLER: dict[str, Any] = {}  # what tests make smaller
FIGURES = [
    f"{space}_{figure}"
    for space in ("weights", "logits")
    for figure in (
        *(f"{kind}_{name}" for name in TRUTHS for kind in ("cosine", "error")),
        "plateau",
    )
]  # of a gradient, as columns


class Setting(NamedTuple):
    """What one task studies."""

    variant: str
    steps: int
    rows: int = POOL  # of the pool, the heaviest of the soft batch


SETTINGS = {
    f"{variant}, {steps} steps": Setting(variant, steps)
    for variant in VARIANTS
    for steps in STEPS
}


class Question(eqx.Module):
    """The numbers that a gradient is computed from."""

    belief: NeuralBelief
    x: jax.Array  # rows of the soft batch
    labels: jax.Array  # imagined
    target: jax.Array


def ask(setting: Setting, seed: int) -> tuple[jax.Array, Question]:
    """The soft weights, and what is asked of them."""
    toy = make_toy(seed)
    options = {"precision": "double", **VARIANTS[setting.variant], **SMALLER}
    belief = make_belief(toy, seed, **options)
    labels = belief.sample_labels(jax.random.key(seed), toy.pool.x, 1)[0]
    weight = soft_weight(LOGITS, seed)
    rows = jnp.sort(jnp.argsort(-weight)[: setting.rows])
    return weight[rows], Question(belief, toy.pool.x[rows], labels[rows], toy.estimand.x)


def soft_weight(logits, seed: int):
    key = jax.random.fold_in(jax.random.key(seed), 1)
    return jnp.minimum(soft_batch(key, jnp.asarray(logits), K, TEMPERATURE), 1.0)


def objective(weight, question: Question, mode: str, steps: int):
    """Variance over members of the mean square at the target, after the soft batch."""
    return _variance(_trained(weight, question, mode, steps), question)


def _variance(belief: NeuralBelief, question: Question):
    return jnp.var((belief.panel(question.target) ** 2).mean(axis=1), ddof=1)


def _trained(weight, question: Question, mode: str, steps: int) -> NeuralBelief:
    learning = _in_mode(question.belief.learning, mode, steps)
    belief = eqx.tree_at(lambda belief: belief.learning, question.belief, learning)
    return belief.condition(question.x, question.labels, weight)


def _in_mode(learning: Learning, mode: str, steps: int) -> Learning:
    if mode in LAST:
        return replace(learning, steps=steps, gradient="truncated", last=LAST[mode](steps))
    return replace(learning, steps=steps, gradient=mode)


@cache  # all seeds have the same shapes
def gradient(setting: Setting, mode: str):
    """The gradient in the soft weights, compiled."""
    run = jax.grad(partial(objective, mode=mode, steps=setting.steps))
    return jax.jit(run).lower(*ask(setting, 0)).compile()


@partial(jax.jit, static_argnames="steps")
def _outcomes(weights, question: Question, steps: int):
    """The objective at several weights."""
    return jax.lax.map(lambda weight: objective(weight, question, "unroll", steps), weights)


@partial(jax.jit, static_argnames="steps")
def _slope_left(weight, question: Question, steps: int):
    after = _trained(weight, question, "unroll", steps)
    assert after.labelled is not None
    problem = TrainingProblem.of(after.model, after.learning, after.labelled, after.key)
    return stationarity(problem, after.weights)


def differences(value, point) -> dict[float, np.ndarray]:
    """Central finite differences in every coordinate, by their size."""
    point, sizes = np.asarray(point), np.array((*TINY, *SEEN))
    moves = sizes[:, None, None] * np.eye(len(point))[None]
    above, below = point + moves, point - moves
    both = np.concatenate([above, below]).reshape(-1, len(point))
    up, down = np.asarray(value(jnp.asarray(both))).reshape(2, len(sizes), -1)
    # Divided by the move that was made: of a tiny one, rounding takes a visible part.
    made = np.einsum("sii->si", above - below)
    return dict(zip(sizes.tolist(), (up - down) / made, strict=True))


def plateau(found: dict[float, np.ndarray]) -> tuple[np.ndarray, float]:
    """Among the tiny ones the two neighbours that agree best, and how well they do."""
    pairs = [(found[size], found[wider]) for size, wider in pairwise(TINY)]
    best = min(pairs, key=lambda pair: compare(*pair)["error"])
    return 0.5 * (best[0] + best[1]), compare(*best)["error"]


def compare(one, other) -> dict[str, float]:
    """Cosine, and length of the difference over that of `other`."""
    one, other = np.asarray(one), np.asarray(other)
    lengths = np.linalg.norm(one), np.linalg.norm(other)
    cosine = one @ other / max(lengths[0] * lengths[1], 1e-300)
    error = np.linalg.norm(one - other) / max(lengths[1], 1e-300)
    return {"cosine": float(cosine), "error": float(error)}


def config() -> dict[str, Any]:
    """What the rows depend on besides setting and seed."""
    return {
        "experiment": "unroll",
        "rounds": len(MODES) - 1,  # a row for each mode
        "modes": list(MODES),
        "variants": VARIANTS,
        "longest": STEPS[-1],
        "tiny": list(TINY),
        "seen": list(SEEN),
        "repeats": REPEATS,
    }


def work(task: Task) -> list[dict[str, Any]]:
    """One setting on one seed; a row for each mode, timed in turn."""
    if task.policy == FEW:
        return _few_rows(task)
    setting = SETTINGS[task.policy]
    asked = ask(setting, task.seed)
    found = {mode: gradient(setting, mode)(*asked) for mode in MODES}
    longest = gradient(setting._replace(steps=STEPS[-1]), "unroll")(*asked)
    back = jax.vjp(lambda logits: soft_weight(logits, task.seed), jnp.asarray(LOGITS))[1]
    pulled = {mode: back(one)[0] for mode, one in found.items()}
    outcomes = lambda weights: _outcomes(weights, asked[1], setting.steps)
    of_logits = jax.vmap(lambda logits: soft_weight(logits, task.seed))
    in_weights = _truths(found["unroll"], longest, differences(outcomes, asked[0]))
    in_logits = _truths(
        pulled["unroll"],
        back(longest)[0],
        differences(lambda logits: outcomes(of_logits(logits)), LOGITS),
    )
    left = float(_slope_left(*asked, setting.steps))
    figures = {
        mode: _against(found[mode], in_weights, "weights")
        | _against(pulled[mode], in_logits, "logits")
        for mode in MODES
    }
    return _rows(task, [(setting, mode) for mode in MODES], figures, left)


def _few_rows(task: Task) -> list[dict[str, Any]]:
    """Time and memory alone."""
    some = [(Setting("paper", 50, rows), mode) for rows in FEW_ROWS for mode in FEW_MODES]
    return _rows(task, some, {}, None)


def _rows(task: Task, cases, figures, left: float | None) -> list[dict[str, Any]]:
    asked = {setting: ask(setting, task.seed) for setting, _ in cases}
    call = lambda setting, mode: lambda: gradient(setting, mode)(*asked[setting])
    seconds = medians({str(case): call(*case) for case in cases}, REPEATS)
    return [
        {
            "policy": task.policy,
            "seed": task.seed,
            "round": number,
            "mode": mode,
            **setting._asdict(),
            "stationarity": left,
            **figures.get(mode, dict.fromkeys(FIGURES)),
            "temporary_mb": temporary_mb(gradient(setting, mode)),
            "seconds": seconds[str((setting, mode))],
        }
        for number, (setting, mode) in enumerate(cases)
    ]


def _truths(unroll, longest, moved: dict[float, np.ndarray]) -> dict[str, Any]:
    """What a gradient is held against, and how sure the tiny differences are of themselves."""
    tiny, doubt = plateau(moved)
    seen = {f"{size:g}": moved[size] for size in SEEN}
    return {"unroll": unroll, "longest": longest, "tiny": tiny, **seen, "doubt": doubt}


def _against(found, truths: dict[str, Any], space: str) -> dict[str, float]:
    compared = {name: compare(found, truths[name]) for name in TRUTHS}
    figures = {
        f"{space}_{figure}_{name}": value
        for name, both in compared.items()
        for figure, value in both.items()
    }
    return figures | {f"{space}_plateau": truths["doubt"]}
