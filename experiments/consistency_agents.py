"""The agents of the posterior-consistency benchmark, with the paper's hyper-parameter grids.

Settings that are numbers (decay, prior scale, dropout rate), and data sets of one size, are
learnt from at once, along a further axis of one program. Networks learn as the testbed that
the paper took them from has them: Adam, 1e-3, 1000 steps on 100 rows (a hypermodel 2000).

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, appendix D.4, D.5.
[2] Osband et al. (2022), The neural testbed: evaluating joint predictions.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.named import fit
from labelwise.beliefs.neural.learning import TrainingProblem, advance
from labelwise.beliefs.neural.registry import neural_belief
from labelwise.datasets.two_anchors import TwoAnchorDesign
from labelwise.diagnostics import Labelling

Setting = dict[str, float]
AT_ONCE = 8  # settings or data sets learnt from in one program
DECAYS = (0.01, 0.1, 1.0, 10.0, 100.0)
# What the paper sweeps [1, table 2]; of dropout, `decay` is its length scale.
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "mlp": {"decay": DECAYS},
    "dropout": {
        "decay": (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0),
        "rate": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    },
    "ensemble": {"decay": (*DECAYS, 1000.0)},
    "ensemble-plus": {"decay": DECAYS, "prior_scale": (1.0, 3.0, 10.0, 30.0, 100.0)},
    "hypermodel": {"decay": DECAYS, "prior_scale": (1.0, 3.0, 10.0, 30.0, 100.0)},
    "epinet": {
        "decay": (1e-3, *DECAYS),
        "prior_scale": (0.01, 0.1, 1.0, 10.0, 100.0),
    },
}
RATES = (1e-4, 1e-3, 1e-2, 1e-1)  # of learning
NETWORKS = tuple(GRIDS)
WITH_PRIOR = ("ensemble-plus", "epinet", "hypermodel")  # those of the paper's later figures
MIXTURE, LAST_LAYER, ORACLE = "gp-mixture", "last-layer", "gp-oracle"
AGENTS = (*NETWORKS, MIXTURE, LAST_LAYER)
# Seconds to learn from 250 rows, on one busy core (of the quick ones, to compile) ...
SECONDS = {
    "mlp": 1.0, "dropout": 1.0, "ensemble": 5.0, "ensemble-plus": 10.0, "hypermodel": 3.0,
    "epinet": 2.0, MIXTURE: 8.0, LAST_LAYER: 6.0, ORACLE: 1.0,
}  # fmt: skip
# ... and to be judged by ten inference seeds, which draw functions where there is a continuum.
JUDGING = {
    "mlp": 0.5, "dropout": 6.0, "ensemble": 2.5, "ensemble-plus": 3.0, "hypermodel": 10.0,
    "epinet": 14.0, MIXTURE: 2.0, LAST_LAYER: 2.0, ORACLE: 0.2,
}  # fmt: skip


@dataclass(frozen=True)
class Training:
    """What all networks share."""

    members: int = 100
    batch: int = 100
    steps: int | None = None  # None: as the testbed has it
    learning_rate: float = 1e-3


@dataclass(frozen=True)
class Lesson:
    """What there is to learn from, and how labels come about."""

    first: Labelling
    noise: float | None = None  # of labels that are numbers; None: they are 0 or 1

    def with_(self, more: Labelling) -> "Lesson":
        return replace(self, first=self.first.and_(more))


def make(name: str, dim: int, lesson: Lesson, training: Training, seed: int, **setting: Any):
    """A network before any label."""
    options: dict[str, Any] = {"learning_rate": training.learning_rate, "batch": training.batch}
    options |= {"members": training.members} if name.startswith("ensemble") else {}
    options |= {} if training.steps is None else {"steps": training.steps}
    law = {"labels": "binary"} if lesson.noise is None else {"noise": lesson.noise}
    return neural_belief(name, dim, seed=seed, **law, **options, **setting)


def learn(
    name: str,
    lessons: Sequence[Lesson],
    settings: Sequence[Setting],
    training: Training,
    seed: int,
) -> list[Any]:
    """A belief for each pair of a lesson and a setting, in this order."""
    pairs = list(itertools.product(lessons, settings))
    if name not in NETWORKS:
        return [learn_other(name, lesson, seed) for lesson, _ in pairs]
    found = []
    for low in range(0, len(pairs), AT_ONCE):
        some = pairs[low : low + AT_ONCE]
        priors = [
            make(name, lesson.first.x.shape[1], lesson, training, seed, **setting)
            for lesson, setting in some
        ]
        x = np.stack([lesson.first.x for lesson, _ in some])
        y = np.stack([lesson.first.y for lesson, _ in some])
        stacked = _condition(_stack(priors), jnp.asarray(x), jnp.asarray(y))
        found += _unstack(stacked, len(some))
    return found


def learn_other(name: str, lesson: Lesson, seed: int) -> Any:
    """Agents beyond the paper's; the oracle is the process that synthetic labels come from."""
    x, y = lesson.first.x, lesson.first.y
    if name == ORACLE:
        return TwoAnchorDesign().prior().condition(x, y)
    return fit(x, y, "auto" if name == MIXTURE else LAST_LAYER, seed=seed)


def learn_until(
    name: str, lesson: Lesson, stops: Sequence[int], training: Training, seed: int
) -> list[Any]:
    """A network's belief at several numbers of steps of one and the same training."""
    x, y = jnp.asarray(lesson.first.x), jnp.asarray(lesson.first.y)
    belief = make(name, x.shape[1], lesson, training, seed)
    labelled = Labelled.of(x, y, None, belief.likelihood)
    problem = TrainingProblem.of(belief.model, belief.learning, labelled, belief.key)
    progress, found, done = problem.begin(belief.start), [], 0
    for stop in stops:
        progress = _advance(problem, progress, jnp.asarray(done), stop - done)
        done = stop
        weights = problem.end(progress)
        found.append(eqx.tree_at(lambda belief: belief.weights, belief, weights))
    return found


def every_setting(name: str) -> list[Setting]:
    """All combinations of an agent's grid; one without any where it has none."""
    grid = GRIDS.get(name, {})
    return [
        dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
    ]


def along(name: str, option: str) -> list[Setting]:
    """The grid of one hyper-parameter, all others as they usually are."""
    return [{option: value} for value in GRIDS[name][option]]


def _stack(beliefs: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *beliefs)


def _unstack(stacked: Any, count: int) -> list[Any]:
    take: Mapping[int, Any] = {
        place: jax.tree.map(lambda leaf, place=place: leaf[place], stacked)
        for place in range(count)
    }
    return [take[place] for place in range(count)]


@eqx.filter_jit
def _condition(priors, x, y):
    return eqx.filter_vmap(lambda prior, x, y: prior.condition(x, y))(priors, x, y)


_advance = eqx.filter_jit(advance)
