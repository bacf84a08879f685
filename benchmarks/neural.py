"""How long networks take: differentiating through their learning, and learning itself.

The gradient is Smoothed-Autodiff's own, in the paper's toy setting; beside it, in the same
run, the same roll-out in eager PyTorch, if that is installed.
"""

import os
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import neural_fit
from benchmarks.timing import medians
from benchmarks.toy import TEMPERATURE, K, Toy, make_belief, make_toy
from labelwise.beliefs.neural.belief import NeuralBelief, Precision
from labelwise.policies.constraints import Candidates
from labelwise.policies.estimator import GradientProblem, mean_gradient
from labelwise.policies.pathwise import Pathwise

try:
    from benchmarks import eager
except ModuleNotFoundError:
    eager = None

COMMAND = "python -m benchmarks neural --json"
ABSENT = "PyTorch is not installed: pip install 'labelwise[benchmark-torch]'"
PRECISIONS: tuple[Precision, ...] = ("single", "double")
ROLLOUTS, REPEATS = 20, 5
SHORT, WHOLE = 5, 50  # steps of learning that gradients are compared after
CHECKS = 3  # roll-outs that gradients are compared on; the worst counts
TOY: dict[str, Any] = {}  # what tests make smaller


def rollouts() -> dict[str, Any]:
    """Seconds of one roll-out, forth and back, after compilation."""
    times = {name: _seconds(name) for name in PRECISIONS}
    seconds = {name: both["ours"] for name, both in times.items()}
    ratio = lambda both: both["eager"] / both["ours"] if "eager" in both else None
    return {
        "seconds_per_step": {name: ROLLOUTS * value for name, value in seconds.items()},
        "seconds_per_rollout": seconds,
        "eager_seconds_per_rollout": {name: both.get("eager") for name, both in times.items()},
        "speedup_over_eager": {name: ratio(both) for name, both in times.items()},
        "eager_absent": ABSENT if eager is None else None,
    }


def _seconds(precision: Precision) -> dict[str, float]:
    toy, key = make_toy(0), jax.random.key(0)
    belief = make_belief(toy, 0, precision=precision, **TOY)
    logits, gradient = _logits(toy), step_gradient(toy, ROLLOUTS)
    functions = {"ours": lambda: gradient(belief, key, logits)}
    if eager is not None:
        plain, draws = eager.Eager(toy, belief, precision), draws_of(toy, belief, key)
        functions["eager"] = lambda: plain.gradient(logits, draws)
    seconds = medians(functions, REPEATS)
    return seconds | {"ours": seconds["ours"] / ROLLOUTS}


def step_gradient(toy: Toy, count: int):
    """The gradient of one step of the policy's training, with `count` roll-outs."""
    estimator = Pathwise(TEMPERATURE, directions=False)

    def gradient(belief, key, logits):
        candidates = Candidates.of(toy.pool)
        problem = GradientProblem(belief, toy.estimand, toy.pool, candidates, K)
        return mean_gradient(estimator.prepare(key, problem), key, logits, count)

    return eqx.filter_jit(gradient)


def draws_of(toy: Toy, belief: NeuralBelief, key) -> Any:
    """What chance decides in the only roll-out of a step, as the policy's code draws it."""
    assert eager is not None
    batch_key, cost_key = jax.random.split(jax.random.split(key, 1)[0])
    label_key = jax.random.split(cost_key)[0]
    # There is no label noise: imagined labels are one member's function.
    member = belief.network.draw(jax.random.split(label_key)[0], 1)[0]
    return eager.Draws(
        noise=jax.random.gumbel(batch_key, (toy.pool.size,)),
        labels=belief.panel(toy.pool.x)[member],
        members=jnp.arange(belief.network.size),
    )


def agreement(steps: int) -> dict[str, float] | None:
    """Our gradient beside PyTorch's, from the same weights and draws, in double precision."""
    if eager is None:
        return None
    toy = make_toy(0)
    belief = make_belief(toy, 0, precision="double", **{**TOY, "steps": steps})
    logits, gradient = _logits(toy), step_gradient(toy, 1)
    plain = eager.Eager(toy, belief, "double")
    cosines, differences = [], []
    for key in jax.random.split(jax.random.key(1), CHECKS):
        mine = np.asarray(gradient(belief, key, logits))
        theirs = plain.gradient(logits, draws_of(toy, belief, key)).numpy()
        size = np.linalg.norm(theirs)
        cosines.append(float(mine @ theirs / (np.linalg.norm(mine) * size)))
        differences.append(float(np.linalg.norm(mine - theirs) / size))
    return {"cosine": min(cosines), "relative_difference": max(differences)}


def _logits(toy: Toy):
    return jnp.full(toy.pool.size, -jnp.log(toy.pool.size))


def _threads() -> dict[str, int | None]:
    """PyTorch has one: on tensors this small, more of them wait for each other."""
    cores = len(os.sched_getaffinity(0))
    return {"xla": cores, "eager": None if eager is None else eager.use_one_thread()}


def run(advance=lambda: None) -> dict[str, Any]:
    found: dict[str, Any] = {"command": COMMAND, "threads": _threads()} | rollouts()
    advance()
    found["agreement_with_eager"] = {str(steps): agreement(steps) for steps in (SHORT, WHOLE)}
    advance()
    found["fit"] = {}
    for precision in PRECISIONS:
        found["fit"][precision] = neural_fit.measure(precision)
        advance()
    return found


TOTAL = 2 + len(PRECISIONS)
