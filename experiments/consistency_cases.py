"""Cases of the posterior-consistency benchmark: what agents learn from, how they are judged.

The loss is joint, of dyadic bundles of ten labels; on real tables a repeated row has its one
label. Every inference seed draws its own bundles and functions. Beside it stand the marginal
loss and that of ten different rows at once, and on synthetic data the loss of fresh labels:
under these the belief that labels come from is the best there can be, on average.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from experiments.consistency_agents import Lesson, Training
from experiments.consistency_data import Rows, cluster_splits, linear_splits, load_rows
from labelwise.datasets.two_anchors import TwoAnchors, draw_two_anchors
from labelwise.diagnostics import (
    Labelling,
    Split,
    draw_distinct,
    draw_dyads,
    fresh_labels,
    one_by_one,
    score,
)
from labelwise.diagnostics.splits import STRENGTHS

SYNTHETIC, CLUSTERS, LINEAR, RANKED = "synthetic", "clusters", "linear", "linear-rank"
DISTANCES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)  # between anchors; the paper has no figures
FRESH = 3  # inference seeds with fresh labels, which take longer
Row = dict[str, Any]


@dataclass(frozen=True)
class Protocol:
    """How agents learn and how they are judged."""

    data: str | None = None  # folder with a folder for each table
    inference: int = 10  # seeds, of bundles and of drawn functions
    bundles: int = 1000
    draws: int = 1000
    training: Training = field(default_factory=Training)

    @property
    def folder(self) -> Path | None:
        return None if self.data is None else Path(self.data)

    def to_dict(self) -> Row:
        """Where the data lie does not matter to what is found."""
        return {key: value for key, value in asdict(self).items() if key != "data"}


@dataclass(frozen=True)
class Case:
    """What there is to learn from and to be judged on, at one strength of the bias."""

    lesson: Lesson
    more: Labelling  # from outside, to be learnt from next
    tests: Mapping[str, Labelling]
    about: Row  # strength, distance, clusters
    anchors: TwoAnchors | None = None


def cases(data: str, bias: str, seed: int, folder: Path | None) -> list[Case]:
    """One case for each strength of the bias, weakest first."""
    if data == SYNTHETIC:
        return [_synthetic(seed, distance) for distance in DISTANCES]
    rows = load_rows(data, folder, seed)
    if bias == CLUSTERS:
        made = cluster_splits(data, folder, seed)
        about = lambda rank: {
            "strength": rank,
            "distance": round(float(made.distance[rank - 1]), 3),
            "clusters": made.clusters,
        }
        return [_case(rows, split, about(rank)) for rank, split in made.by_rank.items()]
    by = "paper" if bias == LINEAR else "rank"
    splits = linear_splits(data, folder, seed, STRENGTHS, by)
    return [_case(rows, split, {"strength": one}) for one, split in splits.items()]


def _case(rows: Rows, split: Split, about: Row) -> Case:
    part = lambda places: Labelling(rows.x[places], rows.y[places])
    tests = {"inside": part(split.inside), "outside": part(split.outside)}
    return Case(Lesson(part(split.train)), part(split.pool), tests, about)


def _synthetic(seed: int, distance: float) -> Case:
    made = draw_two_anchors(seed, distance)
    part = lambda places: Labelling(made.x[places], made.y[places])
    tests = {"inside": part(made.inside), "outside": part(made.outside)}
    lesson = Lesson(part(made.train), made.design.noise)
    about = {"strength": distance, "distance": distance}
    return Case(lesson, part(made.pool), tests, about, made)


def judge(belief: Any, case: Case, protocol: Protocol) -> list[Row]:
    """One row a test set: losses on average over inference seeds, and how they scatter."""
    return [
        {**case.about, "where": where, **_losses(belief, case, where, protocol)}
        for where in case.tests
    ]


def _losses(belief: Any, case: Case, where: str, protocol: Protocol) -> Row:
    test, found = case.tests[where], []
    for seed in range(protocol.inference):
        bundles = draw_dyads(np.random.default_rng(seed), len(test.y), protocol.bundles)
        found.append(_score(belief, test, bundles, protocol, seed))
    apart = draw_distinct(np.random.default_rng(0), len(test.y), protocol.bundles)
    joint = np.array([one.mean for one in found])
    losses = {
        "joint": joint.mean(),
        "joint_sd": joint.std(ddof=1) if len(joint) > 1 else 0.0,
        "marginal": _score(belief, test, one_by_one(len(test.y)), protocol).mean,
        "distinct": _score(belief, test, apart, protocol).mean,
        "bias_of_draws": np.mean([one.bias for one in found]),
        "mean_label": test.y.mean(),
        **_fresh(belief, case, where, protocol),
    }
    return {name: round(float(value), 6) for name, value in losses.items()}


def _score(belief: Any, test: Labelling, bundles: Any, protocol: Protocol, seed: int = 0):
    return score(jax.random.key(seed), belief, test.x, test.y, bundles, draws=protocol.draws)


def _fresh(belief: Any, case: Case, where: str, protocol: Protocol) -> Row:
    """The joint loss of fresh labels, where their law is known."""
    if case.anchors is None:
        return {}
    test, rows, anchors = case.tests[where], getattr(case.anchors, where), case.anchors
    losses = []
    for seed in range(FRESH):
        rng, key = np.random.default_rng(seed), jax.random.key(seed)
        bundles = draw_dyads(rng, len(test.y), protocol.bundles)
        labels = fresh_labels(rng, bundles, lambda rng, at: anchors.fresh(rng, rows[at]))
        one = score(key, belief, test.x, test.y, bundles, labels, protocol.draws)
        losses.append(one.mean)
    return {"joint_fresh": np.mean(losses)}
