"""How close each policy's batch comes to the best of all subsets, for one step.

Pools of 30 rows and batches of 3: all 4,060 subsets are scored exactly. The figure is the
share of the best subset's expected variance reduction that a policy's batch attains.
"""

from collections.abc import Iterator
from itertools import combinations

import equinox as eqx
import jax
import numpy as np

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.datasets.synthetic import ClusterDesign, make_clusters
from labelwise.estimands.named import MeanSquaredError
from labelwise.lookahead.gain import batch_gain
from labelwise.lookahead.posterior_view import exact_view
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.optimise import Training
from labelwise.policies.registry import make_policy
from labelwise.policies.reinforce import Reinforce
from labelwise.types import Pool

POOL, K = 30, 3
SUBSETS = np.array(list(combinations(range(POOL), K)))
EXACT = Training(objective="exact", rollouts=10)

POLICIES = {
    "random": make_policy("random"),
    "uncertainty": make_policy("uncertainty"),
    "uncertainty-sequential": make_policy("uncertainty-sequential"),
    "integrated-variance": make_policy("integrated-variance"),
    "reinforce-baseline-exact": Reinforce(EXACT),
    "smoothed-autodiff-exact": SmoothedAutodiff(EXACT),
    "smoothed-autodiff-centred-exact": SmoothedAutodiff(EXACT, relaxation="centred"),
    "lookahead-greedy": Lookahead(effort="greedy"),
    "lookahead-swaps": Lookahead(effort="swaps"),
    "lookahead": Lookahead(),
}


def clusters() -> Iterator[tuple]:
    """The synthetic preset, 30 pool rows outside the training cluster; seeds 0 to 19."""
    counts = ClusterDesign().pool.counts
    outside = np.flatnonzero(np.repeat(np.arange(len(counts)), counts) > 0)
    for seed in range(20):
        problem = make_clusters(seed)
        some = np.random.default_rng(seed).choice(outside, POOL, replace=False)
        yield problem.belief, problem.estimand, Pool(problem.pool.x[some])


def random_problems() -> Iterator[tuple]:
    """3 features, 20 labels, 60 target rows; length scale and noise vary; seeds 0 to 49."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        kernel = RBF(rng.uniform(0.7, 2.5), 1.0)
        prior = GaussianProcess(kernel, 10 ** rng.uniform(-2.5, -0.5))
        target = rng.normal(size=(60, 3)) * rng.uniform(0.5, 1.5) + rng.normal(size=3)
        belief = prior.condition(rng.normal(size=(20, 3)), rng.normal(size=20))
        estimand = MeanSquaredError(target, rng.normal(size=60))
        yield belief, estimand, Pool(1.5 * rng.normal(size=(POOL, 3)))


FAMILIES = {"clusters": clusters, "random": random_problems}


@eqx.filter_jit
def all_gains(belief, estimand, pool, subsets):
    view = exact_view(belief, estimand, pool.x)
    return jax.vmap(lambda rows: batch_gain(view, rows)[0])(subsets)


def shares(family: str, advance=lambda: None) -> dict[str, list[float]]:
    """For each policy, its share of the best gain on every problem of a family."""
    found: dict[str, list[float]] = {name: [] for name in POLICIES}
    for index, (belief, estimand, pool) in enumerate(FAMILIES[family]()):
        best = all_gains(belief, estimand, pool, SUBSETS).max()
        for name, policy in POLICIES.items():
            batch = policy.propose(jax.random.key(index), belief, estimand, pool, K)
            gain = all_gains(belief, estimand, pool, batch.indices[None, :])[0]
            found[name].append(float(gain / best))
        advance()
    return found


def run(advance=lambda: None) -> dict[str, dict[str, dict[str, float]]]:
    """Family → policy → mean and worst share, as fractions."""
    return {
        family: {
            name: {"mean": float(np.mean(values)), "worst": float(np.min(values))}
            for name, values in shares(family, advance).items()
        }
        for family in FAMILIES
    }


TOTAL = 70  # problems, for the progress bar
