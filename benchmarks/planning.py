"""How long planning takes: at the paper's size beside one matrix product, and as pools grow."""

import subprocess
import sys
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import medians, peak_memory_gb
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import Matern52
from labelwise.datasets.synthetic import make_clusters
from labelwise.estimands.moments import as_quadratic
from labelwise.estimands.named import MeanSquaredError
from labelwise.lookahead.objective import Objective
from labelwise.lookahead.posterior_view import exact_view
from labelwise.policies.constraints import Candidates
from labelwise.policies.estimator import GradientProblem, mean_gradient
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.pathwise import Pathwise
from labelwise.types import Pool

K = 5
STEPS = 10  # gradient steps in a row
POOLS = (1_000, 10_000, 100_000)


def paper_size() -> dict[str, Any]:
    """Whole proposals, conditioning on the round's labels included, over the product C Cᵀ."""
    problem = make_clusters(0)
    belief, key = cast(GaussianProcess, problem.belief), jax.random.key(0)
    cross = eqx.filter_jit(exact_view)(
        belief, as_quadratic(problem.estimand), problem.pool.x
    ).cross
    product = jax.jit(lambda cross: cross @ cross.T)
    propose = lambda effort: Lookahead(effort=effort).propose(
        key, belief, problem.estimand, problem.pool, K
    )
    seconds = medians(
        {
            "product": lambda: product(cross),
            "greedy + swaps": lambda: propose("swaps").indices,
            "lookahead": lambda: propose("auto").indices,
        },
        repeats=100,
    )
    return {
        "paper_size_ms": {name: 1e3 * value for name, value in seconds.items()},
        "greedy_over_product": seconds["greedy + swaps"] / seconds["product"],
        "lookahead_over_product": seconds["lookahead"] / seconds["product"],
    }


def sparse_update() -> dict[str, Any]:
    """One Smoothed-Autodiff gradient, conditioning on the heaviest rows or on all 500."""
    logits = 0.5 * jax.random.normal(jax.random.key(1), (500,)) - jnp.log(500.0)
    exact, sampled = _compare("exact", logits), _compare("sampled", logits)
    few, full = _gradient("exact", True), _gradient("exact", False)
    # Without sampling noise the two gradients can be compared; the worst of five roll-outs.
    keys = jax.random.split(jax.random.key(3), 5)
    return {
        "gradient_ms": {"exact": exact, "sampled": sampled},
        "sparse_speedup": exact["full"] / exact["sparse"],
        "sparse_speedup_sampled": sampled["full"] / sampled["sparse"],
        "sparse_cosine": min(_cosine(few(key, logits), full(key, logits)) for key in keys),
    }


def _compare(objective: Objective, logits) -> dict[str, float]:
    few, full = _gradient(objective, True), _gradient(objective, False)
    keys = jax.random.split(jax.random.key(2), STEPS)
    # Several steps in a row, as in training: a single one would find the caches cold.
    run = lambda gradient: lambda: [gradient(key, logits) for key in keys]
    seconds = medians({"sparse": run(few), "full": run(full)}, 10)
    return {name: 1e3 * value / STEPS for name, value in seconds.items()}


def _gradient(objective: Objective, sparse: bool):
    clusters = make_clusters(0)
    belief, estimand, pool = clusters.belief, clusters.estimand, clusters.pool
    problem = GradientProblem(belief, estimand, pool, Candidates.of(pool), K, objective)
    # The round's view serves many steps; it is computed here and not timed.
    rollouts = Pathwise(sparse=sparse).prepare(jax.random.key(0), problem)
    return jax.jit(lambda key, logits: mean_gradient(rollouts, key, logits, 1))


def _cosine(one, other) -> float:
    return float(one @ other / jnp.sqrt((one @ one) * (other @ other)))


def growth(advance=lambda: None) -> dict[str, Any]:
    """`lookahead` on growing pools, each in a process of its own so that memory is its own."""
    seconds, memory = {}, {}
    for size in POOLS:
        command = [sys.executable, "-m", "benchmarks.planning", str(size)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds[size], memory[size] = map(float, printed.split())
        advance()
    return {
        "growth_seconds": {str(size): value for size, value in seconds.items()},
        "growth_memory_gb": {str(size): value for size, value in memory.items()},
        "growth_ratio": seconds[100_000] / seconds[10_000],
        "peak_memory_gb": memory[100_000],
    }


def one_pool(size: int, repeats: int = 3) -> tuple[float, float]:
    """Median seconds of a proposal of 20 rows, and the process's peak memory in GB."""
    rng = np.random.default_rng(0)
    prior = GaussianProcess(Matern52(2.0 * np.ones(8), 1.0), 0.1)
    belief = prior.condition(rng.normal(size=(500, 8)), rng.normal(size=500))
    estimand = MeanSquaredError(rng.normal(size=(2_000, 8)) + 0.5)
    pool = Pool(rng.normal(size=(size, 8)))
    propose = lambda: Lookahead().propose(jax.random.key(0), belief, estimand, pool, 20).indices
    return medians({"propose": propose}, repeats)["propose"], peak_memory_gb()


def run(advance=lambda: None) -> dict[str, Any]:
    found = paper_size()
    advance()
    found |= sparse_update()
    advance()
    return found | growth(advance)


TOTAL = 2 + len(POOLS)

if __name__ == "__main__":
    print(*one_pool(int(sys.argv[1])))
